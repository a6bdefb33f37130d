// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checks that mean nothing to root, who may read everything: made in a child
// process that is somebody else.

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include <gtest/gtest.h>

namespace kiln::testing {

// Runs `checks`, which may use EXPECT_*, in a child process that is no longer
// root, and fails the test if one of them fails. Folders that the child has to
// get through must be open to all. Not from a process with other threads.
template <typename Checks>
void ExpectUnprivileged(const Checks& checks) {
  constexpr unsigned kNobody = 65534;
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    if (geteuid() == 0 && (setgroups(0, nullptr) != 0 ||
                           setresgid(kNobody, kNobody, kNobody) != 0 ||
                           setresuid(kNobody, kNobody, kNobody) != 0)) {
      _exit(2);
    }
    checks();
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "status " << status;
  EXPECT_EQ(WEXITSTATUS(status), 0) << "2: it stayed root; 1: see above";
}

}  // namespace kiln::testing
