// SPDX-License-Identifier: Apache-2.0
#pragma once

// A real kilnd with a socket and a state folder of its own.

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "client/demo/child.h"
#include "tests/support/temp_dir.h"

namespace kiln::testing {

// Thread-compatible. Killed when destroyed.
class DaemonProcess {
 public:
  DaemonProcess();
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;  // owns a process
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  // Starts kilnd, again on the same state folder after the first time. Fails
  // the test if it does not answer in a minute. Blocks: until it answers.
  void Start();

  // SIGKILL. Blocks: until it is gone.
  void Kill();

  // SIGTERM. Returns: its exit code, -1 if it has not gone after 10 s.
  int Stop();

  // SIGSTOP and SIGCONT.
  void Freeze();
  void Thaw();

  pid_t pid() const;

  std::string socket() const { return folder_ / "k.sock"; }

  // The daemon's counters. Fails the test if it does not answer.
  std::map<std::string, uint64_t> Counters() const;

 private:
  const TempDir folder_;
  std::unique_ptr<demo::Child> child_;
};

}  // namespace kiln::testing
