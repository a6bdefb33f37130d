// SPDX-License-Identifier: Apache-2.0
#pragma once

// A child process whose stdout is read line by line: how the demonstration and
// the tests run kilnd, engines and the command line.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kiln::demo {

struct ChildOptions {
  std::vector<std::string> arguments;  // without argv[0]
  // "NAME=value", beside what is inherited; later ones win.
  std::vector<std::string> environment;
  // Where stderr goes: a file to append to; empty: inherited.
  std::string stderr_file;
};

// Thread-safe. Killed (SIGKILL) and reaped when it goes, if still running.
class Child {
 public:
  // Errors: NotFound naming the binary.
  static absl::StatusOr<std::unique_ptr<Child>> Start(
      const std::string& binary, const ChildOptions& options);

  virtual ~Child() = default;
  virtual pid_t pid() const = 0;

  // Every line of stdout so far.
  virtual std::vector<std::string> lines() const = 0;

  // Blocks until stdout holds a line for which `wanted` is true, has ended, or
  // `deadline` passes. Returns: whether there is such a line.
  virtual bool WaitForLine(
      const std::function<bool(const std::string&)>& wanted,
      std::chrono::milliseconds deadline) const = 0;

  virtual void Signal(int signal) = 0;

  // Blocks. Returns: the exit code, 128 + signal for a signal.
  // Errors: DeadlineExceeded; the child goes on.
  virtual absl::StatusOr<int> Wait(std::chrono::milliseconds deadline) = 0;
};

}  // namespace kiln::demo
