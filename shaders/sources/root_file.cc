// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/root_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/status_macros.h"

namespace kiln::sources {
namespace {

// A file that is being written is read again this often. Without a pause: the
// caller hears of the next write and comes back.
constexpr int kReadAttempts = 5;
// The kernel says EAGAIN when a folder was renamed under a path with "..".
constexpr int kWalkAttempts = 100;

constexpr int kForReading = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
constexpr int kForLooking = O_PATH | O_CLOEXEC;

absl::Status StatusOfErrno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
      return absl::NotFoundError("does not exist");
    case EXDEV:
      return absl::PermissionDeniedError(
          "leads out of its search root, as every absolute symbolic link does");
    case ELOOP:
      return absl::InvalidArgumentError(
          "is behind symbolic links that cannot be followed");
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError("may not be read");
    default:
      return absl::UnavailableError(fmt::format(
          "cannot be opened: {}", std::generic_category().message(error)));
  }
}

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// What `mode` is called when it is no regular file.
std::string_view KindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a directory";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    case S_IFLNK:
      return "a symbolic link, which this kernel cannot follow safely";
    default:
      return "a device";
  }
}

absl::StatusOr<FileIdentity> IdentityOf(const Descriptor& file) {
  struct stat found {};

  if (fstat(file.get(), &found) != 0) {
    return StatusOfErrno(errno);
  }
  if (!S_ISREG(found.st_mode)) {
    return absl::InvalidArgumentError(
        fmt::format("is {}", KindOf(found.st_mode)));
  }
  if (static_cast<size_t>(found.st_size) > limits::kProgramBytes) {
    return absl::InvalidArgumentError(
        fmt::format("has {} bytes, over the limit of {}", found.st_size,
                    limits::kProgramBytes));
  }
  return FileIdentity{found.st_dev, found.st_ino, found.st_size,
                      Nanoseconds(found.st_mtim), Nanoseconds(found.st_ctim)};
}

// Returns: what is read until the end, but not much more than `expected`.
absl::StatusOr<std::string> ReadAll(const Descriptor& file, size_t expected) {
  std::string bytes(expected + 1, '\0');
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count =
        read(file.get(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno != EINTR) {
      return absl::UnavailableError(fmt::format(
          "cannot be read: {}", std::generic_category().message(errno)));
    }
    if (count == 0) {
      break;
    }
    size += count > 0 ? static_cast<size_t>(count) : 0;
  }
  bytes.resize(size);
  return bytes;
}

// Tells a sandbox that refuses openat2 from a file that may not be opened.
bool IsOpenat2Refused() {
  open_how how{};
  how.flags = static_cast<uint64_t>(kForLooking);
  const Descriptor root(
      static_cast<int>(syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how))));
  return !root.is_open() && errno == EPERM;
}

// Returns: nullopt when this kernel, or its sandbox, has no openat2.
std::optional<absl::StatusOr<Descriptor>> OpenByKernel(int folder,
                                                       const std::string& path,
                                                       int flags) {
  static std::atomic<bool> missing = false;
  if (missing) {
    return std::nullopt;
  }
  open_how how{};
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int attempt = 0; attempt < kWalkAttempts; ++attempt) {
    Descriptor file(static_cast<int>(
        syscall(SYS_openat2, folder, path.c_str(), &how, sizeof(how))));
    if (file.is_open()) {
      return file;
    }
    const int error = errno;
    if (error == ENOSYS || (error == EPERM && IsOpenat2Refused())) {
      missing = true;
      return std::nullopt;
    }
    if (error != EAGAIN && error != EINTR) {
      return StatusOfErrno(error);
    }
  }
  return absl::UnavailableError("cannot be opened: its folder keeps moving");
}

// openat for one part of a path; a symbolic link says that it is one.
absl::StatusOr<Descriptor> OpenPart(int folder, const std::string& part,
                                    int flags) {
  Descriptor file(openat(folder, part.c_str(), flags | O_NOFOLLOW));
  if (file.is_open()) {
    return file;
  }
  const int error = errno;

  struct stat found {};

  if (fstatat(folder, part.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISLNK(found.st_mode)) {
    return absl::PermissionDeniedError(
        fmt::format("is or is behind {}", KindOf(S_IFLNK)));
  }
  return StatusOfErrno(error);
}

absl::StatusOr<Descriptor> OpenByComponents(int folder, const std::string& path,
                                            int flags) {
  Descriptor current;
  size_t start = 0;
  while (true) {
    const int base = current.is_open() ? current.get() : folder;
    const size_t slash = path.find('/', start);
    const std::string part = path.substr(start, slash - start);
    if (part.empty() || part == "..") {
      return absl::PermissionDeniedError("leads out of its search root");
    }
    if (slash == path.npos) {
      return OpenPart(base, part, flags);
    }
    KILN_ASSIGN_OR_RETURN(current,
                          OpenPart(base, part, kForLooking | O_DIRECTORY));
    start = slash + 1;
  }
}

}  // namespace

absl::StatusOr<RootFolder> RootFolder::Open(const std::string& folder,
                                            PathWalk walk) {
  Descriptor opened(open(folder.c_str(), kForLooking | O_DIRECTORY));
  if (!opened.is_open()) {
    return StatusOfErrno(errno);
  }
  return RootFolder(std::move(opened), walk);
}

absl::StatusOr<FileIdentity> RootFolder::Stat(const std::string& path) const {
  KILN_ASSIGN_OR_RETURN(const Descriptor file, OpenBeneath(path, kForLooking));
  return IdentityOf(file);
}

absl::StatusOr<FileContent> RootFolder::Read(const std::string& path) const {
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    // First looked at, then opened: opening a device can have an effect.
    KILN_ASSIGN_OR_RETURN(const FileIdentity seen, Stat(path));
    KILN_ASSIGN_OR_RETURN(const Descriptor file,
                          OpenBeneath(path, kForReading));
    KILN_ASSIGN_OR_RETURN(const FileIdentity before, IdentityOf(file));
    if (before.device != seen.device || before.inode != seen.inode) {
      continue;
    }
    KILN_ASSIGN_OR_RETURN(
        std::string bytes,
        ReadAll(file, static_cast<size_t>(before.size_bytes)));
    KILN_ASSIGN_OR_RETURN(const FileIdentity after, IdentityOf(file));
    if (before == after &&
        bytes.size() == static_cast<size_t>(before.size_bytes)) {
      return FileContent{std::move(bytes), after};
    }
  }
  return absl::UnavailableError("changes while it is read");
}

absl::StatusOr<Descriptor> RootFolder::OpenBeneath(const std::string& path,
                                                   int flags) const {
  if (walk_ == PathWalk::kKernel) {
    if (auto file = OpenByKernel(folder_.get(), path, flags)) {
      return *std::move(file);
    }
  }
  return OpenByComponents(folder_.get(), path, flags);
}

}  // namespace kiln::sources
