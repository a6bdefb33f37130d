// SPDX-License-Identifier: Apache-2.0

// Compute shaders on plain data, and the derivation, which is one.

#include "shaders/lab/compute.h"

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shaders/compiler.h"
#include "shaders/lab/derivation.h"
#include "tests/shaders/lab/lab_fixture.h"
#include "tests/shaders/lab/lab_program.h"
#include "tests/support/status_matchers.h"

namespace kiln::lab {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kScale[] = R"(#version 460
layout(local_size_x = 2) in;
layout(constant_id = 5) const uint FACTOR = 2u;
layout(set = 0, binding = 0) uniform In { uvec4 values; };
layout(set = 2, binding = 1) buffer Out { uint result[4]; };
layout(push_constant) uniform Push { uint addend; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  result[i] += values[i] * FACTOR + addend;
}
)";

std::vector<uint32_t> CompileCompute(const std::string& text) {
  Program program;
  program.name = "compute";
  program.stages = {{Stage::kCompute, "main.comp"}};
  program.files = {{"main.comp", text}};
  const shaders::StageResult code =
      shaders::CompileStage(program, Stage::kCompute);
  EXPECT_TRUE(code.ok()) << code.diagnostics;
  return code.spirv;
}

Bytes Words(const std::vector<uint32_t>& words) {
  return ToBytes(std::as_bytes(std::span(words)));
}

std::vector<uint32_t> AsWords(const Bytes& bytes) {
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  return words;
}

DispatchRequest ScaleRequest(std::span<const uint32_t> spirv) {
  DispatchRequest request;
  request.spirv = spirv;
  request.inputs = {{0, 0, "uniform_buffer", Words({1, 2, 3, 4}), {}},
                    {2, 1, "storage_buffer", Words({0, 0, 0, 100}), {}}};
  request.push_constants = Words({10});
  request.groups[0] = 2;
  return request;
}

class ComputeTest : public LabTest {};

TEST_F(ComputeTest, StorageBuffersComeBackAsTheShaderLeftThem) {
  const std::vector<uint32_t> spirv = CompileCompute(kScale);
  DispatchRequest request = ScaleRequest(spirv);
  ASSERT_OK_AND_ASSIGN(DispatchResult result, Dispatch(*device_, request));
  ASSERT_THAT(result.buffers, SizeIs(2));
  EXPECT_THAT(result.buffers[0], IsEmpty());
  EXPECT_THAT(AsWords(result.buffers[1]), ElementsAre(12, 14, 16, 118));
  EXPECT_THAT(result.microseconds, IsEmpty());

  request.constants = {{5, 100, ConstantType::kUint32, "FACTOR"}};
  ASSERT_OK_AND_ASSIGN(result, Dispatch(*device_, request));
  EXPECT_THAT(AsWords(result.buffers[1]), ElementsAre(110, 210, 310, 510));
}

TEST_F(ComputeTest, OneShaderRunsOnManyInputs) {
  const std::vector<uint32_t> spirv = CompileCompute(kScale);
  DispatchRequest request = ScaleRequest(spirv);
  ASSERT_OK_AND_ASSIGN(const auto shader,
                       ComputeShader::Make(*device_, request));
  for (const uint32_t addend : {0u, 7u}) {
    request.push_constants = Words({addend});
    ASSERT_OK_AND_ASSIGN(const DispatchResult result, shader->Run(request));
    EXPECT_THAT(AsWords(result.buffers[1]),
                ElementsAre(2 + addend, 4 + addend, 6 + addend, 108 + addend));
  }
  request.push_constants = Words({1, 2});
  EXPECT_THAT(shader->Run(request), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("8 bytes")));
}

TEST_F(ComputeTest, TimedDispatchesAreRunAsOftenAsAsked) {
  const std::vector<uint32_t> spirv = CompileCompute(kScale);
  DispatchRequest request = ScaleRequest(spirv);
  request.timed = 5;
  request.warm_up = 3;
  ASSERT_OK_AND_ASSIGN(const DispatchResult result,
                       Dispatch(*device_, request));
  EXPECT_THAT(result.microseconds, SizeIs(5));
  EXPECT_THAT(result.microseconds, Each(Ge(0)));
  EXPECT_EQ(AsWords(result.buffers[1])[0], 8 * 12u);  // eight runs
}

TEST_F(ComputeTest, RequestsThatDoNotFitAreRefusedByName) {
  const std::vector<uint32_t> spirv = CompileCompute(kScale);
  DispatchRequest request = ScaleRequest(spirv);
  request.constants = {{6, 1, ConstantType::kUint32, ""}};
  EXPECT_THAT(
      Dispatch(*device_, request),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("constant_id 6")));
  request = ScaleRequest(spirv);
  request.groups[1] = 0;
  EXPECT_THAT(Dispatch(*device_, request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("0 workgroups in dimension 1")));
  request = ScaleRequest(spirv);
  request.inputs[0].type = "mauve";
  EXPECT_THAT(Dispatch(*device_, request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("mauve")));
  request = ScaleRequest(spirv);
  request.inputs[0].type = "uniform_texel_buffer";
  EXPECT_THAT(Dispatch(*device_, request),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("uniform_texel_buffer")));
}

class DerivationTest : public LabTest {};

TEST_F(DerivationTest, BitsComeFromTheBuffersAndPushConstantsOfTheDraw) {
  ASSERT_OK_AND_ASSIGN(const auto derivation,
                       Derivation::Make(*device_, LabProgram()));
  DrawInputs inputs = LabInputs({kGlow | kHoles, 0, 0xffff});
  EXPECT_THAT(derivation->Derive(inputs, 0).value(), kGlow | kHoles);
  EXPECT_THAT(derivation->Derive(inputs, 1).value(), 0);
  EXPECT_THAT(derivation->Derive(inputs, 2).value(), 7);
  inputs.bound[0].buffer[0] = std::byte{2};  // the frame allows Tint only
  EXPECT_THAT(derivation->Derive(inputs, 2).value(), kTint);
}

TEST_F(DerivationTest, WrongDerivationsAreRefusedWithTheReason) {
  Program program = LabProgram();
  program.derivation.clear();
  EXPECT_THAT(Derivation::Make(*device_, program),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("names no derivation")));
  program = LabProgram();
  program.files[0].text = "#version 460\nvoid main() { mauve(); }\n";
  EXPECT_THAT(
      Derivation::Make(*device_, program),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("derive.comp:2")));
  program = LabProgram();
  program.pipeline.descriptors.push_back(
      {1, 0, "uniform_buffer", 1, {Stage::kFragment}});
  EXPECT_THAT(Derivation::Make(*device_, program),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("set 1 binding 0")));
}

TEST_F(DerivationTest, BitThatIsNotDeclaredIsAnError) {
  Program program = LabProgram();
  program.features.pop_back();
  ASSERT_OK_AND_ASSIGN(const auto derivation,
                       Derivation::Make(*device_, program));
  EXPECT_THAT(derivation->Derive(LabInputs({kHoles}), 0),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("0x4")));
}

TEST(ComputeTargetTest, DeviceThatOnlyCompilesIsRefused) {
  KILN_OPEN_OR_SKIP(device, "radv:vangogh");
  const std::vector<uint32_t> spirv = CompileCompute(kScale);
  EXPECT_THAT(Dispatch(*device, ScaleRequest(spirv)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("only compiles")));
}

}  // namespace
}  // namespace kiln::lab
