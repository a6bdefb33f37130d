// SPDX-License-Identifier: Apache-2.0

// That every error has the file and line that its author sees, whatever the
// line ends, #line directives and names of the files are (KNOWN_FAULTS 43).

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shaders/compiler_names.h"
#include "shaders/sources/compiler_text.h"
#include "shaders/sources/include_scan.h"
#include "tests/shaders/sources.h"

namespace kiln::shaders {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string WithCarriageReturns(std::string text) {
  std::ranges::replace(text, '\n', '\r');
  return text;
}

std::string ErrorsOf(std::string text, std::vector<SourceFile> files = {},
                     const std::string& path = "main.frag") {
  Program program;
  program.name = "test";
  program.stages = {{Stage::kFragment, path, LanguageOfPath(path)}};
  program.files = std::move(files);
  program.files.push_back({path, std::move(text)});
  std::ranges::sort(program.files, {}, &SourceFile::path);
  const StageResult result = CompileStage(program, Stage::kFragment);
  EXPECT_FALSE(result.ok());
  return result.diagnostics;
}

TEST(SourcePlacesTest, CarriageReturnAloneEndsALine) {
  EXPECT_THAT(ErrorsOf(WithCarriageReturns(
                  Fragment("// a comment\nvoid main() { missing; }\n"))),
              StartsWith("main.frag:4: error: 'missing'"));
  EXPECT_THAT(ErrorsOf(Fragment("#include \"old.glsl\"\nvoid main() {}\n"),
                       {{"old.glsl", "\r\rfloat f() { return absent; }\r"}}),
              StartsWith("old.glsl:3: error: 'absent'"));
  EXPECT_THAT(ErrorsOf("// one\r\rfloat4 main() : SV_Target { return no; }\r",
                       {}, "main.hlsl"),
              StartsWith("main.hlsl:3: error: 'no'"));
  // Mixed, as editors leave it.
  EXPECT_THAT(ErrorsOf("#version 450\r\n\r\nlayout(location = 0)\rout vec4 "
                       "color;\nvoid main() { missing; }\r"),
              StartsWith("main.frag:5: error: 'missing'"));
}

TEST(SourcePlacesTest, FilesWithCarriageReturnsCompile) {
  const std::string text = Fragment(
      "#define SUM(a, b) \\\n  (a + b)\n#include \"one.glsl\"\n"
      "void main() { color = vec4(SUM(one(), 2)); }\n");
  const SourceFile file{"one.glsl", "// one\nfloat one() { return 1.0; }\n"};
  const StageResult plain = CompileFragment(text, {file});
  ASSERT_TRUE(plain.ok()) << plain.diagnostics;
  EXPECT_EQ(CompileFragment(WithCarriageReturns(text),
                            {{file.path, WithCarriageReturns(file.text)}})
                .spirv,
            plain.spirv);
}

TEST(SourcePlacesTest, NumberOfALineDirectiveNamesNoOtherFile) {
  EXPECT_THAT(
      ErrorsOf(Fragment("#include \"gen.glsl\"\nvoid main() {}\n"),
               {{"gen.glsl", "#line 900 7\nfloat f() { return missing; }\n"}}),
      StartsWith("gen.glsl:900: error: 'missing'"));
  EXPECT_THAT(ErrorsOf(Fragment("#include \"gen.glsl\"\nvoid main() {}\n"),
                       {{"gen.glsl",
                         "# /* a */ line 0x10 /* b */ 3 // c\n#define S 3\n"
                         "float g() { return 1.0; }\n#line 70 S\n"
                         "float f() { return missing; }\n"}}),
              StartsWith("gen.glsl:70: error: 'missing'"));
  EXPECT_THAT(
      ErrorsOf("#line 40 2\nfloat4 main() : SV_Target { return missing; }\n",
               {}, "main.hlsl"),
      StartsWith("main.hlsl:40: error: 'missing'"));
}

TEST(SourcePlacesTest, AbsurdLineDirectivesAreNotBelieved) {
  for (const std::string line :
       {"4000000000", "-5", "99999999999999999999999", "0xFFFFFFFF",
        "4000000000 3", "4000000000 \"x\""}) {
    EXPECT_THAT(
        ErrorsOf(Fragment("#line " + line + "\nvoid main() { missing; }\n")),
        StartsWith("main.frag:4: error: 'missing'"))
        << line;
  }
  // What only the preprocessor knows has no line at all.
  EXPECT_THAT(
      ErrorsOf(Fragment("#define FAR 4000000000\n#line FAR\n"
                        "void main() { missing; }\n")),
      AllOf(StartsWith("main.frag:1: error: 'missing'"), Not(HasSubstr(":-"))));
}

TEST(SourcePlacesTest, NameInALineDirectiveIsNoPlaceOfItsOwn) {
  EXPECT_THAT(ErrorsOf(Fragment("#line 5 \"c:\\\\x:7: error: fake\"\n"
                                "void main() { missing; }\n")),
              HasSubstr(":5: error: 'missing'"));
  EXPECT_THAT(ErrorsOf(Fragment("#line 5 \"gen/a.tmpl\"\n"
                                "void main() { missing; }\n")),
              StartsWith("gen/a.tmpl:5: error: 'missing'"));
}

TEST(SourcePlacesTest, TextForACompilerKeepsEveryLineWhereItIs) {
  EXPECT_EQ(sources::TextForCompiler("a\rb\r\nc\n\r"), "a\nb\r\nc\n\n");
  EXPECT_EQ(sources::TextForCompiler("#line 7\nx"), "#line 7\nx");
  EXPECT_EQ(sources::TextForCompiler("#line 7 12\nx"), "#line 7   \nx");
  EXPECT_EQ(sources::TextForCompiler("#line 5000000000\nx"),
            "                \nx");
  EXPECT_EQ(sources::TextForCompiler("// #line 7 1\nx"), "// #line 7 1\nx");
  EXPECT_EQ(sources::TextForCompiler("#li\\\nne 7 1\nx"), "    \n      \nx");
}

// Every one of these names was part of a `#line` that shaderc wrote.
TEST(SourcePlacesTest, FileNamesAreNeverSource) {
  const std::string lib = "float lib() { return 1.0; }\n";
  for (const std::string name :
       {"a\"b.glsl", "\"", "a\"/*b", "b\\2.glsl", "end\\", "x*/y.glsl",
        "a\" float injected;", "1:2", "co:1: error: x", "5"}) {
    const std::string include = "#include <" + name + ">\n";
    const StageResult good = CompileFragment(
        Fragment(include + "void main() { color = vec4(lib()); }\n"),
        {{name, lib}});
    EXPECT_TRUE(good.ok()) << name << "\n" << good.diagnostics;
    EXPECT_THAT(ErrorsOf(Fragment(include + "void main() {}\n"),
                         {{name, "\nfloat lib() { return missing; }\n"}}),
                StartsWith(name + ":2: error: 'missing'"));
    EXPECT_THAT(ErrorsOf(Fragment(include + "void main() { missing; }\n"),
                         {{name, lib}}),
                StartsWith("main.frag:4: error: 'missing'"));
    EXPECT_THAT(ErrorsOf(Fragment("void main() { missing; }\n"), {}, name),
                StartsWith(name + ":3: error: 'missing'"));
  }
  EXPECT_THAT(ErrorsOf(Fragment("void main() { missing; }\n"), {}, "a\nb"),
              StartsWith("a?b:3: error: 'missing'"));
}

TEST(SourcePlacesTest, NamesForTheCompilerAreDistinct) {
  Program program;
  for (const std::string path : {"a\"b", "a*b", "a_b", "5", "_5", "plain.x"}) {
    program.files.push_back({path, ""});
  }
  std::ranges::sort(program.files, {}, &SourceFile::path);
  const CompilerNames names(program);
  EXPECT_EQ(names.Of("plain.x"), "plain.x");
  EXPECT_EQ(names.Of("a_b"), "a_b");
  std::set<std::string> seen;
  for (const SourceFile& file : program.files) {
    EXPECT_TRUE(seen.insert(names.Of(file.path)).second) << file.path;
    EXPECT_EQ(names.PathOf(names.Of(file.path)), file.path);
  }
}

TEST(SourcePlacesTest, ConditionThatAnIncludeDoesNotEndIsFound) {
  EXPECT_THAT(ErrorsOf(Fragment("#include \"header.glsl\"\nvoid main() {}\n"),
                       {{"header.glsl", "#if 1\nfloat a;\n"}}),
              AllOf(StartsWith("header.glsl:1: error: this #if is not ended"),
                    HasSubstr("missing #endif")));
  EXPECT_THAT(
      ErrorsOf(Fragment("#include \"a.glsl\"\nvoid main() {}\n"),
               {{"a.glsl", "#ifdef X\n#endif\n#include \"b.glsl\"\n"},
                {"b.glsl", "// #if 1\n\n#ifndef B\n#define B\n#else\n"}}),
      StartsWith("b.glsl:3: error: this #if is not ended"));
  EXPECT_THAT(ErrorsOf(Fragment("#ifdef NO\nvoid main() {}\n")),
              StartsWith("main.frag:3: error: this #if is not ended"));
  EXPECT_THAT(sources::UnendedConditions("#if 1\n#ifdef A\n#endif\n#if 2\n"),
              ElementsAre(1, 4));
}

// glslang takes it, and so do we: nothing is said of one that ends.
TEST(SourcePlacesTest, ConditionMayBeginInOneFileAndEndInAnother) {
  const StageResult result = CompileFragment(
      Fragment("#include \"begin.glsl\"\nvoid main() {}\n#endif\n"),
      {{"begin.glsl", "#if 1\n"}});
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

TEST(SourcePlacesTest, ErrorsOfAnIncludeSayNothingTwice) {
  EXPECT_THAT(ErrorsOf(Fragment("#include \"none.glsl\"\n")),
              AllOf(StartsWith("main.frag:3: error: '#include' : no file "
                               "'none.glsl'"),
                    Not(HasSubstr("for header name"))));
  EXPECT_THAT(
      ErrorsOf(Fragment("#include \"\"\n")),
      AllOf(StartsWith("main.frag:3: error: "), HasSubstr("the name is empty"),
            Not(HasSubstr("absolute"))));
}

TEST(SourcePlacesTest, ControlCharactersAreShownAsTheyAreWritten) {
  EXPECT_THAT(ErrorsOf(Fragment("\f\nvoid main() {}\n")),
              StartsWith("main.frag:3: error: '\\f'"));
}

}  // namespace
}  // namespace kiln::shaders
