// SPDX-License-Identifier: Apache-2.0

// What a specialised module keeps and what it lacks, outside of control flow.

#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shaders/specialise/module_index.h"
#include "tests/shaders/assembly.h"
#include "tests/shaders/constant_programs.h"
#include "tests/shaders/specialise/expect_specialised.h"
#include "tests/support/status_matchers.h"

namespace kiln::specialise {
namespace {

using shaders::ById;
using shaders::ComputeModule;
using shaders::FragmentModule;
using shaders::OpOf;
using spv::Op;
using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<Constant> Off() {
  return {ById(0, ConstantType::kBool, 0)};
}

std::vector<Constant> On() {
  return {ById(0, ConstantType::kBool, 1)};
}

constexpr std::string_view kSwitch =
    "layout(constant_id = 0) const bool Uses = true;\n";

std::set<std::string> Names(std::span<const uint32_t> spirv) {
  std::set<std::string> names;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    if (OpOf(instruction) == Op::OpName) {
      names.emplace(LiteralText(instruction, 2));
    }
  });
  return names;
}

size_t Decorated(std::span<const uint32_t> spirv, spv::Decoration decoration) {
  size_t count = 0;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    count += OpOf(instruction) == Op::OpDecorate &&
             static_cast<spv::Decoration>(instruction.word(2)) == decoration;
  });
  return count;
}

// The variables that the entry point lists.
size_t InterfaceSize(std::span<const uint32_t> spirv) {
  size_t size = 0;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    if (OpOf(instruction) == Op::OpEntryPoint) {
      size = instruction.words.size() - 3 -
             (LiteralText(instruction, 3).size() / 4 + 1);
    }
  });
  return size;
}

TEST(ModuleTest, WhatOnlyDeadCodeUsesGoesAndIsNotListedAnyMore) {
  const std::vector<uint32_t> spirv = FragmentModule(
      std::string(kSwitch) +
      "layout(location = 0) in vec4 always;\n"
      "layout(location = 1) in vec4 rarely;\n"
      "layout(location = 1) out vec4 never;\n"
      "layout(binding = 0) uniform Block { vec4 tint; };\n"
      "layout(binding = 1) uniform sampler2D image;\n"
      "vec4 Helper() { return texture(image, rarely.xy) * tint; }\n"
      "void main() { color = always; if (Uses) color += Helper(); }");
  const std::vector<uint32_t> on = Specialised(spirv, On());
  EXPECT_THAT(Names(on), IsSupersetOf({"rarely", "image", "Block", "Helper("}));
  EXPECT_EQ(InterfaceSize(on), 6u);
  const std::vector<uint32_t> off = Specialised(spirv, Off());
  const std::set<std::string> names = Names(off);
  EXPECT_THAT(names, IsSupersetOf({"always", "color", "never", "main"}));
  for (const char* gone : {"rarely", "image", "Block", "Helper(", "Uses"}) {
    EXPECT_THAT(names, Not(Contains(gone)));
  }
  EXPECT_EQ(InterfaceSize(off), 3u);
  EXPECT_EQ(CountOps(off, Op::OpFunction), 1u);
  EXPECT_EQ(CountOps(off, Op::OpTypeImage), 0u);
  EXPECT_EQ(CountOps(off, Op::OpTypeBool), 0u);
}

TEST(ModuleTest, InputThatMakesTheStageRunPerSampleStays) {
  for (const char* input :
       {"gl_SampleID == 1", "gl_SamplePosition.x > 0.5", "s.x > 0.5"}) {
    const std::vector<uint32_t> spirv = FragmentModule(fmt::format(
        "{}layout(location = 2) sample in vec2 s;\n"
        "void main() {{ color = vec4(1); if (Uses && {}) color *= 2.0; }}",
        kSwitch, input));
    EXPECT_EQ(InterfaceSize(Specialised(spirv, Off())),
              InterfaceSize(Specialised(spirv, On())))
        << input;
  }
}

