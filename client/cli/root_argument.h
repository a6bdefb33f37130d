// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folders as people name them on the command line, as the search roots that
// kilnd makes of them.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace kiln::cli {

struct RootArgument {
  std::string name;
  std::string folder;  // absolute, without a '/' at the end
};

// "NAME=FOLDER", or a folder, whose last part is then the name. The folder is
// relative to the working directory and need not exist. A folder with a '=' in
// its name is written NAME=FOLDER, unless it exists. Neither is checked
// further: kilnd does that. Errors: InvalidArgument when there is no folder, or
// a '/' in the name. Blocks: disk.
absl::StatusOr<RootArgument> ParseRootArgument(std::string_view text);

// True when both are the same folder, whatever links lead to it.
bool IsSameFolder(const std::string& a, const std::string& b);

}  // namespace kiln::cli
