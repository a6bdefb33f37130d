// SPDX-License-Identifier: Apache-2.0
#pragma once

// Files that a user names to be read whole: shaders and surfaces. Program files
// are read by proto/program_file.h.

#include <cstddef>
#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace kiln::cli {

// Reads at most `most_bytes` of a regular file. Nothing else is opened: a pipe
// would block, a device act.
// Errors, all naming the file: NotFound; InvalidArgument saying what it is when
// it is no regular file; PermissionDenied. Blocks: disk.
absl::StatusOr<std::string> ReadUserFile(const std::filesystem::path& file,
                                         size_t most_bytes);

}  // namespace kiln::cli
