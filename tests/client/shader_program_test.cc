// SPDX-License-Identifier: Apache-2.0
#include "client/shader_program.h"

#include <string>

#include <gtest/gtest.h>

#include "proto/digest.h"
#include "tests/support/status_matchers.h"

namespace kiln::client {
namespace {

TEST(ShaderProgramTest, PathIsARecipeOfOneStage) {
  ShaderSource source;
  source.path = "/engine/fx/lit.frag";
  const Program program = ShaderProgram(source);
  EXPECT_OK(program.Validate());
  EXPECT_TRUE(program.rooted);
  EXPECT_TRUE(program.IsShader());
  EXPECT_TRUE(program.files.empty());
  ASSERT_EQ(program.stages.size(), 1u);
  EXPECT_EQ(program.stages[0].path, "/engine/fx/lit.frag");
  EXPECT_EQ(program.name, "engine:fx:lit.frag");
}

TEST(ShaderProgramTest, TextIsAWholeProgramWhoseFileIsTheDebugName) {
  ShaderSource source;
  source.text = "void main() {}";
  source.stage = Stage::kCompute;
  source.debug_name = "night blur";
  Program program = ShaderProgram(source);
  EXPECT_OK(program.Validate());
  EXPECT_FALSE(program.rooted);
  EXPECT_EQ(program.name, "night_blur");
  ASSERT_EQ(program.files.size(), 1u);
  EXPECT_EQ(program.files[0].path, "night blur");
  EXPECT_EQ(program.files[0].text, "void main() {}");
  source.debug_name = "";
  program = ShaderProgram(source);
  EXPECT_OK(program.Validate());
  EXPECT_EQ(program.files[0].path, "shader.comp");
}

TEST(ShaderProgramTest, EveryDebugNameMakesAValidProgram) {
  for (const std::string& name :
       {std::string("/tmp/a//b.frag"), std::string("../../etc/passwd"),
        std::string("./."), std::string("a\nb\t|c"), std::string("\xff\xfe"),
        std::string(1000, 'x'), std::string("a/") + std::string(400, '/'),
        std::string("nul\0nul", 7)}) {
    ShaderSource source;
    source.debug_name = name;
    source.text = "void main() {}";
    EXPECT_OK(ShaderProgram(source).Validate()) << name;
    source.text.reset();
    source.path = "lit.frag";
    EXPECT_OK(ShaderProgram(source).Validate()) << name;
  }
}

TEST(ShaderProgramTest, DebugNameIsInFrontOfWhatACompilerSaid) {
  EXPECT_EQ(NamedDiagnostics("night lit", "a.glsl:3: error"),
            "in night lit:\na.glsl:3: error");
  EXPECT_EQ(NamedDiagnostics("", "a.glsl:3: error"), "a.glsl:3: error");
  EXPECT_EQ(NamedDiagnostics("night lit", ""), "");
  EXPECT_EQ(NamedDiagnostics("two\nlines\xff", "x"),
            "in two_lines\xEF\xBF\xBD:\nx");
}

TEST(ShaderProgramTest, OrderOfDefinesDoesNotMatterAndTheirValuesDo) {
  ShaderSource source;
  source.path = "lit.frag";
  source.defines = {{"B", "2"}, {"A", "1"}};
  const Digest id = Digest::Of(EncodeProgram(ShaderProgram(source)));
  source.defines = {{"A", "1"}, {"B", "2"}};
  EXPECT_EQ(Digest::Of(EncodeProgram(ShaderProgram(source))), id);
  source.defines[1].value = "3";
  EXPECT_NE(Digest::Of(EncodeProgram(ShaderProgram(source))), id);
}

TEST(ShaderProgramTest, StageIsSaidByTheEndOfTheName) {
  EXPECT_EQ(StageOfPath("/engine/lit.frag"), Stage::kFragment);
  EXPECT_EQ(StageOfPath("lit.vert"), Stage::kVertex);
  EXPECT_EQ(StageOfPath("a/blur.comp.glsl"), Stage::kCompute);
  EXPECT_EQ(StageOfPath("lit.frag.hlsl"), Stage::kFragment);
  EXPECT_EQ(StageOfPath("lit.frag.spv"), Stage::kFragment);
  for (const char* none : {"lit.glsl", "lit.hlsl", "lit", "frag", ".frag",
                           "a/.frag", "lit.frag.txt", "lit.FRAG", ""}) {
    EXPECT_EQ(StageOfPath(none), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace kiln::client
