// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs of SPIR-V, for what no GLSL makes: written as assembly, or as bytes.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <spirv-tools/libspirv.hpp>

#include "proto/bytes.h"
#include "proto/program.h"
#include "shaders/compiler.h"

namespace kiln::shaders {

// SPIR-V 1.3 by default; 1.6 for Vulkan 1.3.
inline std::vector<uint32_t> Assemble(
    std::string_view text, spv_target_env environment = SPV_ENV_VULKAN_1_1) {
  spvtools::SpirvTools tools(environment);
  std::vector<uint32_t> words;
  EXPECT_TRUE(tools.Assemble(text.data(), text.size(), &words)) << text;
  return words;
}

inline std::string BytesOf(std::span<const uint32_t> words) {
  return std::string(AsText(AsBytes(words)));
}

inline Program SpirvProgram(std::string bytes, Stage stage = Stage::kFragment,
                            std::string entry = "main") {
  Program program;
  program.name = "test";
  program.stages = {{stage, "shader.spv", Language::kSpirv, std::move(entry)}};
  program.files = {{"shader.spv", std::move(bytes)}};
  return program;
}

inline StageResult CompileSpirv(std::string bytes,
                                Stage stage = Stage::kFragment,
                                std::string entry = "main") {
  return CompileStage(SpirvProgram(std::move(bytes), stage, std::move(entry)),
                      stage);
}

// Entry points 'red' and 'sum' (fragment), 'red' (vertex) and 'work' (compute).
// 'red' of the fragment stage writes location 0; 'sum' reads location 3, a
// uniform buffer at set 1, binding 2, and writes location 1; 'work' is 8 x 4.
inline constexpr std::string_view kManyEntries = R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint Fragment %red_fn "red" %red_out
OpEntryPoint Fragment %sum_fn "sum" %sum_in %sum_out
OpEntryPoint Vertex %vert_fn "red"
OpEntryPoint GLCompute %work_fn "work"
OpExecutionMode %red_fn OriginUpperLeft
OpExecutionMode %sum_fn OriginUpperLeft
OpExecutionMode %work_fn LocalSize 8 4 1
OpName %red_out "red_out"
OpName %sum_in "sum_in"
OpName %sum_out "sum_out"
OpName %Block "Block"
OpDecorate %red_out Location 0
OpDecorate %sum_in Location 3
OpDecorate %sum_out Location 1
OpDecorate %Block Block
OpMemberDecorate %Block 0 Offset 0
OpDecorate %buffer DescriptorSet 1
OpDecorate %buffer Binding 2
%void = OpTypeVoid
%fn = OpTypeFunction %void
%float = OpTypeFloat 32
%v4 = OpTypeVector %float 4
%int = OpTypeInt 32 1
%zero = OpConstant %int 0
%one = OpConstant %float 1
%white = OpConstantComposite %v4 %one %one %one %one
%out_ptr = OpTypePointer Output %v4
%in_ptr = OpTypePointer Input %v4
%Block = OpTypeStruct %v4
%block_ptr = OpTypePointer Uniform %Block
%v4_ptr = OpTypePointer Uniform %v4
%red_out = OpVariable %out_ptr Output
%sum_out = OpVariable %out_ptr Output
%sum_in = OpVariable %in_ptr Input
%buffer = OpVariable %block_ptr Uniform
%red_fn = OpFunction %void None %fn
%a = OpLabel
OpStore %red_out %white
OpReturn
OpFunctionEnd
%sum_fn = OpFunction %void None %fn
%b = OpLabel
%place = OpAccessChain %v4_ptr %buffer %zero
%uniform = OpLoad %v4 %place
%input = OpLoad %v4 %sum_in
%sum = OpFAdd %v4 %uniform %input
OpStore %sum_out %sum
OpReturn
OpFunctionEnd
%vert_fn = OpFunction %void None %fn
%c = OpLabel
OpReturn
OpFunctionEnd
%work_fn = OpFunction %void None %fn
%d = OpLabel
OpReturn
OpFunctionEnd
)";

}  // namespace kiln::shaders
