// SPDX-License-Identifier: Apache-2.0

#include "shaders/specialise/stage_outputs.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program_file.h"
#include "tests/shaders/constant_programs.h"
#include "tests/shaders/specialise/expect_specialised.h"
#include "tests/support/status_matchers.h"

namespace kiln::specialise {
namespace {

using shaders::OpOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<uint32_t> Compile(Stage stage, std::string_view body) {
  Program program;
  program.name = "test";
  program.stages = {{stage, "main"}};
  program.files = {{"main", fmt::format("#version 450\n{}\n", body)}};
  return shaders::ModuleOf(program, stage);
}

// The names of the output variables that are left, built-ins' empty one too.
std::set<std::string> Outputs(std::span<const uint32_t> spirv) {
  std::map<uint32_t, std::string> names;
  std::set<std::string> outputs;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    if (OpOf(instruction) == spv::Op::OpName) {
      names[instruction.word(1)] = LiteralText(instruction, 2);
    } else if (OpOf(instruction) == spv::Op::OpVariable &&
               static_cast<spv::StorageClass>(instruction.word(3)) ==
                   spv::StorageClass::Output) {
      outputs.insert(names[instruction.word(2)]);
    }
  });
  return outputs;
}

// The vertex stage of `vertex`, for the fragment stage of `fragment`.
std::vector<uint32_t> Pruned(std::string_view vertex,
                             const std::vector<uint32_t>& consumer,
                             std::span<const Constant> constants = {}) {
  const auto module = Prepare(Compile(Stage::kVertex, vertex));
  EXPECT_OK(module);
  const auto made = PruneStageOutputs(*module, constants, consumer,
                                      shaders::Revalidation::kAlways);
  EXPECT_OK(made);
  return made.ok() ? *made : std::vector<uint32_t>();
}

std::vector<uint32_t> Pruned(std::string_view vertex, std::string_view fragment,
                             std::span<const Constant> constants = {}) {
  return Pruned(vertex,
                Specialised(Compile(Stage::kFragment, fragment), constants));
}

constexpr std::string_view kReadsFirst =
    "layout(location = 0) in vec4 a; layout(location = 0) out vec4 color;\n"
    "void main() { color = a; }";

TEST(StageOutputsTest, OutputThatIsNotReadGoesWithWhatComputedIt) {
  const std::vector<uint32_t> made = Pruned(
      "layout(location = 0) in vec4 position;\n"
      "layout(location = 0) out vec4 a; layout(location = 1) out vec4 b;\n"
      "layout(location = 2) out mat3 c;\n"
      "void main() { gl_Position = position; a = position; b = sin(position);\n"
      "  c = mat3(2); c[1] = cos(position.xyz); }",
      kReadsFirst);
  EXPECT_THAT(Outputs(made), ElementsAre("", "a"));
  EXPECT_EQ(CountOps(made, spv::Op::OpExtInst), 0u);
  EXPECT_EQ(CountOps(made, spv::Op::OpTypeMatrix), 0u);
}

TEST(StageOutputsTest, InputThatTheVariantDoesNotReadDoesNotCount) {
  constexpr std::string_view kVertex =
      "layout(location = 0) out vec4 a; layout(location = 1) out vec4 b;\n"
      "void main() { gl_Position = vec4(0); a = vec4(1); b = vec4(2); }";
  constexpr std::string_view kFragment =
      "layout(constant_id = 0) const bool Uses = true;\n"
      "layout(location = 0) in vec4 a; layout(location = 1) in vec4 b;\n"
      "layout(location = 0) out vec4 color;\n"
      "void main() { color = a; if (Uses) { color += b; } }";
  for (const uint64_t uses : {0u, 1u}) {
    const std::vector constants = {shaders::ById(0, ConstantType::kBool, uses)};
    EXPECT_EQ(Outputs(Pruned(kVertex,
                             Specialised(Compile(Stage::kFragment, kFragment),
                                         constants)))
                  .contains("b"),
              uses != 0);
  }
}

TEST(StageOutputsTest, ComponentsOfALocationAreToldApart) {
  const std::vector<uint32_t> made = Pruned(
      "layout(location = 0) out vec2 a; layout(location = 0, component = 2) "
      "out float b;\nlayout(location = 0, component = 3) out float c;\n"
      "layout(location = 1) out vec4 d;\n"
      "void main() { gl_Position = vec4(0); a = vec2(1); b = 2; c = 3; d = "
      "vec4(4); }",
      "layout(location = 0, component = 2) in float b;\n"
      "layout(location = 1) in vec2 d;\n"
      "layout(location = 0) out vec4 color;\n"
      "void main() { color = vec4(b, d, 1); }");
  EXPECT_THAT(Outputs(made), ElementsAre("", "b", "d"));
}

