// SPDX-License-Identifier: Apache-2.0

// What engines are told of a module, whatever language it came from.

#include "shaders/interface_reflection.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spirv-tools/optimizer.hpp>

#include "tests/shaders/assembly.h"
#include "tests/shaders/constant_programs.h"
#include "tests/support/status_matchers.h"

namespace kiln {

// What GoogleTest shows of a mismatch.
void PrintTo(const InterfaceBinding& b, std::ostream* out) {
  *out << b.name << " set " << b.set << " binding " << b.binding << " "
       << b.type << " x" << b.count;
}

void PrintTo(const InterfaceVariable& v, std::ostream* out) {
  *out << v.name << " at " << v.location << "." << v.component << " " << v.type
       << " x" << v.count;
}

void PrintTo(const PushConstantMember& m, std::ostream* out) {
  *out << m.name << " at " << m.offset_bytes << ", " << m.size_bytes;
}

}  // namespace kiln

namespace kiln::shaders {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ModuleInterface Reflect(std::span<const uint32_t> spirv,
                        Stage stage = Stage::kFragment,
                        std::string_view entry = "main") {
  const auto interface = ReflectInterface(spirv, stage, entry);
  EXPECT_OK(interface);
  return interface.value_or(ModuleInterface());
}

ModuleInterface ReflectFragment(std::string_view body) {
  return Reflect(FragmentModule(body));
}

ModuleInterface ReflectVertex(std::string text) {
  Program program;
  program.name = "test";
  program.stages = {{Stage::kVertex, "main.vert"}};
  program.files = {{"main.vert", std::move(text)}};
  return Reflect(ModuleOf(program, Stage::kVertex), Stage::kVertex);
}

TEST(InterfaceReflectionTest, EveryKindOfDescriptorHasItsVulkanType) {
  const ModuleInterface interface =
      Reflect(ModuleOf(FragmentProgram(R"(#version 460
#extension GL_EXT_ray_query : require
layout(location = 0) out vec4 color;
#extension GL_EXT_nonuniform_qualifier : require
layout(set = 1, binding = 0) uniform Camera { mat4 view; } camera;
layout(set = 0, binding = 9) uniform accelerationStructureEXT scene;
layout(set = 0, binding = 8, input_attachment_index = 0) uniform subpassInput depth;
layout(set = 0, binding = 7, rgba8) uniform imageBuffer storage_texels;
layout(set = 0, binding = 6) uniform textureBuffer plain_texels;
layout(set = 0, binding = 5) uniform samplerBuffer texels;
layout(set = 0, binding = 4, rgba8) uniform image2D target;
layout(set = 0, binding = 3) uniform sampler smooth_sampler;
layout(set = 0, binding = 2) uniform texture2D images[8];
layout(set = 0, binding = 1) uniform sampler2D albedo;
layout(set = 0, binding = 0) buffer Lights { vec4 light[]; };
layout(set = 2, binding = 0) uniform sampler2D heap[];
void main() {
  rayQueryEXT query;
  rayQueryInitializeEXT(query, scene, 0u, 0xff, vec3(0), 0.0, vec3(1), 1.0);
  color = camera.view[0] + subpassLoad(depth) + imageLoad(storage_texels, 0) +
          texelFetch(plain_texels, 0) + texelFetch(texels, 0) +
          imageLoad(target, ivec2(0)) + texture(albedo, vec2(0)) + light[0] +
          texture(sampler2D(images[1], smooth_sampler), vec2(0)) +
          texture(heap[int(gl_FragCoord.x)], vec2(0));
})"),
                       Stage::kFragment));
  using B = InterfaceBinding;
  EXPECT_THAT(interface.bindings,
              ElementsAre(B{"Lights", 0, 0, "storage_buffer", 1},
                          B{"albedo", 0, 1, "combined_image_sampler", 1},
                          B{"images", 0, 2, "sampled_image", 8},
                          B{"smooth_sampler", 0, 3, "sampler", 1},
                          B{"target", 0, 4, "storage_image", 1},
                          B{"texels", 0, 5, "uniform_texel_buffer", 1},
                          B{"plain_texels", 0, 6, "uniform_texel_buffer", 1},
                          B{"storage_texels", 0, 7, "storage_texel_buffer", 1},
                          B{"depth", 0, 8, "input_attachment", 1},
                          B{"scene", 0, 9, "acceleration_structure_khr", 1},
                          B{"camera", 1, 0, "uniform_buffer", 1},
                          B{"heap", 2, 0, "combined_image_sampler", 0}));
}

TEST(InterfaceReflectionTest, BindingThatNoCodeUsesIsStillDeclared) {
  EXPECT_THAT(ReflectFragment("layout(set = 3, binding = 5) uniform sampler2D "
                              "unused;\nvoid main() { color = vec4(1); }")
                  .bindings,
              ElementsAre(InterfaceBinding{"unused", 3, 5,
                                           "combined_image_sampler", 1}));
}

TEST(InterfaceReflectionTest, ArraySizedByAConstantHasItsDefaultSize) {
  EXPECT_THAT(
      ReflectFragment(
          "layout(constant_id = 1) const int n = 3;\n"
          "layout(set = 0, binding = 0) uniform sampler2D images[n * 2 + 1];\n"
          "void main() { color = texture(images[0], vec2(0)); }")
          .bindings,
      ElementsAre(
          InterfaceBinding{"images", 0, 0, "combined_image_sampler", 7}));
}

// SPIRV-Cross would abort: see reflection_test.cc.
TEST(InterfaceReflectionTest, ArraySizedBehindASwizzleHasItsDefaultSize) {
  EXPECT_THAT(
      ReflectFragment(
          "layout(constant_id = 1) const int n = 3;\n"
          "const ivec2 sizes = ivec2(n, n + 1).yx;\n"
          "layout(set = 0, binding = 0) uniform sampler2D images[sizes.x];\n"
          "void main() { color = texture(images[0], vec2(0)); }")
          .bindings,
      ElementsAre(
          InterfaceBinding{"images", 0, 0, "combined_image_sampler", 4}));
}

TEST(InterfaceReflectionTest, PushConstantMembersHaveOffsetsAndSizes) {
  EXPECT_THAT(
      ReflectFragment(
          "struct Inner { vec3 a; float b; };\n"
          "layout(push_constant) uniform Push {\n"
          "  layout(offset = 16) vec4 tint; mat3 turn; float weights[3];\n"
          "  Inner inner; uint mode; } push;\n"
          "void main() { color = push.tint * push.turn[0][0] * push.weights[1] "
          "* push.inner.b * float(push.mode); }")
          .push_constants,
      ElementsAre(PushConstantMember{"tint", 16, 16},
                  PushConstantMember{"turn", 32, 48},
                  PushConstantMember{"weights", 80, 12},
                  PushConstantMember{"inner", 96, 16},
                  PushConstantMember{"mode", 112, 4}));
}

TEST(InterfaceReflectionTest, PointerInPushConstantsHasEightBytes) {
  EXPECT_THAT(ReflectFragment(R"(
#extension GL_EXT_buffer_reference : require
layout(buffer_reference) buffer Data { vec4 value; };
layout(push_constant) uniform Push { Data data; uint mode; };
void main() { color = data.value * float(mode); })")
                  .push_constants,
              ElementsAre(PushConstantMember{"data", 0, 8},
                          PushConstantMember{"mode", 8, 4}));
}

TEST(InterfaceReflectionTest, InputsAndOutputsOfEveryShapeHaveTheirLocations) {
  const ModuleInterface interface = ReflectVertex(R"(#version 450
layout(location = 0) in vec3 position;
layout(location = 1) in mat4 turn;
layout(location = 5) in uvec2 ids;
layout(location = 6) in float weights[3];
layout(location = 9) in dvec4 wide;
layout(location = 11) in mat2x3 small;
layout(location = 0) out vec2 uv;
layout(location = 0, component = 2) out vec2 uv2;
struct Light { vec3 colour; float reach; };
layout(location = 2) out Light lights[2];
layout(location = 8) out Surface { vec4 normal; layout(location = 12) flat int kind; float rest; } surface;
void main() { gl_Position = turn * vec4(position, 1); uv = vec2(ids); uv2 = uv;
  lights[0] = Light(vec3(wide.xyz), weights[0]); lights[1] = lights[0];
  surface.normal = small[0].xyzz; surface.kind = 1; surface.rest = 1.0; }
)");
  using V = InterfaceVariable;
  EXPECT_THAT(
      interface.inputs,
      ElementsAre(V{"position", 0, 0, "vec3", 1}, V{"turn", 1, 0, "mat4", 1},
                  V{"ids", 5, 0, "uvec2", 1}, V{"weights", 6, 0, "float", 3},
                  V{"wide", 9, 0, "dvec4", 1}, V{"small", 11, 0, "mat2x3", 1}));
  EXPECT_THAT(interface.outputs,
              ElementsAre(V{"uv", 0, 0, "vec2", 1}, V{"uv2", 0, 2, "vec2", 1},
                          V{"lights[0].colour", 2, 0, "vec3", 1},
                          V{"lights[0].reach", 3, 0, "float", 1},
                          V{"lights[1].colour", 4, 0, "vec3", 1},
                          V{"lights[1].reach", 5, 0, "float", 1},
                          V{"surface.normal", 8, 0, "vec4", 1},
                          V{"surface.kind", 12, 0, "int", 1},
                          V{"surface.rest", 13, 0, "float", 1}));
}

TEST(InterfaceReflectionTest, BuiltInsAreNoInputs) {
  const ModuleInterface interface =
      ReflectFragment("void main() { color = gl_FragCoord; }");
  EXPECT_THAT(interface.inputs, IsEmpty());
  EXPECT_THAT(interface.outputs,
              ElementsAre(InterfaceVariable{"color", 0, 0, "vec4", 1}));
}

TEST(InterfaceReflectionTest, ConstantsHaveTypeDefaultAndUse) {
  const ModuleInterface interface = ReflectFragment(
      "layout(constant_id = 4) const float scale = 0.5;\n"
      "layout(constant_id = 2) const bool unused = true;\n"
      "void main() { color = vec4(scale); }");
  EXPECT_EQ(interface.constants,
            (std::vector<InterfaceConstant>{
                {2, "unused", ConstantType::kBool, 1, false},
                {4, "scale", ConstantType::kFloat32, 0x3f000000, true}}));
}

TEST(InterfaceReflectionTest, WorkgroupHasItsSizeAndTheConstantsThatSetIt) {
  const ModuleInterface fixed =
      Reflect(ComputeModule("layout(local_size_x = 8, local_size_y = 4) in;"),
              Stage::kCompute);
  EXPECT_THAT(fixed.workgroup_size, ElementsAre(8, 4, 1));
  EXPECT_THAT(fixed.workgroup_size_ids,
              ElementsAre(std::nullopt, std::nullopt, std::nullopt));
  const ModuleInterface open = Reflect(
      ComputeModule(
          "layout(local_size_x = 32, local_size_x_id = 7, local_size_y = 2, "
          "local_size_z_id = 0) in;"),
      Stage::kCompute);
  EXPECT_THAT(open.workgroup_size, ElementsAre(32, 2, 1));
  EXPECT_THAT(open.workgroup_size_ids, ElementsAre(7, std::nullopt, 0));
  EXPECT_THAT(
      ReflectFragment("void main() { color = vec4(1); }").workgroup_size,
      ElementsAre(0, 0, 0));
}

// A size that is computed from a constant is set by no constant itself.
TEST(InterfaceReflectionTest, WorkgroupSizeThatIsComputedHasAValueAndNoId) {
  const ModuleInterface interface = Reflect(Assemble(R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionModeId %main LocalSizeId %twice %one %n
OpDecorate %n SpecId 3
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%one = OpConstant %uint 1
%n = OpSpecConstant %uint 4
%twice = OpSpecConstantOp %uint IAdd %n %n
%main = OpFunction %void None %fn
%label = OpLabel
OpReturn
OpFunctionEnd)",
                                                     SPV_ENV_VULKAN_1_3),
                                            Stage::kCompute);
  EXPECT_THAT(interface.workgroup_size, ElementsAre(8, 1, 4));
  EXPECT_THAT(interface.workgroup_size_ids,
              ElementsAre(std::nullopt, std::nullopt, 3));
}

