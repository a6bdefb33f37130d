// SPDX-License-Identifier: Apache-2.0
#pragma once

// What there is to compile in search roots, by the names of the files alone:
//
//   x.program.toml    a program; its stages are compiled as it says
//   x.frag, x.vert, x.comp, and the same with .glsl, .hlsl or .spv
//                     a single shader, unless it is a stage of such a program:
//                     alone it would lack that program's defines
//
// Everything else is there to be included. Which files are passed over is in
// root_walk.h. A file that an earlier root hides is compiled all the same,
// under its full virtual path.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/program.h"

namespace kiln::cli {

struct PlannedRoot {
  std::string name;
  std::filesystem::path folder;
  bool wanted = true;  // false: only looked at for its programs' stages
};

struct PlannedShader {
  std::string path;          // full virtual path: "/engine/fx/lit.frag"
  Program program;           // a recipe
  bool is_pipeline = false;  // from a program file; has variants
};

struct PlanProblem {
  std::string path;
  absl::Status status;
};

struct PrecompilePlan {
  std::vector<PlannedShader> shaders;  // by path
  // Program files that cannot be read, and folders; each counts as a shader
  // that failed.
  std::vector<PlanProblem> problems;
};

// `roots`: all there are, in order. Blocks: disk.
PrecompilePlan PlanPrecompile(std::span<const PlannedRoot> roots);

}  // namespace kiln::cli