TEST(ModuleTest, EffectsStayThoughNothingReadsTheirResults) {
  const std::vector<uint32_t> spirv = ComputeModule(
      std::string(kSwitch) +
          "layout(local_size_x = 4) in;\n"
          "layout(binding = 1, r32ui) uniform uimage2D image;\n"
          "layout(binding = 2) volatile buffer Other { uint loud[]; };\n"
          "shared uint cell;\n",
      "uint unused = atomicAdd(cell, 1u);\n"
      "barrier();\n"
      "memoryBarrierBuffer();\n"
      "imageStore(image, ivec2(0), uvec4(1));\n"
      "uint read = imageAtomicMax(image, ivec2(1), 3u);\n"
      "uint seen = loud[3];\n"
      "result[1] = 2.0;\n"
      "if (Uses) { result[2] = float(unused); }");
  const std::vector<uint32_t> made = Specialised(spirv, Off());
  EXPECT_EQ(CountOps(made, Op::OpAtomicIAdd), 1u);
  EXPECT_EQ(CountOps(made, Op::OpControlBarrier), 1u);
  EXPECT_EQ(CountOps(made, Op::OpMemoryBarrier), 1u);
  EXPECT_EQ(CountOps(made, Op::OpImageWrite), 1u);
  EXPECT_EQ(CountOps(made, Op::OpAtomicUMax), 1u);
  EXPECT_EQ(CountOps(made, Op::OpStore), 1u);  // not those to locals
  EXPECT_EQ(CountOps(made, Op::OpLoad), 2u);   // the image, the volatile one
  EXPECT_EQ(CountOps(made, Op::OpExecutionMode) +
                CountOps(made, Op::OpExecutionModeId),
            1u);
}

TEST(ModuleTest, StoresToWhatNothingReadsGo) {
  const std::vector<uint32_t> spirv =
      FragmentModule(std::string(kSwitch) +
                     "layout(location = 0) in vec4 v;\n"
                     "vec4 kept; vec4 lost;\n"
                     "struct S { vec4 a; float b[3]; };\n"
                     "void Fill(out vec4 x) { x = v * 3.0; }\n"
                     "void main() {\n"
                     "  S s; s.a = v; s.b[1] = 2.0; vec4 t; Fill(t);\n"
                     "  kept = v; lost = v + v; color = kept;\n"
                     "  if (Uses) { color += lost + s.a * s.b[1] + t; }\n}");
  const std::vector<uint32_t> off = Specialised(spirv, Off());
  EXPECT_THAT(Names(off), Contains("kept"));
  EXPECT_THAT(Names(off), Not(Contains("lost")));
  EXPECT_THAT(Names(off), Not(Contains("s")));
  EXPECT_EQ(CountOps(off, Op::OpFAdd), 0u);
  EXPECT_EQ(CountOps(off, Op::OpFunctionCall),
            1u);  // calls are not looked into
  EXPECT_GT(CountOps(Specialised(spirv, On()), Op::OpFAdd), 2u);
}

TEST(ModuleTest, DecorationsStayOnWhatStays) {
  const std::vector<uint32_t> spirv = FragmentModule(
      std::string(kSwitch) +
      "layout(location = 0) in mediump vec4 v;\n"
      "layout(binding = 0) coherent restrict buffer B { vec4 b; };\n"
      "void main() {\n"
      "  precise vec4 p = v * v + v; mediump vec4 m = v * 2.0;\n"
      "  mediump float chosen = Uses ? m.x : m.y;\n"
      "  color = p + m * chosen; b = color;\n"
      "  if (!Uses) color *= vec4(m) + v * m; }");
  const std::vector<uint32_t> made = Specialised(spirv, On());
  EXPECT_EQ(Decorated(made, spv::Decoration::NoContraction),
            Decorated(spirv, spv::Decoration::NoContraction));
  EXPECT_GT(Decorated(made, spv::Decoration::RelaxedPrecision), 2u);
  EXPECT_LT(Decorated(made, spv::Decoration::RelaxedPrecision),
            Decorated(spirv, spv::Decoration::RelaxedPrecision));
  EXPECT_EQ(CountOps(made, Op::OpMemberDecorate),
            CountOps(spirv, Op::OpMemberDecorate));
}