TEST(InterfaceReflectionTest, EachOfSeveralEntryPointsHasItsOwnInterface) {
  // From SPIR-V 1.4 on an entry point lists all that it uses.
  std::string listed(kManyEntries);
  listed.replace(listed.find("%sum_out"), 8, "%sum_out %buffer");
  for (const std::vector<uint32_t>& many :
       {Assemble(kManyEntries), Assemble(listed, SPV_ENV_VULKAN_1_3)}) {
    using V = InterfaceVariable;
    const ModuleInterface red = Reflect(many, Stage::kFragment, "red");
    EXPECT_EQ(red.entry_point, "red");
    EXPECT_THAT(red.bindings, IsEmpty());
    EXPECT_THAT(red.outputs, ElementsAre(V{"red_out", 0, 0, "vec4", 1}));
    const ModuleInterface sum = Reflect(many, Stage::kFragment, "sum");
    EXPECT_THAT(sum.bindings, ElementsAre(InterfaceBinding{
                                  "Block", 1, 2, "uniform_buffer", 1}));
    EXPECT_THAT(sum.inputs, ElementsAre(V{"sum_in", 3, 0, "vec4", 1}));
    EXPECT_THAT(sum.outputs, ElementsAre(V{"sum_out", 1, 0, "vec4", 1}));
    EXPECT_THAT(Reflect(many, Stage::kVertex, "red").outputs, IsEmpty());
    EXPECT_THAT(Reflect(many, Stage::kCompute, "work").workgroup_size,
                ElementsAre(8, 4, 1));
  }
}

