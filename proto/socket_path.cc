// SPDX-License-Identifier: Apache-2.0
#include "proto/socket_path.h"

#include <stdlib.h>
#include <unistd.h>

#include <fmt/format.h>

#include "proto/digest.h"
#include "proto/limits.h"
#include "proto/text.h"

namespace kiln {
namespace {

// The XDG rule: a variable that is unset, empty or relative does not count.
std::string AbsoluteFromEnvironment(const char* name) {
  const char* value = getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::string PrivateTempFolder() {
  std::string temp = AbsoluteFromEnvironment("TMPDIR");
  return fmt::format("{}/kiln-{}", temp.empty() ? "/tmp" : temp, getuid());
}

}  // namespace

absl::Status CheckSocketPath(std::string_view path) {
  if (path.empty()) {
    return absl::InvalidArgumentError("socket path is empty");
  }
  if (path.size() > limits::kSocketPathBytes) {
    return absl::InvalidArgumentError(fmt::format(
        "socket path '{}' has {} bytes; the limit of a Unix socket is {}",
        Shorten(path, 300), path.size(), limits::kSocketPathBytes));
  }
  if (path.find('\0') != path.npos) {
    return absl::InvalidArgumentError("socket path holds a NUL byte");
  }
  return absl::OkStatus();
}

std::string DefaultSocketPath() {
  const std::string runtime = AbsoluteFromEnvironment("XDG_RUNTIME_DIR");
  if (runtime.empty()) {
    return PrivateTempFolder() + "/kilnd.sock";
  }
  std::string path = runtime + "/kiln/kilnd.sock";
  if (path.size() <= limits::kSocketPathBytes) {
    return path;
  }
  path = fmt::format("{}/{}.sock", PrivateTempFolder(),
                     Digest::Of(AsBytes(path)).ShortHex());
  // A TMPDIR that is itself too long leaves only the system's own.
  return path.size() <= limits::kSocketPathBytes
             ? path
             : fmt::format("/tmp/kiln-{}/{}.sock", getuid(),
                           Digest::Of(AsBytes(path)).ShortHex());
}

std::string DefaultStateFolder() {
  if (std::string state = AbsoluteFromEnvironment("XDG_STATE_HOME");
      !state.empty()) {
    return state + "/kiln";
  }
  if (std::string home = AbsoluteFromEnvironment("HOME"); !home.empty()) {
    return home + "/.local/state/kiln";
  }
  return PrivateTempFolder() + "/state";
}

}  // namespace kiln
