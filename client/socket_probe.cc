// SPDX-License-Identifier: Apache-2.0
#include "client/socket_probe.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "proto/socket_path.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::client {
namespace {

// The errno of one connect(2), 0 if it went through.
int ConnectErrno(std::string_view path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return errno;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  const int result =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error = result == 0 ? 0 : errno;
  close(fd);
  return error;
}

}  // namespace

absl::Status ProbeSocket(std::string_view path) {
  KILN_RETURN_IF_ERROR(CheckSocketPath(path));
  const int error = ConnectErrno(path);
  if (error == 0 || error == EAGAIN) {  // EAGAIN: its queue is full
    return absl::OkStatus();
  }
  std::string why = std::generic_category().message(error);
  if (!why.empty()) {
    why[0] =
        static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
  }
  const std::string name = ToValidUtf8(path);
  if (error == EACCES || error == EPERM) {
    return absl::PermissionDeniedError(
        fmt::format("kilnd's socket '{}': {}", name, why));
  }
  return absl::UnavailableError(
      fmt::format("no kilnd at '{}': {}; start it with `kilnd`", name, why));
}

absl::Status CheckSocketOwner(std::string_view path) {
  const std::string socket(path);
  const size_t slash = socket.rfind('/');
  const std::string folder = slash == socket.npos ? "."
                             : slash == 0         ? "/"
                                                  : socket.substr(0, slash);

  struct stat in_folder {};

  struct stat at_path {};

  if (stat(folder.c_str(), &in_folder) != 0 ||
      lstat(socket.c_str(), &at_path) != 0) {
    return absl::OkStatus();  // connecting will say what is wrong
  }
  auto trusted = [](const struct stat& info) {
    return info.st_uid == geteuid() || info.st_uid == 0;
  };
  const bool others_may_replace =
      (in_folder.st_mode & (S_IWOTH | S_IWGRP)) != 0 &&
      (in_folder.st_mode & S_ISVTX) == 0;
  if (trusted(in_folder) && trusted(at_path) && !others_may_replace) {
    return absl::OkStatus();
  }
  const bool folder_at_fault = !trusted(in_folder) || others_may_replace;
  return absl::PermissionDeniedError(fmt::format(
      "'{}' belongs to user {} or others may write to it; not trusting a "
      "daemon there",
      ToValidUtf8(folder_at_fault ? folder : socket),
      folder_at_fault ? in_folder.st_uid : at_path.st_uid));
}

}  // namespace kiln::client
