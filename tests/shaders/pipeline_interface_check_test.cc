// SPDX-License-Identifier: Apache-2.0

// Modules that the program's pipeline cannot serve. RADV crashed over the first
// of these ("compiler crashed (signal 11)"), and lavapipe drew something.

#include "shaders/pipeline_interface_check.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program_file.h"
#include "tests/shaders/sources.h"
#include "tests/support/status_matchers.h"

namespace kiln::shaders {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string FaultsOf(const Program& program) {
  const StageSource& source = program.stages.front();
  const StageResult made = CompileStage(program, source.stage);
  EXPECT_TRUE(made.ok()) << made.diagnostics;
  return PipelineFaults(program, source, made.spirv);
}

Program WithDescriptors(std::string text, std::vector<Descriptor> descriptors,
                        std::vector<SourceFile> files = {}) {
  Program program = FragmentProgram(std::move(text), std::move(files));
  program.pipeline.descriptors = std::move(descriptors);
  return program;
}

Program VertexProgram(std::string body,
                      std::vector<VertexAttribute> attributes) {
  Program program;
  program.name = "test";
  program.stages = {{Stage::kVertex, "main.vert"}};
  program.files = {{"main.vert", "#version 450\n" + std::move(body)}};
  program.pipeline.vertex_attributes = std::move(attributes);
  return program;
}

std::string Sampling(std::string_view declaration) {
  return Fragment(std::string(declaration) +
                  "\nvoid main() { color = texture(t, vec2(0.5)); }\n");
}

constexpr std::string_view kTexture =
    "layout(set = 1, binding = 3) uniform sampler2D t;";
const std::vector<Stage> kFragmentOnly = {Stage::kFragment};

TEST(PipelineInterfaceTest, BindingThatThePipelineLacksIsNamedWithItsLine) {
  EXPECT_THAT(FaultsOf(WithDescriptors(Sampling(kTexture), {})),
              AllOf(StartsWith("main.frag:3: error: 't' uses set 1, binding 3"),
                    HasSubstr("no [[descriptor]]"),
                    HasSubstr("combined_image_sampler")));
  EXPECT_EQ(FaultsOf(WithDescriptors(
                Sampling(kTexture),
                {{1, 3, "combined_image_sampler", 1, kFragmentOnly}})),
            "");
}

TEST(PipelineInterfaceTest, BindingOfAnIncludeIsNamedWithThatFile) {
  EXPECT_THAT(FaultsOf(WithDescriptors(
                  Fragment("#extension GL_GOOGLE_include_directive : require\n"
                           "#include \"lib/t.glsl\"\n"
                           "void main() { color = texture(t, vec2(0.5)); }\n"),
                  {}, {{"lib/t.glsl", "\n\n" + std::string(kTexture) + "\n"}})),
              StartsWith("lib/t.glsl:3: error: 't' uses set 1, binding 3"));
}

TEST(PipelineInterfaceTest, TypeCountAndStageMustFit) {
  EXPECT_THAT(
      FaultsOf(WithDescriptors(Sampling(kTexture),
                               {{1, 3, "storage_buffer", 1, kFragmentOnly}})),
      HasSubstr("as combined_image_sampler; the program's "
                "[[descriptor]] there is storage_buffer"));
  EXPECT_THAT(FaultsOf(WithDescriptors(
                  Sampling(kTexture),
                  {{1, 3, "combined_image_sampler", 1, {Stage::kVertex}}})),
              HasSubstr("not for the fragment stage"));
  const std::string array = Fragment(
      "layout(set = 0, binding = 0) uniform sampler2D many[4];\n"
      "void main() { color = texture(many[3], vec2(0.5)); }\n");
  EXPECT_THAT(FaultsOf(WithDescriptors(
                  array, {{0, 0, "combined_image_sampler", 3, kFragmentOnly}})),
              HasSubstr("as an array of 4; the program's [[descriptor]] there "
                        "has 3"));
  EXPECT_EQ(FaultsOf(WithDescriptors(
                array, {{0, 0, "combined_image_sampler", 4, kFragmentOnly}})),
            "");
}

TEST(PipelineInterfaceTest, TypesThatVulkanLetsServeAnotherFit) {
  const std::string text = Fragment(
      "layout(set = 0, binding = 0) uniform U { vec4 u; };\n"
      "layout(set = 0, binding = 1) buffer B { vec4 b; };\n"
      "layout(set = 0, binding = 2) uniform texture2D t;\n"
      "layout(set = 0, binding = 2) uniform sampler s;\n"
      "void main() { color = u + b + texture(sampler2D(t, s), u.xy); }\n");
  EXPECT_EQ(FaultsOf(WithDescriptors(
                text, {{0, 0, "uniform_buffer_dynamic", 1, kFragmentOnly},
                       {0, 1, "storage_buffer_dynamic", 1, kFragmentOnly},
                       {0, 2, "combined_image_sampler", 1, kFragmentOnly}})),
            "");
}

// Vulkan asks for what code names, whether or not it is reached.
TEST(PipelineInterfaceTest, DeclarationThatNoCodeUsesIsLegal) {
  EXPECT_EQ(FaultsOf(WithDescriptors(
                Fragment(std::string(kTexture) +
                         "\nlayout(push_constant) uniform P { vec4 p; };\n"
                         "void main() { color = vec4(1.0); }\n"),
                {})),
            "");
  EXPECT_THAT(FaultsOf(WithDescriptors(
                  Fragment("layout(constant_id = 0) const bool On = false;\n" +
                           std::string(kTexture) +
                           "\nvec4 far() { return texture(t, vec2(0.5)); }\n"
                           "void main() { color = vec4(1.0);\n"
                           "  if (On) color = far(); }\n"),
                  {})),
              StartsWith("main.frag:4: error: 't' uses set 1, binding 3"));
}

TEST(PipelineInterfaceTest, PushConstantsMustFit) {
  Program program = FragmentProgram(
      Fragment("layout(push_constant) uniform P { vec4 a; float b; } push;\n"
               "void main() { color = push.a * push.b; }\n"));
  EXPECT_THAT(FaultsOf(program),
              StartsWith("main.frag:3: error: 'push' is a push constant; the "
                         "program's [push_constants] are not for"));
  program.pipeline.push_constant_stages = kFragmentOnly;
  program.pipeline.push_constant_bytes = 16;
  EXPECT_THAT(FaultsOf(program),
              HasSubstr("'push' ends at byte 20 of the push constants; the "
                        "program's [push_constants] have 16"));
  program.pipeline.push_constant_bytes = 20;
  EXPECT_EQ(FaultsOf(program), "");
}

TEST(PipelineInterfaceTest, VertexInputsMustBeThere) {
  const std::string text =
      "layout(location = 0) in vec3 at;\n"
      "layout(location = 2) in uint id;\n"
      "layout(location = 7) in vec4 unread;\n"
      "void main() { gl_Position = vec4(at, float(id)); }\n";
  EXPECT_THAT(
      FaultsOf(VertexProgram(text, {{0, 0, "r32g32b32_sfloat", 0}})),
      StartsWith("main.vert:3: error: vertex input 'id' reads location 2, "
                 "which the program has no [[vertex_attribute]] for"));
  EXPECT_THAT(FaultsOf(VertexProgram(text, {{0, 0, "r32g32b32_sfloat", 0},
                                            {2, 0, "r32_sfloat", 12}})),
              HasSubstr("'id' at location 2 is uint; the program's "
                        "[[vertex_attribute]] there is r32_sfloat"));
  EXPECT_EQ(FaultsOf(VertexProgram(
                text, {{0, 0, "r32g32b32_sfloat", 0}, {2, 0, "r32_uint", 12}})),
            "");
}

TEST(PipelineInterfaceTest, MatrixInputNeedsEveryColumn) {
  const std::string text =
      "layout(location = 1) in mat3 m;\n"
      "void main() { gl_Position = vec4(m[2], 1.0); }\n";
  EXPECT_THAT(FaultsOf(VertexProgram(text, {{1, 0, "r32g32b32_sfloat", 0},
                                            {2, 0, "r32g32b32_sfloat", 12}})),
              HasSubstr("reads location 3"));
}

TEST(PipelineInterfaceTest, HlslIsHeldToTheSame) {
  Program program;
  program.name = "test";
  program.stages = {{Stage::kFragment, "main.hlsl", Language::kHlsl, "main"}};
  program.files = {{"main.hlsl",
                    "Texture2D albedo : register(t1, space2);\n"
                    "SamplerState smooth : register(s0);\n"
                    "float4 main(float2 uv : TEXCOORD0) : SV_Target {\n"
                    "  return albedo.Sample(smooth, uv); }\n"}};
  program.pipeline.descriptors = {{0, 0, "sampler", 1, kFragmentOnly}};
  EXPECT_THAT(FaultsOf(program),
              StartsWith("main.hlsl:1: error: 'albedo' uses set 2, binding 1"));
}

// Their authors have been through this, driver by driver.
TEST(PipelineInterfaceTest, ProgramsOfThisRepositoryFit) {
  size_t programs = 0;
  const std::filesystem::path shaders =
      std::filesystem::path(KILN_SOURCE_DIR) / "shaders";
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(shaders)) {
    if (!entry.path().string().ends_with(".program.toml")) {
      continue;
    }
    ASSERT_OK_AND_ASSIGN(const Program program, LoadProgramFile(entry.path()));
    if (program.rooted) {
      continue;
    }
    ++programs;
    for (const StageSource& source : program.stages) {
      const StageResult made = CompileStage(program, source.stage);
      ASSERT_TRUE(made.ok()) << entry.path() << "\n" << made.diagnostics;
      EXPECT_EQ(PipelineFaults(program, source, made.spirv), "")
          << entry.path();
    }
  }
  EXPECT_GT(programs, 1u);
}

}  // namespace
}  // namespace kiln::shaders
