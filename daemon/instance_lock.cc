// SPDX-License-Identifier: Apache-2.0
#include "daemon/instance_lock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include <fmt/format.h>

#include "proto/text.h"

namespace kiln::daemon {

absl::StatusOr<InstanceLock> InstanceLock::Acquire(
    const std::filesystem::path& file) {
  const std::string name = ToValidUtf8(file.string());
  UniqueFd fd(
      open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.is_open()) {
    return absl::PermissionDeniedError(
        fmt::format("cannot create lock '{}': {}", name, strerror(errno)));
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    std::array<char, 32> pid{};
    const ssize_t got = pread(fd.get(), pid.data(), pid.size() - 1, 0);
    return absl::AlreadyExistsError(
        fmt::format("'{}' is held by another kilnd, pid {}", name,
                    got > 0 ? pid.data() : "unknown"));
  }
  const std::string pid = std::to_string(getpid());
  // Best effort: the pid is for people, the flock is the lock.
  if (ftruncate(fd.get(), 0) != 0 ||
      pwrite(fd.get(), pid.data(), pid.size(), 0) < 0) {
    return absl::UnavailableError(
        fmt::format("cannot write '{}': {}", name, strerror(errno)));
  }
  return InstanceLock(std::move(fd));
}

}  // namespace kiln::daemon
