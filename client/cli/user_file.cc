// SPDX-License-Identifier: Apache-2.0
#include "client/cli/user_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::cli {
namespace {

// Closes what it opened.
class OpenedFile {
 public:
  explicit OpenedFile(int descriptor) : descriptor_(descriptor) {}

  OpenedFile(const OpenedFile&) = delete;  // one owner
  OpenedFile& operator=(const OpenedFile&) = delete;

  ~OpenedFile() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }

  int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

std::string_view KindName(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a directory";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

absl::Status CannotRead(const std::filesystem::path& file, int error) {
  const std::string name = ToValidUtf8(file.string());
  return error == ENOENT || error == ENOTDIR
             ? absl::NotFoundError(fmt::format("no file '{}'", name))
             : absl::PermissionDeniedError(
                   fmt::format("'{}' cannot be read: {}", name,
                               std::generic_category().message(error)));
}

absl::Status CheckRegular(const std::filesystem::path& file,
                          const struct stat& found) {
  return S_ISREG(found.st_mode)
             ? absl::OkStatus()
             : absl::InvalidArgumentError(fmt::format(
                   "'{}' is {}, not a file to read", ToValidUtf8(file.string()),
                   KindName(found.st_mode)));
}

}  // namespace

absl::StatusOr<std::string> ReadUserFile(const std::filesystem::path& file,
                                         size_t most_bytes) {
  struct stat found {};

  // First looked at, then opened: opening a device can have an effect.
  if (stat(file.c_str(), &found) != 0) {
    return CannotRead(file, errno);
  }
  KILN_RETURN_IF_ERROR(CheckRegular(file, found));
  const OpenedFile opened(
      open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (opened.get() < 0 || fstat(opened.get(), &found) != 0) {
    return CannotRead(file, errno);
  }
  KILN_RETURN_IF_ERROR(CheckRegular(file, found));
  std::string text;
  char buffer[1 << 16];
  while (text.size() < most_bytes) {
    const ssize_t count = read(opened.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return CannotRead(file, errno);
    }
    if (count == 0) {
      break;
    }
    text.append(buffer, static_cast<size_t>(count));
  }
  if (text.size() > most_bytes) {
    text.resize(most_bytes);
  }
  return text;
}

}  // namespace kiln::cli
