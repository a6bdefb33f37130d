// SPDX-License-Identifier: Apache-2.0
#pragma once

// A folder that nobody can read by its path, not even root: the path is longer
// than the system takes.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace kiln::testing {

// Makes folders in `folder`, one in the other.
// Returns: the name of the first.
inline std::string MakeFolderTooDeepToRead(
    const std::filesystem::path& folder) {
  constexpr int kDepth = 20;
  const std::string name(250, 'd');
  int current = open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  EXPECT_GE(current, 0);
  for (int i = 0; i < kDepth; ++i) {
    EXPECT_EQ(mkdirat(current, name.c_str(), 0755), 0);
    const int next =
        openat(current, name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    close(current);
    current = next;
  }
  close(current);
  return name;
}

}  // namespace kiln::testing
