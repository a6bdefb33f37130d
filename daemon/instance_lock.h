// SPDX-License-Identifier: Apache-2.0
#pragma once

// One daemon a state folder, and one a socket. The lock is our own flock on a
// file *beside* what it protects: RocksDB's fcntl lock is lost as soon as the
// process closes any descriptor of that file (KNOWN_FAULTS 7), and gRPC would
// unlink a live socket (8).

#include <sys/types.h>

#include <filesystem>

#include "absl/status/statusor.h"
#include "daemon/unique_fd.h"

namespace kiln::daemon {

// A held lock; released when it goes, also by kill -9. The file stays and
// holds the last owner's pid. Move-only. Thread-compatible.
class InstanceLock {
 public:
  // Creates the file if need be (mode 0600) and locks it without waiting.
  // Errors: AlreadyExists naming the file and the owner's pid when another
  // process holds it; PermissionDenied when the file cannot be created.
  static absl::StatusOr<InstanceLock> Acquire(
      const std::filesystem::path& file);

 private:
  explicit InstanceLock(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace kiln::daemon
