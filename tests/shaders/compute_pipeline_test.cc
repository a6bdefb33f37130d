// SPDX-License-Identifier: Apache-2.0

// Compute programs through the door that graphics programs use.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program_file.h"
#include "shaders/pipeline/pipeline.h"
#include "tests/shaders/pipeline_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/targets.h"

namespace kiln::pipeline {
namespace {

using ::kiln::testing::kInvalid;
using ::kiln::testing::kLavapipe;
using ::kiln::testing::kVanGogh;
using ::kiln::testing::StatusIs;
using ::testing::Each;
using ::testing::Field;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;

// The blur of shaders/examples/.
Program Blur() {
  auto program = LoadProgramFile(KILN_SOURCE_DIR
                                 "/shaders/examples/blur/blur.program.toml");
  EXPECT_OK(program);
  return program.value_or(Program());
}

std::vector<OverrideValue> Size(uint64_t width, uint64_t height) {
  return {{"WIDTH", width}, {"HEIGHT", height}};
}

TEST(ComputePipelineTest, BlobMadeOnOneRadvDeviceIsACacheHitOnAnother) {
  KILN_OPEN_OR_SKIP(first, kVanGogh);
  const PipelineCase test(Blur(), "compute");
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline compiled,
                       CompilePipeline(*first, test.Input()));
  EXPECT_FALSE(IsHeaderOnlyBlob(compiled.blob));
  EXPECT_GT(compiled.compile_us, 0u);

  KILN_OPEN_OR_SKIP(second, kVanGogh);
  ASSERT_OK_AND_ASSIGN(const CreatedPipeline created,
                       CreateFromBlob(*second, test.Input(), compiled.blob));
  EXPECT_EQ(created.feedback, HitFeedback::kCacheHit);
  EXPECT_NE(created.pipeline.vk_pipeline(), nullptr);
  EXPECT_NE(created.pipeline.vk_layout(), nullptr);
  EXPECT_NE(created.pipeline.vk_set_layout(0), nullptr);
  EXPECT_THAT(first->validation_messages(), IsEmpty());
  EXPECT_THAT(second->validation_messages(), IsEmpty());
}

TEST(ComputePipelineTest, WorkgroupSizeIsPartOfTheKeyAndReachesTheDriver) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  const PipelineCase test(Blur(), "compute");
  const VariantKey line = test.Key("compute", 0, Size(64, 1));
  const VariantKey block = test.Key("compute", 0, Size(16, 16));
  EXPECT_NE(KeyId(line), KeyId(block));
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline compiled,
                       CompilePipeline(*device, test.Input(line)));
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline other,
                       CompilePipeline(*device, test.Input(block)));
  EXPECT_NE(compiled.blob, other.blob);
  ASSERT_OK_AND_ASSIGN(
      const CreatedPipeline own,
      CreateFromBlob(*device, test.Input(line), compiled.blob));
  EXPECT_EQ(own.feedback, HitFeedback::kCacheHit);
  ASSERT_OK_AND_ASSIGN(
      const CreatedPipeline foreign,
      CreateFromBlob(*device, test.Input(block), compiled.blob));
  EXPECT_EQ(foreign.feedback, HitFeedback::kCompileRequired);
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

TEST(ComputePipelineTest, CostIsThatOfTheOneComputeStage) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  const PipelineCase test(Blur(), "compute");
  ASSERT_OK_AND_ASSIGN(const PipelineStatistics measured,
                       MeasurePipeline(*device, test.Input()));
  EXPECT_THAT(measured.statistics,
              AllOf(Not(IsEmpty()),
                    Each(Field(&Statistic::executable, HasSubstr("Compute")))));
  EXPECT_THAT(measured.cost.registers, Optional(Gt(0u)));
  EXPECT_THAT(measured.cost.waves, Optional(Gt(0u)));
  EXPECT_THAT(measured.cost.instructions, Optional(Gt(0u)));
  EXPECT_THAT(measured.cost.code_bytes, Optional(Gt(0u)));
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

TEST(ComputePipelineTest, OverrideFoundByItsNameChangesTheCode) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  const PipelineCase test(Blur(), "compute");
  const VariantKey narrow = test.Key("compute", 0, {{"RADIUS", 1}});
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline five,
                       CompilePipeline(*device, test.Input()));
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline three,
                       CompilePipeline(*device, test.Input(narrow)));
  EXPECT_NE(five.blob, three.blob);
}

TEST(ComputePipelineTest, EverySizeIsMadeOnLavapipeWithoutAValidationMessage) {
  KILN_OPEN_OR_SKIP(device, kLavapipe);
  const PipelineCase test(Blur(), "compute");
  for (const auto& size : {Size(1, 1), Size(8, 8), Size(64, 4), Size(1, 128)}) {
    const VariantKey key = test.Key("compute", 0, size);
    ASSERT_OK_AND_ASSIGN(const CompiledPipeline compiled,
                         CompilePipeline(*device, test.Input(key)));
    EXPECT_TRUE(IsHeaderOnlyBlob(compiled.blob));
    EXPECT_OK(CreatePipeline(*device, test.Input(key)));
    EXPECT_OK(MeasurePipeline(*device, test.Input(key)));
  }
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

TEST(ComputePipelineTest, ModuleOfAnotherStageIsRefused) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  const PipelineCase graphics;
  const PipelineCase test(Blur(), "compute");
  const PipelineInput input = test.Input();
  StageCode vertex = graphics.Input().code.front();
  ASSERT_EQ(vertex.stage, Stage::kVertex);
  EXPECT_THAT(
      CompilePipeline(*device, {input.program, input.key, {&vertex, 1}}),
      StatusIs(kInvalid, "not one module for the compute stage"));
  // The same module, said to be what it is not.
  vertex.stage = Stage::kCompute;
  EXPECT_THAT(
      CompilePipeline(*device, {input.program, input.key, {&vertex, 1}}),
      StatusIs(kInvalid, "no entry point main"));
  // And the other way round.
  std::vector<StageCode> code(graphics.Input().code.begin(),
                              graphics.Input().code.end());
  code.front().spirv = input.code.front().spirv;
  EXPECT_THAT(CompilePipeline(*device, {graphics.Input().program,
                                        graphics.Input().key, code}),
              StatusIs(kInvalid, "module of the vertex stage"));
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

TEST(ComputePipelineTest, WhatOnlyGraphicsHasIsRefusedByName) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);

  struct Case {
    void (*change)(Program&);
    std::string message;
  };

  const Case cases[] = {
      {[](Program& program) {
         program.kinds.front().value.state = {{"depth_write", "true"}};
       },
       "state depth_write"},
      {[](Program& program) {
         program.pipeline.color_formats = {"r8g8b8a8_unorm"};
       },
       "color_formats"},
      {[](Program& program) { program.pipeline.depth_format = "d32_sfloat"; },
       "depth_format"},
      {[](Program& program) {
         program.pipeline.vertex_bindings = {{0, 12, false}};
       },
       "vertex_bindings"},
  };
  for (const Case& wrong : cases) {
    Program program = Blur();
    wrong.change(program);
    const PipelineCase test(std::move(program), "compute");
    EXPECT_THAT(CompilePipeline(*device, test.Input()),
                StatusIs(kInvalid, wrong.message));
  }
}

}  // namespace
}  // namespace kiln::pipeline
