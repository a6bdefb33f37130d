// SPDX-License-Identifier: Apache-2.0

// `kiln lint` as scripts see it. What the rules find is tested in
// tests/shaders/lint_test.cc, what the schema check finds in
// tests/shaders/schema_check_test.cc.

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli_fixture.h"

namespace kiln::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kLintedToml = R"(format = 1
name = "tested"
sources = ["main.vert", "main.frag", "pick.glsl"]

[stages]
vertex = "main.vert"
fragment = "main.frag"

[features]
constant_id = 2
[[features.bit]]
bit = 0
name = "Red"
owner = "material"

[[kind]]
name = "opaque"

[[backdrop]]
name = "none"

[[blend]]
name = "alpha"

[pipeline]
color_formats = ["r8g8b8a8_unorm"]
)";

constexpr const char* kLintedVertex = "#version 460\nvoid main() {}\n";

constexpr const char* kLintedFragment = R"(#version 460
#extension GL_GOOGLE_include_directive : require
layout(constant_id = 2) const uint Features = 0x1u;
const bool UsesRed = (Features & 1u) != 0u;
#include "pick.glsl"
layout(location = 0) out vec4 color;
void main() {
  color = vec4(UsesRed ? Pick(int(gl_FragCoord.x)) : 0.0);
}
)";

constexpr const char* kPick = "float Pick(int i) { return float(i); }\n";

constexpr const char* kFaultyPick = R"(struct Light { float power; };
float Pick(int i) {
  Light lights[2];
  for (int j = 0; j < i; ++j) {
    lights[j & 1].power = 1.0;
  }
  float sum = 0.0;
  for (int j = 0; j < i; ++j) {
    sum += lights[1].power;
  }
  return sum;
}
)";

class LintCommandTest : public CliTest {
 protected:
  LintCommandTest() {
    Write("tested.program.toml", kLintedToml);
    Write("main.vert", kLintedVertex);
    Write("main.frag", kLintedFragment);
    Write("pick.glsl", kPick);
  }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  std::string Path() const {
    return (folder_ / "tested.program.toml").string();
  }
};

TEST_F(LintCommandTest, SourcesThatKeepTheRulesExitWithZero) {
  const CommandResult result = Run({"lint", Path()});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, ElementsAre("tested: no findings"));
  EXPECT_EQ(result.err, "");
  const auto objects = RunJson({"lint", Path()}, 0);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0]["program"], "tested");
  EXPECT_EQ(objects[0]["findings"], 0);
  EXPECT_EQ(objects[0]["schema_findings"], 0);
}

TEST_F(LintCommandTest, EachFindingIsALineWithItsPlaceAndExitsWithOne) {
  Write("pick.glsl", kFaultyPick);
  const CommandResult result = Run({"lint", Path()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(
      result.out,
      ElementsAre(
          StartsWith("pick.glsl:5: dynamic-local-array: local array 'lights'"),
          AllOf(StartsWith("pick.glsl:9: struct-array-across-loops: array of "
                           "structs 'lights', written in the loop at "
                           "pick.glsl:4")),
          "tested: 2 findings"));
}

TEST_F(LintCommandTest, EachFindingIsAnObjectWithJson) {
  Write("pick.glsl", kFaultyPick);
  const auto objects = RunJson({"lint", Path()}, 1);
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(objects[0]["file"], "pick.glsl");
  EXPECT_EQ(objects[0]["line"], 5);
  EXPECT_EQ(objects[0]["rule"], "dynamic-local-array");
  EXPECT_EQ(objects[0]["symbol"], "lights");
  EXPECT_THAT(objects[0]["message"], HasSubstr("'lights'"));
  EXPECT_EQ(objects[1]["rule"], "struct-array-across-loops");
  EXPECT_EQ(objects[2]["findings"], 2);
}

TEST_F(LintCommandTest, SchemaThatTheTextContradictsExitsWithOne) {
  std::string fragment = kLintedFragment;
  fragment.replace(fragment.find("UsesRed = (Features & 1u)"), 25,
                   "UsesRed = (Features & 2u)");
  Write("main.frag", fragment);
  const CommandResult result = Run({"lint", Path()});
  EXPECT_EQ(result.exit_code, 1);
  ASSERT_GE(result.out.size(), 2u);
  EXPECT_THAT(result.out.front(),
              AllOf(StartsWith("schema: "), HasSubstr("Red")));
  EXPECT_THAT(result.out.back(), StartsWith("tested: "));
  const auto objects = RunJson({"lint", Path()}, 1);
  EXPECT_EQ(objects.front()["rule"], "schema");
  EXPECT_EQ(objects.back()["schema_findings"], objects.size() - 1);
}

TEST_F(LintCommandTest, SourceThatDoesNotCompileExitsWithTwo) {
  Write("pick.glsl", "float Pick(int i) {\n  return nothing; }\n");
  const CommandResult result = Run({"lint", Path()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(result.out.empty());
  EXPECT_THAT(result.err, StartsWith("kiln: pick.glsl:2: error: 'nothing'"));
}

TEST_F(LintCommandTest, ProgramThatIsNotThereExitsWithTwo) {
  const CommandResult result =
      Run({"lint", (folder_ / "other.program.toml").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("other.program.toml"));
  EXPECT_EQ(RunJson({"lint"}, 2).size(), 1u);
}

TEST_F(LintCommandTest, HelpHasExamples) {
  const CommandResult result = Run({"lint", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(::testing::PrintToString(result.out),
              AllOf(HasSubstr("Examples:"), HasSubstr("kiln lint scene")));
}

}  // namespace
}  // namespace kiln::testing
