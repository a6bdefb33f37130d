// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether a program's schema, its GLSL text and its compiled modules say the
// same of its specialization constants. A wrong bit or default is no compile
// error and no crash: it is a variant with the wrong picture. For a test of
// every program, and for tools that load one.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "proto/program.h"

namespace kiln::shaders {

struct StageModule {
  Stage stage = Stage::kVertex;
  std::span<const uint32_t> spirv;
};

// Compares three accounts of the program, each with the others:
//
//   constants  Every one the schema names, by id (features, kinds, backdrops,
//              blends, overrides) or by name (overrides), is in the text and in
//              the SPIR-V of some stage, with the declared type and default; an
//              override's name is the shader's. Every one of the text and the
//              SPIR-V is in the schema. An id is one constant in all stages.
//              The default of a features constant is every declared bit.
//   features   Every bit has its `const bool Uses<Name>`, true exactly when
//              that bit is set, and every Uses<Name> has its bit. Found out
//              from the SPIR-V by setting each bit alone, none, and all.
//   workgroup  The overrides that are the workgroup's size are what it is
//              declared with.
//
// Requires: a valid program; validated modules of its stages with names, as
// CompileStage makes them. Thread-safe.
// Returns: one line per disagreement: what, the values, where; text by file
// and line. Empty when all agree.
std::vector<std::string> CompareSchema(const Program& program,
                                       std::span<const StageModule> modules);

}  // namespace kiln::shaders
