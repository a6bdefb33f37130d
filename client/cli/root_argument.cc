// SPDX-License-Identifier: Apache-2.0
#include "client/cli/root_argument.h"

#include <filesystem>

#include <fmt/format.h>

#include "absl/status/status.h"
#include "proto/text.h"

namespace kiln::cli {

namespace fs = std::filesystem;

absl::StatusOr<RootArgument> ParseRootArgument(std::string_view text) {
  RootArgument root;
  std::string_view folder = text;
  std::error_code error;
  const size_t equals = text.find('=');
  if (equals != text.npos && text.find('/') > equals) {
    root.name = text.substr(0, equals);
    folder = text.substr(equals + 1);
  } else if (equals != text.npos && fs::status(fs::path(text), error).type() ==
                                        fs::file_type::not_found) {
    const std::string name = Shorten(text.substr(0, equals), 200);
    return absl::InvalidArgumentError(fmt::format(
        "'{}' cannot be the name of a root, as it has a '/' in it; a folder "
        "that has a '=' in its name is written NAME=FOLDER",
        name));
  }
  fs::path path = fs::absolute(fs::path(folder), error).lexically_normal();
  if (folder.empty() || error) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is not NAME=FOLDER or a folder", Shorten(text, 200)));
  }
  if (!path.has_filename()) {
    path = path.parent_path();  // ended in '/'
  }
  root.folder = path.string();
  if (root.name.empty()) {
    root.name = path.filename().string();
  }
  return root;
}

bool IsSameFolder(const std::string& a, const std::string& b) {
  std::error_code error;
  return a == b || fs::equivalent(a, b, error);
}

}  // namespace kiln::cli
