// SPDX-License-Identifier: Apache-2.0
#include "shaders/contraction.h"

#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/spirv_view.h"
#include "shaders/compiler.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"

namespace kiln::shaders {
namespace {

constexpr char kFragment[] = R"(#version 460
layout(constant_id = 2) const uint Features = 3u;
layout(location = 0) out vec4 o;
float Area(vec2 v) { precise float a = v.x * v.y; return a; }
void main() {
  mat3 m = mat3(gl_FragCoord.x);
  vec3 v = m * gl_FragCoord.xyz - vec3(1.0) / gl_FragCoord.w;
  o = vec4(dot(v, v) * v + Area(v.xy) * -v, mod(v.x, 2.0)) * float(Features + 1u);
}
)";

struct Counts {
  size_t decorated = 0;  // decorations, also of the same result twice
  std::set<uint32_t> results;
  size_t arithmetic = 0;
};

Counts Count(std::span<const uint32_t> spirv) {
  Counts counts;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    if (instruction.opcode == 71 && instruction.word(2) == 42) {
      ++counts.decorated;
      counts.results.insert(instruction.word(1));
    }
    const uint16_t op = instruction.opcode;
    if (op == 127 || op == 129 || op == 131 || op == 133 || op == 136 ||
        (op >= 140 && op <= 148)) {
      ++counts.arithmetic;
    }
  });
  return counts;
}

TEST(ContractionTest, EveryFloatOperationIsDecoratedOnceAndTheModuleIsValid) {
  const Program program = testing::SmallProgram(kFragment);
  const StageResult plain = CompileStage(program, Stage::kFragment);
  ASSERT_TRUE(plain.ok()) << plain.diagnostics;
  EXPECT_EQ(Count(plain.spirv).decorated, 1u) << "only `precise`";
  const std::vector<uint32_t> module = ForbidContraction(plain.spirv);
  EXPECT_OK(ValidateModule(module));
  const Counts counts = Count(module);
  EXPECT_GT(counts.arithmetic, 8u);
  EXPECT_EQ(counts.decorated, counts.arithmetic);
  EXPECT_EQ(counts.results.size(), counts.decorated);
  EXPECT_EQ(ForbidContraction(module), module);
}

TEST(ContractionTest, ProgramsThatAskForItGetIt) {
  Program program = testing::SmallProgram(kFragment);
  const StageResult plain = CompileStage(program, Stage::kFragment);
  program.no_contraction = true;
  const StageResult exact = CompileStage(program, Stage::kFragment);
  EXPECT_EQ(exact.spirv, ForbidContraction(plain.spirv));
  CompileOptions debug;
  debug.debug_lines = true;
  const StageResult read = CompileStage(program, Stage::kFragment, debug);
  EXPECT_OK(ValidateModule(read.spirv));
}

}  // namespace
}  // namespace kiln::shaders
