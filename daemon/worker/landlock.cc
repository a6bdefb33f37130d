// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "proto/status_macros.h"

namespace kiln::daemon {
namespace {

// landlock_ruleset_attr as of ABI 6; Debian 12's header stops at ABI 2. An
// older kernel takes the longer structure when what it does not know is 0.
struct RulesetAttributes {
  uint64_t handled_access_fs = 0;
  uint64_t handled_access_net = 0;  // ABI 4
  uint64_t scoped = 0;              // ABI 6
};

constexpr uint64_t kTruncate = 1ull << 14;     // ABI 3
constexpr uint64_t kDeviceIoctl = 1ull << 15;  // ABI 5
constexpr uint64_t kNetBindAndConnect = 0b11;  // TCP
constexpr uint64_t kScopeSocketsAndSignals = 0b11;

constexpr uint64_t kRead = LANDLOCK_ACCESS_FS_EXECUTE |
                           LANDLOCK_ACCESS_FS_READ_FILE |
                           LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kUseDevice = LANDLOCK_ACCESS_FS_READ_FILE |
                                LANDLOCK_ACCESS_FS_READ_DIR |
                                LANDLOCK_ACCESS_FS_WRITE_FILE | kDeviceIoctl;
// What a rule on something that is no folder may hold.
constexpr uint64_t kOfFiles =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
    LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kDeviceIoctl;

RulesetAttributes Everything(int abi) {
  RulesetAttributes all;
  all.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // ABI 1
  if (abi >= 2) {
    all.handled_access_fs |= LANDLOCK_ACCESS_FS_REFER;
  }
  if (abi >= 3) {
    all.handled_access_fs |= kTruncate;
  }
  if (abi >= 4) {
    all.handled_access_net = kNetBindAndConnect;
  }
  if (abi >= 5) {
    all.handled_access_fs |= kDeviceIoctl;
  }
  if (abi >= 6) {
    all.scoped = kScopeSocketsAndSignals;
  }
  return all;
}

absl::Status LandlockError(const char* call) {
  const int error = errno;
  const char* meaning = error == ENOSYS       ? "this kernel has no Landlock"
                        : error == EOPNOTSUPP ? "Landlock is off at boot"
                                              : strerror(error);
  return absl::UnavailableError(fmt::format("{}: {}", call, meaning));
}

absl::Status Allow(int ruleset, const std::string& path, uint64_t access) {
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) {
    return absl::OkStatus();  // not there
  }

  struct stat info {};

  if (fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode)) {
    access &= kOfFiles;
  }
  landlock_path_beneath_attr rule{};
  rule.allowed_access = access;
  rule.parent_fd = fd;
  absl::Status status;
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule,
              0) != 0) {
    status = LandlockError("landlock_add_rule");
  }
  close(fd);
  return status;
}

absl::Status AllowAll(int ruleset, const FileAccess& access, uint64_t handled) {
  for (const std::string& path : access.readable) {
    KILN_RETURN_IF_ERROR(Allow(ruleset, path, kRead & handled));
  }
  for (const std::string& path : access.devices) {
    KILN_RETURN_IF_ERROR(Allow(ruleset, path, kUseDevice & handled));
  }
  if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) {
    return LandlockError("landlock_restrict_self");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> ConfineFiles(const FileAccess& access) {
  const auto abi =
      static_cast<int>(syscall(SYS_landlock_create_ruleset, nullptr, 0,
                               LANDLOCK_CREATE_RULESET_VERSION));
  if (abi < 0) {
    return LandlockError("landlock_create_ruleset");
  }
  const RulesetAttributes all = Everything(abi);
  const auto ruleset = static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0));
  if (ruleset < 0) {
    return LandlockError("landlock_create_ruleset");
  }
  const absl::Status status = AllowAll(ruleset, access, all.handled_access_fs);
  close(ruleset);
  if (!status.ok()) {
    return status;
  }
  return abi;
}

}  // namespace kiln::daemon
