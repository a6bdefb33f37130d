// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs, modules and constants for the tests of specialization constants.

#include <bit>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "proto/constant.h"
#include "proto/program.h"
#include "proto/spirv_view.h"
#include "shaders/compiler.h"
#include "shaders/module_constants.h"
#include "tests/shaders/sources.h"

namespace kiln::shaders {

inline Program ComputeProgram(std::string main_text) {
  Program program;
  program.name = "test";
  program.stages = {{Stage::kCompute, "main.comp"}};
  program.files = {{"main.comp", std::move(main_text)}};
  return program;
}

// The module of a stage, which must compile.
inline std::vector<uint32_t> ModuleOf(const Program& program, Stage stage) {
  StageResult result = CompileStage(program, stage);
  EXPECT_TRUE(result.ok()) << result.diagnostics;
  return std::move(result.spirv);
}

inline std::vector<uint32_t> FragmentModule(std::string_view body) {
  return ModuleOf(FragmentProgram(fmt::format(
                      "#version 450\n#extension "
                      "GL_EXT_shader_explicit_arithmetic_types : require\n"
                      "layout(location = 0) out vec4 color;\n{}\n",
                      body)),
                  Stage::kFragment);
}

// `body` has the module's declarations; `main` is written here.
inline std::vector<uint32_t> ComputeModule(std::string_view body,
                                           std::string_view main = "") {
  return ModuleOf(
      ComputeProgram(fmt::format(
          "#version 450\n#extension GL_EXT_shader_explicit_arithmetic_types : "
          "require\n{}\nlayout(std430, set = 0, binding = 0) buffer Buffer {{ "
          "float result[]; }};\nvoid main() {{\n{}\n}}\n",
          body, main)),
      Stage::kCompute);
}

inline Constant ById(uint32_t id, ConstantType type, uint64_t value,
                     std::string name = "") {
  return {id, value, type, std::move(name)};
}

inline Constant Uint(uint32_t id, uint32_t value) {
  return ById(id, ConstantType::kUint32, value);
}

inline Constant Int(uint32_t id, int32_t value) {
  return ById(id, ConstantType::kInt32, static_cast<uint32_t>(value));
}

inline Constant ByName(std::string name, ConstantType type, uint64_t value) {
  return {kIdByName, value, type, std::move(name)};
}

// The value of the constant of that OpName, as bits; nullopt when it is none,
// or has not been computed.
inline std::optional<uint64_t> ValueOf(std::span<const uint32_t> spirv,
                                       std::string_view name) {
  const auto module = ModuleConstants::Parse(spirv);
  if (!module.ok()) {
    return std::nullopt;
  }
  for (const auto& [id, found] : module->names()) {
    if (found == name) {
      const std::optional<NumericValue> value = module->Value(id);
      return value && value->lanes.size() == 1
                 ? std::optional<uint64_t>(value->lanes[0])
                 : std::nullopt;
    }
  }
  return std::nullopt;
}

// Makes every constant of one constant_id one of another.
inline void ReplaceSpecId(std::vector<uint32_t>& spirv, uint32_t from,
                          uint32_t to) {
  constexpr uint16_t kOpDecorate = 71;
  constexpr uint32_t kSpecId = 1;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    if (instruction.opcode == kOpDecorate && instruction.word(2) == kSpecId &&
        instruction.word(3) == from) {
      spirv[static_cast<size_t>(&instruction.words[3] - spirv.data())] = to;
    }
  });
}

}  // namespace kiln::shaders
