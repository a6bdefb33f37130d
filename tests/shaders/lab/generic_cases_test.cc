// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/generic_cases.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program_file.h"
#include "shaders/compiler.h"
#include "shaders/lab/scene_cases.h"
#include "tests/shaders/sources.h"
#include "tests/support/status_matchers.h"

namespace kiln::lab {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::HasSubstr;

const CaseKey kKey = {"opaque", "none", "alpha"};

// A fragment stage with `declarations` before it.
Program ProgramOf(const std::string& declarations,
                  const std::string& expression = "vec4(1)") {
  Program program = shaders::FragmentProgram(
      std::string(shaders::kFragmentHead) + declarations +
      "\nvoid main() { color = " + expression + "; }\n");
  program.pipeline.color_formats = {"r8g8b8a8_unorm"};
  return program;
}

// Sources of programs, with what they are made of kept alive.
class CompiledCase {
 public:
  explicit CompiledCase(Program program) : program_(std::move(program)) {
    for (const StageSource& source : program_.stages) {
      stages_.push_back(shaders::CompileStage(program_, source.stage));
      EXPECT_TRUE(stages_.back().ok()) << stages_.back().diagnostics;
    }
    for (size_t i = 0; i < stages_.size(); ++i) {
      code_.push_back({program_.stages[i].stage, stages_[i].spirv});
    }
  }

  absl::StatusOr<std::unique_ptr<CaseSource>> Source() const {
    return MakeCaseSource(program_, code_);
  }

  absl::StatusOr<InputReflection> Reflected() const {
    InputReflection reflection;
    for (const pipeline::StageCode& stage : code_) {
      KILN_RETURN_IF_ERROR(ReflectInputs(stage.spirv, reflection));
    }
    return reflection;
  }

 private:
  Program program_;
  std::vector<shaders::StageResult> stages_;
  std::vector<pipeline::StageCode> code_;
};

template <typename T>
T At(const Bytes& bytes, size_t offset) {
  T value{};
  if (offset + sizeof(T) <= bytes.size()) {
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
  }
  return value;
}

constexpr char kBlocks[] = R"(
struct Light { vec3 place; float reach; uint flags; };
layout(set = 0, binding = 0, std140) uniform Frame {
  mat4 to_clip;
  layout(row_major) mat4x3 turned;
  Light lights[3];
  int counts[2];
} frame;
layout(set = 1, binding = 4, std430) readonly buffer Table {
  uint rows;
  vec2 grid[2][3];
  Light list[];
} table;
layout(push_constant) uniform Draw { vec4 tint; uint row; } draw;
)";

Program BlocksProgram() {
  Program program =
      ProgramOf(kBlocks,
                "draw.tint + frame.to_clip[0] + vec4(frame.turned[0], 1) * "
                "table.grid[1][2].x * table.list[table.rows].reach");
  program.pipeline.descriptors = {
      {0, 0, "uniform_buffer", 1, {Stage::kFragment}},
      {1, 4, "storage_buffer", 1, {Stage::kFragment}}};
  program.pipeline.push_constant_bytes = 32;
  program.pipeline.push_constant_stages = {Stage::kFragment};
  return program;
}

TEST(ReflectionTest, NestedStructsArraysAndMatricesLieWhereGlslPutsThem) {
  ASSERT_OK_AND_ASSIGN(const InputReflection reflection,
                       CompiledCase(BlocksProgram()).Reflected());
  ASSERT_EQ(reflection.blocks.size(), 2);
  const ReflectedBlock& frame = reflection.blocks[0];
  // 64 of the matrix, 48 of the turned one, 3 lights of 32, 2 counts of 16.
  EXPECT_EQ(frame.bytes, 64 + 48 + 3 * 32 + 2 * 16);
  ASSERT_EQ(frame.fields.size(), 16 + 12 + 3 * 5 + 2);
  EXPECT_EQ(frame.fields[15].use, FieldUse::kCorner);
  EXPECT_EQ(frame.fields[16 + 1].offset, 64 + 16);  // row 1 of column 0
  EXPECT_EQ(frame.fields[16 + 12 + 5 + 3].offset, 112 + 32 + 12);  // reach
  EXPECT_EQ(frame.fields.back().offset, 208 + 16);
  EXPECT_EQ(frame.fields.back().use, FieldUse::kInteger);

  const ReflectedBlock& table = reflection.blocks[1];
  EXPECT_EQ(table.set, 1);
  EXPECT_EQ(table.binding, 4);
  ASSERT_EQ(table.fields.size(), 1 + 12 + kRuntimeElements * 5);
  EXPECT_EQ(table.fields[12].offset, 8 + 5 * 8 + 4);  // grid[1][2].y
  EXPECT_EQ(table.fields[13].offset, 64);
  EXPECT_EQ(table.bytes, 64 + kRuntimeElements * 32);

  ASSERT_TRUE(reflection.push_constants.has_value());
  EXPECT_EQ(reflection.push_constants->fields.size(), 5);
}

TEST(GenericCasesTest, ValuesKeepToTheirRanges) {
  ASSERT_OK_AND_ASSIGN(const auto source,
                       CompiledCase(BlocksProgram()).Source());
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const DrawInputs inputs = source->Make(seed, kKey);
    ASSERT_EQ(inputs.bound.size(), 2);
    const Bytes& frame = inputs.bound[0].buffer;
    for (uint32_t column = 0; column < 4; ++column) {
      EXPECT_NEAR(At<float>(frame, column * 20), 1, 0.11);  // the diagonal
      EXPECT_EQ(At<float>(frame, column * 16 + 12), column == 3 ? 1 : 0);
    }
    const auto reach = At<float>(frame, 112 + 12);
    EXPECT_TRUE(reach >= 0 && reach < 1) << reach;
    EXPECT_LT(At<uint32_t>(inputs.bound[1].buffer, 0), kRuntimeElements);
    ASSERT_EQ(inputs.draws.size(), 2);
    EXPECT_EQ(inputs.draws[0].push_constants.size(), 32);
    EXPECT_NE(inputs.draws[0].push_constants, inputs.draws[1].push_constants);
  }
}

