// SPDX-License-Identifier: Apache-2.0
#pragma once

// The file layer of the worker's sandbox: Landlock, by raw system calls, as
// Linux's Documentation/userspace-api/landlock.rst describes it. What is not
// named cannot be opened, listed, made, removed or renamed; reading a link's
// text, stat, chmod and xattrs it does not cover (the last two are
// syscall_filter.h's). TCP, abstract sockets and signals to processes outside
// are denied, too, where the kernel's version has them. Which files drivers
// need is sandbox_paths.h's business.

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kiln::daemon {

// Files or folders with all below them. Those that do not exist are skipped.
struct FileAccess {
  std::vector<std::string> readable;  // read, list, map executable
  std::vector<std::string> devices;   // read, write, ioctl
};

// Confines the calling thread and all that it starts, for good. Descriptors
// that are open already stay as they are. Thread-safe.
// Requires: PR_SET_NO_NEW_PRIVS.
// Returns: the version (ABI) of Landlock that the kernel has.
// Errors: Unavailable, naming the call: no Landlock in this kernel, not
// enabled at boot, or not allowed in this container.
absl::StatusOr<int> ConfineFiles(const FileAccess& access);

}  // namespace kiln::daemon
