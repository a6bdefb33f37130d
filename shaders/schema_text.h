// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a program's GLSL text says of its specialization constants, read
// without a compiler: the lines that declare them, and the booleans that test
// the feature bits. For schema_check.h, which compares them with the schema
// and with the compiled modules. Comments and `#if 0` are skipped; macros are
// not expanded, and what needs them is left out of the answer.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/program.h"

namespace kiln::shaders {

struct TextPlace {
  std::string file;
  uint32_t line = 0;
};

// layout(constant_id = N) const T Name = default;
// or layout(local_size_x_id = N) in; which has neither name nor default.
struct TextConstant {
  TextPlace place;
  uint32_t id = 0;
  std::string name;
  std::optional<ConstantType> type;       // absent: not a scalar type
  std::optional<uint64_t> default_value;  // absent: not a literal
};

// const bool UsesName = (Constant & (1u << bit)) != 0u;
struct TextBoolean {
  TextPlace place;
  std::string name;                     // without "Uses"
  std::optional<std::string> constant;  // absent: of another form, as is
  std::optional<uint32_t> bit;          // the bit
};

struct ShaderText {
  std::vector<TextConstant> constants;
  std::vector<TextBoolean> booleans;
};

// Reads the files of a program, but the one that derives features: it is a
// shader of its own. Outside functions only.
ShaderText ReadShaderText(const Program& program);

// "Detail" of "UsesDetail"; "" for a name of another form.
std::string_view FeatureOfBoolean(std::string_view name);

}  // namespace kiln::shaders
