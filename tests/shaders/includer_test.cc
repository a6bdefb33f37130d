// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/includer.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/limits.h"
#include "tests/shaders/sources.h"
#include "tests/support/status_matchers.h"

namespace kiln::shaders {
namespace {

using ::kiln::sources::IncludeForm;
using ::kiln::sources::Includer;
using ::kiln::testing::kInvalid;
using ::kiln::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string FragmentThatIncludes(std::string_view lines,
                                 std::string_view value = "1.0") {
  return fmt::format("{}{}\nvoid main() {{ color = vec4({}); }}\n",
                     kFragmentHead, lines, value);
}

TEST(IncluderTest, QuotedNameIsFoundBesideTheIncluderFirst) {
  const Program program = FragmentProgram(
      "", {{"a/x.glsl", "beside"}, {"x.glsl", "root"}, {"a/y.glsl", ""}});
  Includer includer(program, "a/y.glsl");
  ASSERT_OK_AND_ASSIGN(auto file,
                       includer.Open("x.glsl", IncludeForm::kQuoted, 1));
  EXPECT_EQ(file.path, "a/x.glsl");
  EXPECT_EQ(file.text, "beside");
}

TEST(IncluderTest, QuotedNameFallsBackToTheRoot) {
  const Program program = FragmentProgram("", {{"b/x.glsl", "found"}});
  Includer includer(program, "a/y.glsl");
  ASSERT_OK_AND_ASSIGN(auto file,
                       includer.Open("b/x.glsl", IncludeForm::kQuoted, 1));
  EXPECT_EQ(file.path, "b/x.glsl");
}

TEST(IncluderTest, AngledNameIsFoundFromTheRootOnly) {
  const Program program =
      FragmentProgram("", {{"a/x.glsl", "beside"}, {"x.glsl", "root"}});
  Includer includer(program, "a/y.glsl");
  ASSERT_OK_AND_ASSIGN(auto file,
                       includer.Open("x.glsl", IncludeForm::kAngled, 1));
  EXPECT_EQ(file.path, "x.glsl");
}

TEST(IncluderTest, ParentFolderIsReachedInsideTheProgram) {
  const Program program = FragmentProgram("", {{"lib/x.glsl", "found"}});
  Includer includer(program, "a/y.glsl");
  ASSERT_OK_AND_ASSIGN(
      auto file, includer.Open("../lib/./x.glsl", IncludeForm::kQuoted, 1));
  EXPECT_EQ(file.path, "lib/x.glsl");
}

// KNOWN_FAULTS 25: the words of a secret came back in the compiler's message.
TEST(IncluderTest, PathThatLeavesTheProgramIsRefusedByName) {
  const Program program = FragmentProgram("");
  Includer includer(program, "main.frag");
  EXPECT_THAT(includer.Open("../secret.env", IncludeForm::kQuoted, 1),
              StatusIs(kInvalid, AllOf(HasSubstr("'../secret.env'"),
                                       HasSubstr("main.frag"),
                                       HasSubstr("leaves the program"))));
  EXPECT_THAT(includer.Open("/etc/passwd", IncludeForm::kQuoted, 1),
              StatusIs(kInvalid, AllOf(HasSubstr("'/etc/passwd'"),
                                       HasSubstr("absolute path"))));
}

TEST(IncluderTest, FolderNameIsAMissingFile) {
  const Program program = FragmentProgram("", {{"lib/x.glsl", ""}});
  Includer includer(program, "main.frag");
  EXPECT_THAT(includer.Open("lib", IncludeForm::kQuoted, 1),
              StatusIs(absl::StatusCode::kNotFound, "'lib'"));
}

TEST(IncludeTest, MissingFileNamesItsIncluderAndThePlacesSearched) {
  const StageResult result =
      CompileFragment(FragmentThatIncludes("#include \"lib/a.glsl\""),
                      {{"lib/a.glsl", "#include \"gone.glsl\"\n"}});
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(
      result.diagnostics,
      HasSubstr("no file 'gone.glsl' (included from 'lib/a.glsl'; looked for "
                "'lib/gone.glsl', 'gone.glsl')"));
}

TEST(IncludeTest, NestedRelativeIncludeCompiles) {
  const StageResult result =
      CompileFragment(FragmentThatIncludes("#include \"lib/a.glsl\"", "f()"),
                      {{"lib/a.glsl", "#include \"deep/b.glsl\"\n"},
                       {"lib/deep/b.glsl", "#include \"../../c.glsl\"\n"},
                       {"c.glsl", "float f() { return 1.0; }\n"}});
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

TEST(IncludeTest, DirectivesInAMacroThatIsOffAreNotOpened) {
  const StageResult result = CompileFragment(
      FragmentThatIncludes("#if 0\n#include \"gone.glsl\"\n#endif"));
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

// KNOWN_FAULTS 12: shaderc sets no limit; such a source never ends.
TEST(IncludeTest, CycleEndsWithItsChain) {
  const StageResult result =
      CompileFragment(FragmentThatIncludes("#include \"a.glsl\""),
                      {{"a.glsl", "#include \"b.glsl\"\n"},
                       {"b.glsl", "\n#include \"a.glsl\"\n"}});
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.diagnostics,
              HasSubstr("circular include: a.glsl -> b.glsl -> a.glsl"));
  EXPECT_THAT(result.diagnostics, HasSubstr("b.glsl:2"));
}

TEST(IncludeTest, FileThatIncludesItselfIsACycle) {
  EXPECT_THAT(CompileFragment(FragmentThatIncludes("#include \"main.frag\""))
                  .diagnostics,
              HasSubstr("circular include: main.frag -> main.frag"));
}

TEST(IncludeTest, CycleOfGuardedFilesCompiles) {
  const StageResult result = CompileFragment(
      FragmentThatIncludes("#include \"a.glsl\"", "f()"),
      {{"a.glsl", "#ifndef A\n#define A\n#include \"b.glsl\"\n#endif\n"},
       {"b.glsl",
        "#ifndef B\n#define B\n#include \"a.glsl\"\nfloat f() { return 1.0; "
        "}\n#endif\n"}});
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

TEST(IncludeTest, GuardThatDoesNotGuardEndsAtTheDepthLimit) {
  const StageResult result = CompileFragment(
      FragmentThatIncludes("#include \"a.glsl\""),
      {{"a.glsl",
        "#ifndef A\n#define A\n#undef A\n#include \"a.glsl\"\n#endif\n"}});
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.diagnostics, HasSubstr("includes are more than 64 deep"));
}

std::vector<SourceFile> ChainOfFiles(size_t length) {
  std::vector<SourceFile> files;
  for (size_t i = 1; i <= length; ++i) {
    files.push_back({fmt::format("{}.glsl", i),
                     i == length
                         ? "float f() { return 1.0; }\n"
                         : fmt::format("#include \"{}.glsl\"\n", i + 1)});
  }
  return files;
}

TEST(IncludeTest, DepthAtTheLimitCompilesAndOneMoreIsRefused) {
  const std::string main_text =
      FragmentThatIncludes("#include \"1.glsl\"", "f()");
  EXPECT_TRUE(
      CompileFragment(main_text, ChainOfFiles(limits::kIncludeDepth)).ok());
  const StageResult result =
      CompileFragment(main_text, ChainOfFiles(limits::kIncludeDepth + 1));
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.diagnostics,
              AllOf(HasSubstr("more than 64 deep: main.frag -> 1.glsl"),
                    HasSubstr("... -> "), HasSubstr("-> 65.glsl")));
}

// KNOWN_FAULTS 12, "bomb": 2^30 expansions from 31 tiny files.
TEST(IncludeTest, IncludeBombEndsAtTheCountLimit) {
  std::vector<SourceFile> files = {{"0.glsl", "\n"}};
  for (int i = 1; i <= 30; ++i) {
    const std::string line = fmt::format("#include \"{}.glsl\"\n", i - 1);
    files.push_back({fmt::format("{}.glsl", i), line + line});
  }
  const StageResult result =
      CompileFragment(FragmentThatIncludes("#include \"30.glsl\""), files);
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.diagnostics, HasSubstr("more than 10000 includes"));
}

TEST(IncluderTest, ExpandedBytesAreLimited) {
  const Program program = FragmentProgram(
      "", {{"big.glsl", std::string(limits::kExpandedBytes / 2 + 1, ' ')}});
  Includer includer(program, "main.frag");
  ASSERT_OK(includer.Open("big.glsl", IncludeForm::kQuoted, 1));
  EXPECT_THAT(includer.Open("big.glsl", IncludeForm::kQuoted, 1),
              StatusIs(kInvalid, "expand to more than 67108864 bytes"));
}

// KNOWN_FAULTS 41: text inclusion, so templates work and diamonds need a guard.
TEST(IncludeTest, RepeatedIncludeIsText) {
  const std::string lines =
      "#define NAME a\n#include \"t.glsl\"\n#undef NAME\n#define NAME "
      "b\n#include \"t.glsl\"";
  const StageResult result =
      CompileFragment(FragmentThatIncludes(lines, "a() + b()"),
                      {{"t.glsl", "float NAME() { return 1.0; }\n"}});
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

TEST(IncludeTest, UnguardedDiamondIsARedefinitionNotACycle) {
  const StageResult result = CompileFragment(
      FragmentThatIncludes("#include \"l.glsl\"\n#include \"r.glsl\"", "f()"),
      {{"l.glsl", "#include \"base.glsl\"\n"},
       {"r.glsl", "#include \"base.glsl\"\n"},
       {"base.glsl", "float f() { return 1.0; }\n"}});
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(
      result.diagnostics,
      HasSubstr("base.glsl:1: error: 'f' : function already has a body"));
  EXPECT_THAT(result.diagnostics, Not(HasSubstr("circular")));
}

TEST(IncludeTest, PragmaOnceIsHonouredAndKeepsLineNumbers) {
  const std::string lines = "#include \"once.glsl\"\n#include \"once.glsl\"";
  const StageResult result = CompileFragment(
      FragmentThatIncludes(lines, "f()"),
      {{"once.glsl", "  #  pragma  once\nfloat f() { return 1.0; }\n"}});
  EXPECT_TRUE(result.ok()) << result.diagnostics;
  EXPECT_EQ(result.diagnostics, "");
  EXPECT_THAT(
      CompileFragment(
          FragmentThatIncludes(lines, "f()"),
          {{"once.glsl", "#pragma once\nfloat f() { return vec2(1); }\n"}})
          .diagnostics,
      HasSubstr("once.glsl:2: error"));
}

}  // namespace
}  // namespace kiln::shaders