constexpr std::string_view kOddities = R"(
OpCapability Shader
OpCapability GroupNonUniformBallot
OpCapability DemoteToHelperInvocation
OpCapability ShaderClockKHR
OpExtension "SPV_KHR_non_semantic_info"
OpExtension "SPV_KHR_shader_clock"
%printf = OpExtInstImport "NonSemantic.DebugPrintf"
%debug = OpExtInstImport "NonSemantic.Shader.DebugInfo.100"
OpMemoryModel Logical GLSL450
OpEntryPoint Fragment %main "main" %in %out
OpExecutionMode %main OriginUpperLeft
%file = OpString "a.frag"
%format = OpString "hello"
OpSource GLSL 450 %file "text"
OpModuleProcessed "something"
OpDecorate %in Location 0
OpDecorate %in Flat
OpDecorate %out Location 0
OpDecorate %c SpecId 0
OpDecorate %group_target NoContraction
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%int = OpTypeInt 32 1
%uint = OpTypeInt 32 0
%uint4 = OpTypeVector %uint 4
%u2 = OpTypeVector %uint 2
%float = OpTypeFloat 32
%subgroup = OpConstant %uint 3
%i1 = OpConstant %int 1
%f2 = OpConstant %float 2
%c = OpSpecConstantTrue %bool
%spec_int = OpSpecConstantOp %int Select %c %i1 %i1
%in_ptr = OpTypePointer Input %int
%out_ptr = OpTypePointer Output %int
%in = OpVariable %in_ptr Input
%out = OpVariable %out_ptr Output
%main = OpFunction %void None %fn
%entry = OpLabel
%x = OpLoad %int %in
%group_target = OpFMul %float %f2 %f2
)";

// `annotations` go before the types.
std::vector<uint32_t> Module(std::string_view body,
                             std::string_view annotations = "") {
  const size_t types = kOddities.find("%void =");
  std::vector<uint32_t> spirv =
      shaders::Assemble(fmt::format("{}{}{}{}\nOpReturn\nOpFunctionEnd\n",
                                    kOddities.substr(0, types), annotations,
                                    kOddities.substr(types), body),
                        SPV_ENV_VULKAN_1_3);
  EXPECT_OK(shaders::ValidateModule(spirv));
  return spirv;
}

TEST(ModuleTest, InstructionsThatAreNotKnownToBeHarmlessStay) {
  const std::vector<uint32_t> made = Specialised(Module(R"(
%y = OpIEqual %bool %x %i1
%ballot = OpGroupNonUniformBallot %uint4 %subgroup %y
%clock = OpReadClockKHR %u2 %subgroup
%said = OpExtInst %void %printf 1 %format
OpDemoteToHelperInvocation
%unused = OpIAdd %int %x %x
OpStore %out %x)"),
                                                 {});
  EXPECT_EQ(CountOps(made, Op::OpGroupNonUniformBallot), 1u);
  EXPECT_EQ(CountOps(made, Op::OpReadClockKHR), 1u);
  EXPECT_EQ(CountOps(made, Op::OpExtInst), 1u);
  EXPECT_EQ(CountOps(made, Op::OpString), 1u);
  EXPECT_EQ(CountOps(made, Op::OpDemoteToHelperInvocation), 1u);
  EXPECT_EQ(CountOps(made, Op::OpIAdd), 0u);
}

TEST(ModuleTest, DebugInformationOfTheSourceGoesAltogether) {
  const std::vector<uint32_t> made = Specialised(Module(R"(
OpLine %file 3 1
%said = OpExtInst %void %debug DebugNoScope
OpStore %out %x
OpNoLine)"),
                                                 {});
  for (const Op op :
       {Op::OpLine, Op::OpNoLine, Op::OpSource, Op::OpString, Op::OpExtInst,
        Op::OpExtInstImport, Op::OpModuleProcessed}) {
    EXPECT_EQ(CountOps(made, op), 0u) << static_cast<int>(op);
  }
}