TEST(GenericCasesTest, SeedDecidesTheBytes) {
  ASSERT_OK_AND_ASSIGN(const auto source,
                       CompiledCase(BlocksProgram()).Source());
  const DrawInputs first = source->Make(5, kKey);
  EXPECT_EQ(source->Make(5, kKey).bound[1].buffer, first.bound[1].buffer);
  EXPECT_NE(source->Make(6, kKey).bound[1].buffer, first.bound[1].buffer);
}

TEST(GenericCasesTest, ImagesHaveTheShapeOfTheirSampler) {
  Program program = ProgramOf(R"(
layout(set = 0, binding = 0) uniform sampler2D flat_maps[2];
layout(set = 0, binding = 1) uniform sampler2DArrayShadow shadow;
layout(set = 0, binding = 2) uniform sampler3D volume;
layout(set = 0, binding = 3, rgba16f) uniform image2D written;
)",
                              "texture(flat_maps[1], vec2(0)) + "
                              "texture(volume, vec3(0)) + "
                              "texture(shadow, vec4(0)) + "
                              "imageLoad(written, ivec2(0))");
  for (const uint32_t binding : {0, 1, 2, 3}) {
    program.pipeline.descriptors.push_back(
        {0,
         binding,
         binding == 3 ? "storage_image" : "combined_image_sampler",
         binding == 0 ? 2u : 1u,
         {Stage::kFragment}});
  }
  ASSERT_OK_AND_ASSIGN(const auto source, CompiledCase(program).Source());
  const DrawInputs inputs = source->Make(1, kKey);
  ASSERT_EQ(inputs.bound.size(), 4);
  EXPECT_EQ(inputs.bound[0].images.size(), 2);
  EXPECT_EQ(inputs.bound[0].images[0].shape, ImageShape::k2D);
  EXPECT_EQ(inputs.bound[1].images[0].shape, ImageShape::k2DArray);
  EXPECT_TRUE(inputs.bound[1].images[0].compare);
  EXPECT_EQ(inputs.bound[2].images[0].shape, ImageShape::k3D);
  EXPECT_EQ(inputs.bound[3].images[0].format, "r16g16b16a16_sfloat");
}

TEST(GenericCasesTest, WhatNoCaseCanBeMadeOfIsNamed) {
  const CompiledCase cube(ProgramOf(
      "layout(set = 0, binding = 0) uniform samplerCube surroundings;",
      "texture(surroundings, vec3(1))"));
  EXPECT_THAT(cube.Source(), StatusIs(absl::StatusCode::kUnimplemented,
                                      HasSubstr("surroundings")));
  const CompiledCase integers(
      ProgramOf("layout(set = 0, binding = 0) uniform usampler2D counters;",
                "vec4(texture(counters, vec2(1)))"));
  EXPECT_THAT(integers.Source(), StatusIs(absl::StatusCode::kUnimplemented,
                                          HasSubstr("of integers")));
}

TEST(GenericCasesTest, VerticesFillTheirFormats) {
  Program program = ProgramOf("");
  program.pipeline.vertex_bindings = {{3, 24, false}};
  program.pipeline.vertex_attributes = {{0, 3, "r32g32b32_sfloat", 0},
                                        {1, 3, "r8g8b8a8_unorm", 12},
                                        {2, 3, "r16g16_uint", 16}};
  ASSERT_OK_AND_ASSIGN(const auto source, CompiledCase(program).Source());
  const DrawInputs inputs = source->Make(1, kKey);
  ASSERT_EQ(inputs.vertex_buffers.size(), 1);
  const Bytes& vertices = inputs.vertex_buffers[0];
  ASSERT_EQ(vertices.size(), 3 * kRandomTriangles * 24);
  bool left = false;
  bool right = false;
  for (uint32_t i = 0; i < 3 * kRandomTriangles; ++i) {
    const auto x = At<float>(vertices, i * 24);
    const auto z = At<float>(vertices, i * 24 + 8);
    left |= x < -0.5f;
    right |= x > 0.5f;
    EXPECT_TRUE(z >= 0 && z < 1) << z;
    EXPECT_LT(At<uint16_t>(vertices, i * 24 + 16), 4);
  }
  EXPECT_TRUE(left && right);
  EXPECT_EQ(inputs.indices.size(), 3 * kRandomTriangles);
}

TEST(MakeCaseSourceTest, OnlyTheSceneProgramGetsSceneCases) {
  ASSERT_OK_AND_ASSIGN(Program program,
                       LoadProgramFile(std::string(KILN_SOURCE_DIR) +
                                       "/shaders/scene/scene.program.toml"));
  ASSERT_OK_AND_ASSIGN(const auto scene, CompiledCase(program).Source());
  EXPECT_NE(dynamic_cast<SceneCases*>(scene.get()), nullptr);
  program.name = "another";
  ASSERT_OK_AND_ASSIGN(const auto other, CompiledCase(program).Source());
  EXPECT_NE(dynamic_cast<GenericCases*>(other.get()), nullptr);
  EXPECT_EQ(other->Make(1, kKey).bound.size(), 26);
}

}  // namespace
}  // namespace kiln::lab
