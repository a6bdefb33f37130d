// SPDX-License-Identifier: Apache-2.0
#pragma once

// Looking at processes that are not our children.

#include <sys/types.h>

#include <fstream>
#include <string>

namespace kiln::testing {

// Whether a process has ended. One that nobody has reaped yet has, too: where
// the tests run as the first process of a container, nobody does.
inline bool IsGone(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(stat, text)) {
    return true;
  }
  // "pid (name) state ...", and the name may hold anything.
  const size_t end = text.rfind(") ");
  return end == text.npos || text[end + 2] == 'Z' || text[end + 2] == 'X';
}

}  // namespace kiln::testing
