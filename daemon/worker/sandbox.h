// SPDX-License-Identifier: Apache-2.0
#pragma once

// What kiln-worker gives up before it loads a driver or reads a shader: new
// privileges, the network, other processes, most of the file system, and more
// time and memory than a job may have (DESIGN D1). Every layer that the kernel
// does not let us have is named with the reason, never skipped in silence.
// The layers: landlock.h (files), syscall_filter.h (system calls), and here
// privileges and resource limits. What kilnd does with a worker that lacks one
// is the option `--sandbox` of daemon/options.h.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace kiln::daemon {

struct SandboxLayer {
  // "privileges", "files", "system_calls", "memory" or "limits".
  std::string name;
  bool holds = false;
  // What holds, in a few words, or why it does not. Valid UTF-8.
  std::string detail;
};

// Enters the sandbox, for good and for every thread that is started later. One
// step and not two (before and after the device is open), since Landlock
// confines threads, not processes, and a driver starts threads: one that was
// left outside would be a way out for all.
// Requires: the process has one thread, and what needs more rights (the parent
// death signal, files to write, RLIMIT_DATA) is done.
// Returns: every layer, held or not, in the order of `SandboxLayer::name`.
// Blocks: a few ms, for the manifests of drivers.
std::vector<SandboxLayer> EnterSandbox();

// Ends the process with SIGXCPU when it has used `limit` more of CPU time, all
// threads together, rounded up to seconds. Replaces what an earlier call said.
// A driver that handles the signal meets the wall clock of worker_pool.h.
// Returns: whether the kernel took the limit. Thread-safe.
bool LimitCpuTime(std::chrono::seconds limit);

// Errors: FailedPrecondition naming each layer that does not hold, and why.
absl::Status CheckAllHold(const std::vector<SandboxLayer>& layers);

}  // namespace kiln::daemon