TEST(InterfaceReflectionTest, HlslIsReflectedByItsOwnNames) {
  Program program;
  program.name = "test";
  program.stages = {{Stage::kFragment, "main.hlsl", Language::kHlsl, "shade"}};
  program.files = {{"main.hlsl", R"(
struct Push { float4 tint; int mode; };
[[vk::push_constant]] ConstantBuffer<Push> push;
Texture2D albedo : register(t1);
SamplerState smooth : register(s2, space1);
cbuffer Camera : register(b3) { float4 eye; };
StructuredBuffer<float4> lights : register(t4);
RWStructuredBuffer<float4> log : register(u5);
Buffer<float4> texels : register(t6);
RWTexture2D<float4> image : register(u7);
[[vk::constant_id(7)]] const uint Features = 3;
float4 shade(float2 uv : TEXCOORD0, nointerpolation uint kind : KIND) : SV_Target1 {
  log[0] = eye;
  return albedo.Sample(smooth, uv) * push.tint + lights[kind] + texels[0] +
         image[uint2(0, 0)] + Features;
})"}};
  const ModuleInterface interface =
      Reflect(ModuleOf(program, Stage::kFragment), Stage::kFragment, "shade");
  using B = InterfaceBinding;
  EXPECT_THAT(interface.bindings,
              ElementsAre(B{"albedo", 0, 1, "sampled_image", 1},
                          B{"Camera", 0, 3, "uniform_buffer", 1},
                          B{"lights", 0, 4, "storage_buffer", 1},
                          B{"log", 0, 5, "storage_buffer", 1},
                          B{"texels", 0, 6, "uniform_texel_buffer", 1},
                          B{"image", 0, 7, "storage_image", 1},
                          B{"smooth", 1, 2, "sampler", 1}));
  EXPECT_THAT(interface.push_constants,
              ElementsAre(PushConstantMember{"tint", 0, 16},
                          PushConstantMember{"mode", 16, 4}));
  using V = InterfaceVariable;
  EXPECT_THAT(interface.inputs, ElementsAre(V{"uv", 0, 0, "vec2", 1},
                                            V{"kind", 1, 0, "uint", 1}));
  EXPECT_THAT(interface.outputs,
              ElementsAre(V{"@entryPointOutput", 1, 0, "vec4", 1}));
  EXPECT_EQ(interface.constants,
            (std::vector<InterfaceConstant>{
                {7, "Features", ConstantType::kUint32, 3, true}}));
}

TEST(InterfaceReflectionTest, DescriptorsOfTwoTypesAtOneBindingAreWarnedOf) {
  const StageSource source{Stage::kFragment, "a.hlsl", Language::kHlsl};
  ModuleInterface interface;
  interface.bindings = {{"a", 0, 0, "sampler", 1},
                        {"b", 0, 1, "sampled_image", 1},
                        {"c", 0, 1, "sampled_image", 1},
                        {"d", 1, 1, "sampler", 1}};
  EXPECT_EQ(SharedBindingWarnings(source, interface), "");
  interface.bindings[2].type = "sampler";
  EXPECT_THAT(SharedBindingWarnings(source, interface),
              HasSubstr("a.hlsl:1: warning: `b` (sampled_image) and `c` "
                        "(sampler) are both set 0, binding 1; t0, s0"));
}

TEST(InterfaceReflectionTest, StrippedModuleHasEverythingButNames) {
  const std::vector<uint32_t> spirv = FragmentModule(
      "layout(set = 0, binding = 1) uniform sampler2D albedo;\n"
      "layout(constant_id = 2) const float scale = 1.0;\n"
      "layout(push_constant) uniform Push { vec4 tint; };\n"
      "layout(location = 1) in vec2 uv;\n"
      "void main() { color = texture(albedo, uv) * scale * tint; }");
  spvtools::Optimizer optimizer(SPV_ENV_VULKAN_1_3);
  optimizer.RegisterPass(spvtools::CreateStripDebugInfoPass());
  std::vector<uint32_t> stripped;
  ASSERT_TRUE(optimizer.Run(spirv.data(), spirv.size(), &stripped));
  ModuleInterface expected = Reflect(spirv);
  expected.bindings[0].name.clear();
  expected.constants[0].name.clear();
  expected.push_constants[0].name.clear();
  expected.inputs[0].name.clear();
  expected.outputs[0].name.clear();
  EXPECT_EQ(Reflect(stripped), expected);
}

TEST(InterfaceReflectionTest, EntryPointThatIsNotThereIsRefused) {
  EXPECT_THAT(ReflectInterface(Assemble(kManyEntries), Stage::kVertex, "sum"),
              StatusIs(absl::StatusCode::kInvalidArgument, "stage mismatch"));
  EXPECT_THAT(
      ReflectInterface({}, Stage::kVertex, "main"),
      StatusIs(absl::StatusCode::kInvalidArgument, "the module has none"));
}

// Damage that the validator accepts must not take the process along.
TEST(InterfaceReflectionTest, WhateverValidatesIsReflectedOrRefused) {
  const std::vector<uint32_t> modules[] = {
      FragmentModule(
          "layout(constant_id = 1) const int n = 3;\n"
          "layout(set = 0, binding = 0) uniform sampler2D images[n + 1];\n"
          "layout(set = 0, binding = 1) buffer B { vec4 a[]; };\n"
          "layout(push_constant) uniform P { vec4 tint; mat3 turn; };\n"
          "layout(location = 0) in struct { vec4 a; float b[2]; } part;\n"
          "void main() { color = texture(images[0], part.a.xy) * tint * "
          "turn[0][0] * part.b[0] + a[0]; }"),
      ComputeModule("layout(local_size_x_id = 7, local_size_y = 2) in;"),
      Assemble(kManyEntries)};
  std::mt19937 random(1);
  size_t valid = 0;
  for (const std::vector<uint32_t>& module : modules) {
    for (int round = 0; round < 3000; ++round) {
      std::vector<uint32_t> damaged = module;
      const size_t at = 5 + random() % (damaged.size() - 5);
      damaged[at] = random() % 2 == 0 ? random() % 80
                                      : damaged[random() % damaged.size()];
      if (!ValidateModule(damaged).ok()) {
        continue;
      }
      ++valid;
      for (const Stage stage :
           {Stage::kVertex, Stage::kFragment, Stage::kCompute}) {
        for (const char* entry : {"main", "red", "sum", "work"}) {
          const auto interface = ReflectInterface(damaged, stage, entry);
          if (interface.ok()) {
            const auto again = DecodeInterface(EncodeInterface(*interface));
            ASSERT_OK(again);
            ASSERT_EQ(*again, *interface);
          }
        }
      }
    }
  }
  EXPECT_GT(valid, 500u);
}

}  // namespace
}  // namespace kiln::shaders
