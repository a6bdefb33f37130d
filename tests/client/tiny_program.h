// SPDX-License-Identifier: Apache-2.0
#pragma once

// The smallest program that has every part of a key, for tests that are about
// asking, not about shaders: it compiles in a few milliseconds.

#include <filesystem>
#include <string>

#include "proto/program.h"
#include "proto/variant_key.h"

namespace kiln::testing {

// Kinds opaque and blended, blends alpha and additive, features Red, Green and
// Blue.
Program TinyProgram();

// The same, whose fragment shader does not compile.
Program BrokenProgram();

// Writes `program`'s sources and a tiny.program.toml with the schema of
// TinyProgram to `folder`. Returns: the path of the TOML file.
std::string WriteProgramFile(const Program& program,
                             const std::filesystem::path& folder);

// A key of `program`, of kind opaque with the given features.
VariantKey OpaqueKey(const Program& program, uint32_t features);

}  // namespace kiln::testing