TEST(StageOutputsTest, ArraysMatricesAndDoublesCoverAllTheirLocations) {
  const std::vector<uint32_t> made = Pruned(
      "layout(location = 0) out vec4 a[3]; layout(location = 3) out mat4 b;\n"
      "layout(location = 7) flat out dvec4 c; layout(location = 9) out vec4 "
      "d[2];\nlayout(location = 11) out mat2 e;\n"
      "void main() { gl_Position = vec4(0); a[0] = a[1] = a[2] = vec4(1); b = "
      "mat4(1);\n  c = dvec4(1); d[0] = d[1] = vec4(0); e = mat2(1); }",
      "layout(location = 2) in vec4 a; layout(location = 6) in float b;\n"
      "layout(location = 8) flat in dvec2 c;\n"
      "layout(location = 0) out vec4 color;\n"
      "void main() { color = a + b + float(c.x); }");
  EXPECT_THAT(Outputs(made), ElementsAre("", "a", "b", "c"));
}

TEST(StageOutputsTest, BlockStaysAsAWholeOrNotAtAll) {
  constexpr std::string_view kVertex =
      "layout(location = 0) out First { vec4 a; vec2 b; } first;\n"
      "layout(location = 4) out Second { vec4 c; vec4 d; } second;\n"
      "void main() { gl_Position = vec4(0); first.a = vec4(1); first.b = "
      "vec2(2);\n  second.c = vec4(3); second.d = vec4(4); }";
  const std::vector<uint32_t> made =
      Pruned(kVertex,
             "layout(location = 0) in First { vec4 a; vec2 b; } first;\n"
             "layout(location = 0) out vec4 color;\n"
             "void main() { color = vec4(first.b, 0, 1); }");
  EXPECT_THAT(Outputs(made), ElementsAre("", "first"));
  EXPECT_EQ(CountOps(made, spv::Op::OpTypeStruct), 2u);  // and gl_PerVertex
}

TEST(StageOutputsTest, OutputThatTheStageReadsItselfStays) {
  EXPECT_THAT(
      Outputs(Pruned("layout(location = 1) out vec4 b;\n"
                     "void main() { b = vec4(gl_VertexIndex); gl_Position = b "
                     "* 2.0; }",
                     "layout(location = 0) out vec4 color;\n"
                     "void main() { color = vec4(1); }")),
      ElementsAre("", "b"));
}

TEST(StageOutputsTest, OutputsThatTransformFeedbackCapturesStay) {
  EXPECT_THAT(
      Outputs(Pruned("layout(location = 0, xfb_buffer = 0, xfb_offset = 0, "
                     "xfb_stride = 16) out vec4 a;\n"
                     "layout(location = 1) out vec4 b;\n"
                     "void main() { gl_Position = a = b = vec4(1); }",
                     "layout(location = 0) out vec4 color;\n"
                     "void main() { color = vec4(1); }")),
      ElementsAre("", "a", "b"));
}

TEST(StageOutputsTest, NothingGoesBeforeAStageThatIsNoFragmentStage) {
  constexpr std::string_view kVertex =
      "layout(location = 0) out vec4 a;\n"
      "void main() { gl_Position = a = vec4(1); }";
  const std::vector<uint32_t> geometry =
      Compile(Stage::kVertex, "void main() { gl_Position = vec4(0); }");
  EXPECT_THAT(Outputs(Pruned(kVertex, geometry)), ElementsAre("", "a"));
  const auto module = Prepare(Compile(Stage::kVertex, kVertex));
  ASSERT_OK(module);
  EXPECT_THAT(PruneStageOutputs(*module, {}, {}),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, "SPIR-V"));
}

TEST(StageOutputsTest, SceneVertexStageLosesWhatDepthDoesNotRead) {
  const auto scene =
      LoadProgramFile(KILN_SOURCE_DIR "/shaders/scene/scene.program.toml");
  ASSERT_OK(scene);
  const auto vertex = Prepare(shaders::ModuleOf(*scene, Stage::kVertex));
  ASSERT_OK(vertex);
  const auto fragment = Prepare(shaders::ModuleOf(*scene, Stage::kFragment));
  ASSERT_OK(fragment);
  const std::vector constants = {shaders::Uint(0, 2), shaders::Uint(1, 0)};
  std::vector<Constant> of_fragment = constants;
  of_fragment.push_back(shaders::Uint(2, 0));
  const std::vector<uint32_t> depth = Specialised(*fragment, of_fragment);
  const auto made = PruneStageOutputs(*vertex, constants, depth,
                                      shaders::Revalidation::kAlways);
  ASSERT_OK(made);
  EXPECT_LT(Outputs(*made).size(), Outputs(vertex->spirv()).size());
  EXPECT_LT(made->size(), Specialised(*vertex, constants).size());
}

}  // namespace
}  // namespace kiln::specialise