TEST(ModuleTest, PhiWithADecorationStaysAPhi) {
  const std::vector<uint32_t> made =
      Specialised(Module(R"(
OpSelectionMerge %m None
OpBranchConditional %c %t %m
%t = OpLabel
%twice = OpIAdd %int %x %x
OpBranch %m
%m = OpLabel
%relaxed = OpPhi %int %x %entry %twice %t
OpStore %out %relaxed)",
                         "OpDecorate %relaxed RelaxedPrecision\n"),
                  {});
  EXPECT_EQ(CountOps(made, Op::OpPhi), 1u);
  EXPECT_EQ(Decorated(made, spv::Decoration::RelaxedPrecision), 1u);
}

TEST(ModuleTest, KnownNumbersAreTheConstantsThatThereAre) {
  const std::vector<uint32_t> made = Specialised(Module(R"(
%sum = OpIAdd %int %spec_int %spec_int
%same = OpIAdd %int %spec_int %x
OpStore %out %sum
OpStore %out %same)"),
                                                 {});
  EXPECT_EQ(CountOps(made, Op::OpConstant), 2u);  // 1, and a new 2
  EXPECT_EQ(CountOps(made, Op::OpIAdd), 1u);
}

TEST(ModuleTest, IdsAreNumberedWithoutGaps) {
  const std::vector<uint32_t> made = Specialised(
      FragmentModule(std::string(kSwitch) +
                     "layout(location = 0) in vec4 v;\nvoid main() { color = "
                     "Uses ? v : sin(v); }"),
      On());
  const auto index = ModuleIndex::Make(made);
  ASSERT_OK(index);
  std::set<uint32_t> results;
  for (const IndexedInstruction& instruction : (*index)->instructions()) {
    if (instruction.result != 0) {
      results.insert(instruction.result);
    }
  }
  EXPECT_EQ(results.size() + 1, made[3]);
  EXPECT_EQ(*results.rbegin() + 1, made[3]);
}

TEST(ModuleTest, VectorsAndArraysOfConstantsAreWrittenWhereTheyWere) {
  const std::vector<uint32_t> made =
      Specialised(ComputeModule("layout(local_size_x_id = 5) in;\n"
                                "layout(constant_id = 0) const int n = 4;\n"
                                "const ivec3 v = ivec3(n, 2, n) * 2;\n"
                                "struct Cell { float items[n]; };\n"
                                "shared Cell cells[v.y];",
                                "cells[0].items[0] = 1.0; barrier();\n"
                                "result[0] = cells[1].items[v.z - 9] + "
                                "float(v.x);"),
                  std::vector{shaders::Int(0, 5), shaders::Uint(5, 64)});
  EXPECT_EQ(CountOps(made, Op::OpTypeArray), 2u);
  EXPECT_EQ(CountOps(made, Op::OpSpecConstantOp), 0u);
}

TEST(ModuleTest, EveryEntryPointStays) {
  const std::vector<uint32_t> made =
      Specialised(shaders::Assemble(shaders::kManyEntries), {});
  EXPECT_EQ(CountOps(made, Op::OpEntryPoint), 4u);
  EXPECT_EQ(CountOps(made, Op::OpFunction), 4u);
}

TEST(ModuleTest, ManyThreadsMayUseOneModule) {
  const auto module = Prepare(FragmentModule(
      std::string(kSwitch) +
      "layout(location = 0) in vec4 v;\n"
      "void main() { color = v; for (int i = 0; i < 4; ++i) { if (Uses) { "
      "color = sin(color); } else { color += v; } } }"));
  ASSERT_OK(module);
  const std::vector<uint32_t> on = Specialised(*module, On());
  const std::vector<uint32_t> off = Specialised(*module, Off());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < 50; ++run) {
        const bool use = (run + i) % 2 == 0;
        const auto made = Specialise(*module, use ? On() : Off());
        EXPECT_TRUE(made.ok() && *made == (use ? on : off));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace kiln::specialise
