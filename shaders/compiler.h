// SPDX-License-Identifier: Apache-2.0
#pragma once

// The front end: a program's GLSL, HLSL or SPIR-V to one module per stage,
// validated. Plain calls; isolation from a compiler that crashes or never ends
// is the worker's job (daemon/worker/). Includes resolve among the program's
// own files only, so no path outside it is ever read (KNOWN_FAULTS 25). What a
// module declares is in interface_reflection.h; drivers are in pipeline/.

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/program.h"

namespace kiln::shaders {

// What compiling one stage gave. A source that does not compile is a result,
// not an error: `spirv` is empty and `diagnostics` says why.
struct StageResult {
  std::vector<uint32_t> spirv;
  // Compiler output, capped, valid UTF-8; may hold warnings on success. Each
  // begins "path:line: error: " (or "warning"), by virtual path; what is said
  // of a whole file is said of line 1, and SPIR-V has no lines.
  std::string diagnostics;

  bool ok() const { return !spirv.empty(); }
};

struct CompileOptions {
  // Adds an OpLine for every statement, by virtual path and line, and the
  // sources themselves. For reading (lint.h), not for drivers: such a module is
  // never stored, and not held to limits::kModuleBytes.
  bool debug_lines = false;
};

// Compiles one stage at -O0 with names kept (so that diagnostics and the
// specialiser can use them), for Vulkan 1.3; SPIR-V is taken as it is. Then, of
// any language: the module is validated, has the stage's entry point, under its
// own name and maybe among others, and no constant_id that means two constants.
// Thread-safe. Blocks: for as long as the compiler takes; there is no limit
// here.
StageResult CompileStage(const Program& program, Stage stage,
                         const CompileOptions& options = {});

// Runs SPIRV-Tools' validator for Vulkan 1.3.
// Returns: OK, or InvalidArgument with its message, one line.
absl::Status ValidateModule(std::span<const uint32_t> spirv);

// The constant_ids a module declares. Requires: a validated module.
std::set<uint32_t> SpecializationIds(std::span<const uint32_t> spirv);

// Name and version of the compiler, part of the key of stored modules: a
// module made by another compiler is never taken for this one's.
std::string CompilerVersion();

}  // namespace kiln::shaders
