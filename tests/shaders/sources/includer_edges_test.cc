// SPDX-License-Identifier: Apache-2.0

// The includer with a program that says what its includes open, and the rules
// about including twice, through the compiler. The look-up among files alone
// is in tests/shaders/includer_test.cc.

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shaders/sources/includer.h"
#include "tests/shaders/sources.h"
#include "tests/support/status_matchers.h"

namespace kiln::sources {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

shaders::StageResult Compile(const std::string& lines, const std::string& value,
                             std::vector<SourceFile> files) {
  return shaders::CompileFragment(
      fmt::format("{}{}\nvoid main() {{ color = vec4({}); }}\n",
                  shaders::kFragmentHead, lines, value),
      std::move(files));
}

Program WithEdges(std::vector<IncludeEdge> edges,
                  std::vector<SourceFile> files) {
  Program program = shaders::FragmentProgram("", std::move(files));
  program.includes = std::move(edges);
  return program;
}

TEST(IncluderEdgesTest, DeclaredIncludesDecideWhatANameOpens) {
  const Program program = WithEdges(
      {{"main.frag", "x.glsl", false, "p/x.glsl", ""},
       {"main.frag", "x.glsl", true, "e/x.glsl", ""}},
      {{"e/x.glsl", "engine"}, {"p/x.glsl", "project"}, {"x.glsl", "neither"}});
  Includer includer(program, "main.frag");
  ASSERT_OK_AND_ASSIGN(auto file,
                       includer.Open("x.glsl", IncludeForm::kQuoted, 1));
  EXPECT_EQ(file.path, "p/x.glsl");
  ASSERT_OK_AND_ASSIGN(file, includer.Open("x.glsl", IncludeForm::kAngled, 1));
  EXPECT_EQ(file.text, "engine");
}

TEST(IncluderEdgesTest, IncludeThatDoesNotOpenGivesItsProblem) {
  const Program program =
      WithEdges({{"main.frag", "x.glsl", false, "", "'e/x.glsl' is a pipe"},
                 {"main.frag", "x.glsl", true, "x.glsl", ""}},
                {{"x.glsl", ""}});
  Includer includer(program, "main.frag");
  EXPECT_THAT(includer.Open("x.glsl", IncludeForm::kQuoted, 1),
              StatusIs(absl::StatusCode::kNotFound,
                       "'x.glsl' included from 'main.frag': 'e/x.glsl' is a "
                       "pipe"));
  // glslang asks again in the other form, as if nothing had been decided.
  EXPECT_THAT(includer.Open("x.glsl", IncludeForm::kAngled, 1),
              StatusIs(absl::StatusCode::kNotFound, "is a pipe"));
  EXPECT_THAT(includer.Open("y.glsl", IncludeForm::kQuoted, 1),
              StatusIs(absl::StatusCode::kNotFound, "the scan"));
}

TEST(IncluderEdgesTest, NameOfAnyBytesFindsItsEdge) {
  const std::string name = "h\xF6he/" + std::string(500, 'n');
  const Program program =
      WithEdges({{"main.frag", EdgeName(name), false, "", "not a name"}}, {});
  Includer includer(program, "main.frag");
  EXPECT_THAT(includer.Open(name, IncludeForm::kQuoted, 1),
              StatusIs(absl::StatusCode::kNotFound, "not a name"));
}

// KNOWN_FAULTS 43: shaderc passes what #line says as the including file.
TEST(IncluderEdgesTest, LineDirectiveDoesNotMoveTheIncludingFile) {
  const shaders::StageResult result =
      Compile("#include \"lib/a.glsl\"", "f()",
              {{"lib/a.glsl",
                "#extension GL_GOOGLE_cpp_style_line_directive : require\n"
                "#line 900 \"elsewhere/other.glsl\"\n"
                "#include \"b.glsl\"\n"},
               {"lib/b.glsl", "float f() { return 1.0; }\n"},
               {"elsewhere/b.glsl", "wrong\n"}});
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

TEST(IncluderEdgesTest, LinesOfTheParentComeBackAfterALineDirective) {
  const std::string diagnostics =
      Compile("#include \"gen.glsl\"\nerror here;", "1.0",
              {{"gen.glsl",
                "#line 900 \"other.glsl\"\nfloat a() { return "
                "vec2(1); }\n"}})
          .diagnostics;
  EXPECT_THAT(diagnostics, HasSubstr("other.glsl:900: error"));
}

// KNOWN_FAULTS 41.
TEST(IncluderEdgesTest, PragmaOnceCountsTheTextNotTheName) {
  const std::string text = "#pragma once\nfloat f() { return 1.0; }\n";
  const shaders::StageResult result = Compile(
      "#include \"a.glsl\"\n#include \"copy/a.glsl\"\n#include \"a.glsl\"",
      "f()", {{"a.glsl", text}, {"copy/a.glsl", text}});
  EXPECT_TRUE(result.ok()) << result.diagnostics;
  EXPECT_FALSE(Compile("#include \"a.glsl\"\n#include \"b.glsl\"", "f()",
                       {{"a.glsl", text}, {"b.glsl", text + "\n"}})
                   .ok())
      << "another text is another file";
}

// Two libraries that begin alike and bring neighbours of their own.
TEST(IncluderEdgesTest, EqualTextsThatIncludeDifferentFilesAreTwoFiles) {
  const std::string all = "#pragma once\n#include \"part.glsl\"\n";
  const std::string lines = "#include \"a/all.glsl\"\n#include \"b/all.glsl\"";
  const shaders::StageResult result =
      Compile(lines, "fa() + fb()",
              {{"a/all.glsl", all},
               {"a/part.glsl", "float fa() { return 1.0; }\n"},
               {"b/all.glsl", all},
               {"b/part.glsl", "float fb() { return 2.0; }\n"}});
  EXPECT_TRUE(result.ok()) << result.diagnostics;
  // Deeper down, too.
  const std::string deep = "#pragma once\n#include \"all.glsl\"\n";
  const shaders::StageResult below =
      Compile("#include \"a/top.glsl\"\n#include \"b/top.glsl\"", "fa() + fb()",
              {{"a/all.glsl", all},
               {"a/part.glsl", "float fa() { return 1.0; }\n"},
               {"a/top.glsl", deep},
               {"b/all.glsl", all},
               {"b/part.glsl", "float fb() { return 2.0; }\n"},
               {"b/top.glsl", deep}});
  EXPECT_TRUE(below.ok()) << below.diagnostics;
}

TEST(IncluderEdgesTest, CopiesThatIncludeCopiesAreOneFile) {
  const std::string all = "#pragma once\n#include \"part.glsl\"\n";
  const std::string part = "#pragma once\nfloat f() { return 1.0; }\n";
  const shaders::StageResult result =
      Compile("#include \"a/all.glsl\"\n#include \"b/all.glsl\"", "f()",
              {{"a/all.glsl", all},
               {"a/part.glsl", part},
               {"b/all.glsl", all},
               {"b/part.glsl", part}});
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

// A link to a file beside which there is nothing of what the file includes.
TEST(IncluderEdgesTest, LinkedFileIsReadOnceThoughItsIncludesDoNotOpenThere) {
  const std::string all = "#pragma once\n#include \"part.glsl\"\n";
  const shaders::StageResult result =
      Compile("#include \"a/all.glsl\"\n#include \"link/all.glsl\"", "f()",
              {{"a/all.glsl", all},
               {"a/part.glsl", "float f() { return 1.0; }\n"},
               {"link/all.glsl", all}});
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

TEST(IncluderEdgesTest, CopiesThatIncludeEachOtherInACircleAreCompared) {
  const std::string one = "#pragma once\n#include \"two.glsl\"\n";
  const std::string two =
      "#pragma once\n#include \"one.glsl\"\nfloat f() { return 1.0; }\n";
  const shaders::StageResult result =
      Compile("#include \"a/one.glsl\"\n#include \"b/one.glsl\"", "f()",
              {{"a/one.glsl", one},
               {"a/two.glsl", two},
               {"b/one.glsl", one},
               {"b/two.glsl", two}});
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

TEST(IncluderEdgesTest, PragmaOnceInACommentIsNone) {
  EXPECT_THAT(Compile("#include \"a.glsl\"\n#include \"a.glsl\"", "f()",
                      {{"a.glsl",
                        "/*\n#pragma once\n*/\nfloat f() { return "
                        "1.0; }\n"}})
                  .diagnostics,
              HasSubstr("already has a body"));
}

TEST(IncluderEdgesTest, PragmaOnceSpreadOverLinesKeepsTheLineNumbers) {
  EXPECT_THAT(Compile("#include \"a.glsl\"", "f()",
                      {{"a.glsl",
                        "#pragma \\\r\n once /*\n*/\nfloat f() { return "
                        "vec2(1); }\n"}})
                  .diagnostics,
              HasSubstr("a.glsl:4: error"));
}

TEST(IncluderEdgesTest, MainFileThatSaysOnceIsNotIncludedAgain) {
  const std::string text = fmt::format(
      "{}#pragma once\n#include \"main.frag\"\nvoid main() {{ color = vec4(1); "
      "}}\n",
      shaders::kFragmentHead);
  const shaders::StageResult result = shaders::CompileFragment(text);
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

TEST(IncluderEdgesTest, OneFileUnderAnotherSpellingIsACycle) {
  EXPECT_THAT(Compile("#include \"lib/a.glsl\"", "1.0",
                      {{"lib/a.glsl", "#include \"../lib/./b/..//a.glsl\"\n"}})
                  .diagnostics,
              HasSubstr("circular include: lib/a.glsl -> lib/a.glsl"));
}

TEST(IncluderEdgesTest, DiamondIsNoCycleAndSaysSo) {
  const std::vector<SourceFile> files = {
      {"base.glsl", "float base() { return 1.0; }\n"},
      {"l.glsl", "#include \"base.glsl\"\nfloat l() { return base(); }\n"},
      {"r.glsl", "#include \"base.glsl\"\nfloat r() { return base(); }\n"}};
  EXPECT_THAT(
      Compile("#include \"l.glsl\"\n#include \"r.glsl\"", "l() + r()", files)
          .diagnostics,
      AllOf(HasSubstr("base.glsl:1: error"), HasSubstr("already has a body"),
            Not(HasSubstr("circular"))));
}

TEST(IncluderEdgesTest, GuardOfEitherFormEndsACircle) {
  for (const std::string guard :
       {"#ifndef A\n", "#if !defined(A)\n", "#if ! defined A\n"}) {
    const shaders::StageResult result =
        Compile("#include \"a.glsl\"", "f()",
                {{"a.glsl", guard + "#define A\n#include \"a.glsl\"\nfloat f() "
                                    "{ return 1.0; }\n#endif\n"}});
    EXPECT_TRUE(result.ok()) << result.diagnostics;
  }
}

// A file is looked through once, however often it is included.
TEST(IncluderEdgesTest, LargeFileIncludedOnceAndAskedForOftenEnds) {
  Program program = shaders::FragmentProgram(
      "", {{"a.glsl", "#pragma once\n" + std::string(20 << 20, ' ')}});
  Includer includer(program, "main.frag");
  for (int i = 0; i < 20000; ++i) {
    ASSERT_OK(includer.Open("a.glsl", IncludeForm::kQuoted, 1));
  }
}

}  // namespace
}  // namespace kiln::sources
