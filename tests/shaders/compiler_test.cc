// SPDX-License-Identifier: Apache-2.0
#include "shaders/compiler.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/limits.h"
#include "proto/text.h"
#include "tests/shaders/sources.h"
#include "tests/support/status_matchers.h"

namespace kiln::shaders {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CompilerTest, ValidSourceGivesAValidModuleWithNames) {
  const StageResult result = CompileFragment(
      Fragment("uniform float unused;\nvec4 shade_me() { return vec4(1); }\n"
               "void main() { color = shade_me(); }\n"));
  EXPECT_FALSE(result.ok());  // a loose uniform is not Vulkan GLSL
  const StageResult good =
      CompileFragment(Fragment("vec4 shade_me() { return vec4(1); }\nvoid "
                               "main() { color = shade_me(); }\n"));
  ASSERT_TRUE(good.ok()) << good.diagnostics;
  EXPECT_OK(ValidateModule(good.spirv));
  EXPECT_THAT(AsText(AsBytes(std::span<const uint32_t>(good.spirv))),
              HasSubstr("shade_me"));
}

TEST(CompilerTest, SameSourceGivesTheSameWords) {
  const std::string text = Fragment("void main() { color = vec4(1); }\n");
  EXPECT_EQ(CompileFragment(text).spirv, CompileFragment(text).spirv);
}

TEST(CompilerTest, DefinesArriveAsMacrosAndDoNotMoveLines) {
  Program program = FragmentProgram(
      Fragment("void main() { color = VALUE; }\nerror here;\n"));
  program.defines = {{"VALUE", "vec4(2.0)"}, {"EMPTY", ""}};
  EXPECT_THAT(CompileStage(program, Stage::kFragment).diagnostics,
              StartsWith("main.frag:4: error"));
}

TEST(CompilerTest, StageThatTheProgramLacksIsAFailureThatNamesIt) {
  EXPECT_THAT(CompileStage(FragmentProgram(""), Stage::kVertex).diagnostics,
              HasSubstr("no vertex stage"));
}

TEST(CompilerTest, ErrorNamesTheFileAndLineOfAnInclude) {
  const StageResult result = CompileFragment(
      Fragment("#include \"lib.glsl\"\nvoid main() { color = f(); }\n"),
      {{"lib.glsl", "\n\nvec4 f() { return vec2(1); }\n"}});
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.diagnostics, StartsWith("lib.glsl:3: error"));
}

// KNOWN_FAULTS 9: glslang quotes the offending byte as it is.
TEST(CompilerTest, DiagnosticsOfInvalidBytesAreValidUtf8) {
  for (const std::string_view bytes : {"\xEF\xBB\xBF", "\xFF", "h\xF6he"}) {
    const StageResult result =
        CompileFragment(std::string(bytes) + Fragment("void main() { float ") +
                        std::string(bytes) + " = 1.0; }\n");
    EXPECT_FALSE(result.ok());
    EXPECT_NE(result.diagnostics, "");
    EXPECT_TRUE(IsValidUtf8(result.diagnostics));
  }
}

TEST(CompilerTest,
     InvalidBytesInAMacroAndAnIncludeNameAreValidUtf8InDiagnostics) {
  Program program = FragmentProgram(
      Fragment("#include \"\xFF.glsl\"\nvoid main() { color = X; }\n"));
  program.defines = {{"X", "\xFF"}};
  const StageResult result = CompileStage(program, Stage::kFragment);
  EXPECT_FALSE(result.ok());
  EXPECT_TRUE(IsValidUtf8(result.diagnostics));
}

// KNOWN_FAULTS 17: 65,000 errors are 4.6 MB of text.
TEST(CompilerTest, SixtyFiveThousandErrorsAreCappedAndCounted) {
  std::string text = Fragment("void main() {\n");
  for (int i = 0; i < 65000; ++i) {
    text += fmt::format("u{};\n", i);
  }
  const StageResult result = CompileFragment(text + "}\n");
  EXPECT_FALSE(result.ok());
  EXPECT_LE(result.diagnostics.size(), limits::kDiagnosticBytes + 100);
  EXPECT_EQ(std::ranges::count(result.diagnostics, '\n'),
            limits::kDiagnosticLines + 1);
  EXPECT_THAT(result.diagnostics, EndsWith("more lines\n"));
}

TEST(CompilerTest, EmptySourceFailsWithAMessage) {
  const StageResult result = CompileFragment("");
  EXPECT_FALSE(result.ok());
  EXPECT_NE(result.diagnostics, "");
}

// KNOWN_FAULTS 37: glslang wraps the 16-bit word count of a large constant.
TEST(CompilerTest, ModuleThatCannotBeDecodedIsRefused) {
  std::string text = Fragment("const float t[70000] = float[70000](0.0");
  for (int i = 1; i < 70000; ++i) {
    text += ",0.0";
  }
  const StageResult result =
      CompileFragment(text + ");\nvoid main() { color = vec4(t[1]); }\n");
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.diagnostics,
              HasSubstr("the compiler made invalid SPIR-V"));
  EXPECT_THAT(result.diagnostics,
              HasSubstr("main.frag:1: note: a constant array of 65533 elements "
                        "and more does not fit"));
}

TEST(CompilerTest, SpecializationIdsAreTheDeclaredOnes) {
  const StageResult result = CompileFragment(
      Fragment("layout(constant_id = 7) const uint a = 1u;\n"
               "layout(constant_id = 2) const bool unused = true;\n"
               "void main() { color = vec4(a); }\n"));
  ASSERT_TRUE(result.ok()) << result.diagnostics;
  EXPECT_THAT(SpecializationIds(result.spirv), ElementsAre(2, 7));
}

TEST(CompilerTest, WordsThatAreNoModuleAreRefused) {
  const std::vector<uint32_t> noise(64, 0xDEADBEEF);
  EXPECT_THAT(ValidateModule(noise),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ValidateModule({}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_TRUE(SpecializationIds(noise).empty());
  std::vector<uint32_t> cut =
      CompileFragment(Fragment("void main() { color = vec4(1); }\n")).spirv;
  cut.resize(cut.size() - 1);
  EXPECT_THAT(ValidateModule(cut),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CompilerTest, VersionNamesEveryPartThatMakesAModule) {
  const std::string version = CompilerVersion();
  EXPECT_THAT(version, StartsWith("shaderc "));
  EXPECT_THAT(version, HasSubstr("glslang "));
  EXPECT_THAT(version, HasSubstr("SPIRV-Tools "));
}

}  // namespace
}  // namespace kiln::shaders
