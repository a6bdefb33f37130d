// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loads a program from its *.program.toml and the sources beside it. The TOML
// file is the one place where a program's schema is written: names, bits,
// kinds, axes and pipeline state. The command line, the engines of the
// demonstration and the tests all read it through here. TOML because people
// write it by hand, next to the shader, with comments.
// An annotated example is shaders/scene/scene.program.toml.
//
// A file that says `rooted = true` instead of listing its sources is a recipe:
// its stages name virtual paths in kilnd's search roots.

#include <filesystem>

#include "absl/status/statusor.h"
#include "proto/program.h"

namespace kiln {

struct ProgramFileOptions {
  // Makes a recipe of a file that lists its sources, which are then not read.
  bool rooted = false;
};

// Reads `file` and every source it lists. Sources are named relative to the
// file's folder and may not leave it, also not through a symbolic link.
// Returns: a program that `Validate`s.
// Errors: NotFound when a file does not exist, InvalidArgument for everything
// that is wrong in the TOML, with file, line and field. Blocks: disk.
absl::StatusOr<Program> LoadProgramFile(const std::filesystem::path& file,
                                        const ProgramFileOptions& options = {});

}  // namespace kiln
