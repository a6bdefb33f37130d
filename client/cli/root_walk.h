// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is in a search root's folder, as far as this user may look, and what of
// it cannot be read: a folder that is passed over in silence would pass for an
// empty one.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace kiln::cli {

struct UnreadFolder {
  std::string path;     // in the root; empty: the root itself
  std::string reason;   // "Permission denied"
  absl::Status status;  // the same with the folder's full path
};

struct RootFiles {
  std::vector<std::string> files;    // paths in the root, sorted
  std::vector<UnreadFolder> unread;  // by path
};

// Files of `folder` and of the folders in it. What is hidden (".x") is passed
// over, and so are symbolic links that kilnd does not follow: out of the root,
// absolute ones, and those to folders. Blocks: disk.
RootFiles WalkRoot(const std::filesystem::path& folder);

// Whether there may be files in `folder`, for this user.
// Errors: NotFound when nothing is there; InvalidArgument when it is no folder;
// PermissionDenied or Unavailable when it cannot be told. All name it.
// Blocks: disk.
absl::Status CheckFolder(const std::filesystem::path& folder);

}  // namespace kiln::cli
