// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/surface_diagnostics.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/shaders/surface/whole_shader.h"

// Every text here goes through the compiler: it decides which line it means.

namespace kiln::surface {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kGood =
    "float helper() { return 1.0; }\n"
    "void surface(inout Surface s) { s.noise = helper(); }\n";

// What the author reads; the compile must fail.
std::string Diagnosed(const SurfaceSet& set,
                      std::vector<SourceFile> files = {}) {
  const Program applied = Applied(set, WholeProgram(std::move(files)));
  const shaders::StageResult result =
      shaders::CompileStage(applied, Stage::kFragment);
  EXPECT_FALSE(result.ok());
  const std::string mapped = MapDiagnostics(result.diagnostics, set, applied);
  EXPECT_THAT(mapped, Not(ContainsRegex("kiln_[st][0-9]")));
  return mapped;
}

std::string Diagnosed(std::string_view text) {
  return Diagnosed(SetOf({{"rust", text}}));
}

bool Concerns(const SurfaceSet& set, uint32_t index,
              std::vector<SourceFile> files = {}) {
  const Program applied = Applied(set, WholeProgram(std::move(files)));
  return ConcernsSurface(
      shaders::CompileStage(applied, Stage::kFragment).diagnostics, set,
      applied, index);
}

TEST(SurfaceDiagnosticsTest, ErrorInTheFirstLineIsInLineOne) {
  EXPECT_THAT(Diagnosed("void surface(inout Surface s) { s.noise = nope; }\n"),
              StartsWith("rust:1: error: 'nope' : undeclared identifier\n"));
}

TEST(SurfaceDiagnosticsTest, ErrorInTheLastLineIsThereWithAndWithoutNewline) {
  for (const std::string_view end : {"", "\n", "\n\n", " // x", "\r\n"}) {
    EXPECT_THAT(Diagnosed(fmt::format("void surface(inout Surface s) "
                                      "{{\n}}\nfloat f() {{ return nope; }}{}",
                                      end)),
                StartsWith("rust:3: error: 'nope'"));
  }
}

TEST(SurfaceDiagnosticsTest, ErrorInsideAMacroIsAtItsUse) {
  EXPECT_THAT(Diagnosed("#define BAD(x) (x + \\\n  nope)\n\n"
                        "void surface(inout Surface s) {\n"
                        "  s.noise =\n    BAD(1.0);\n}\n"),
              StartsWith("rust:6: error: 'nope'"));
}

TEST(SurfaceDiagnosticsTest, ErrorBehindAnIncludeIsInTheTextsOwnLine) {
  EXPECT_THAT(
      Diagnosed(SetOf({{"rust",
                        "#include \"lib.glsl\"\n\n"
                        "void surface(inout Surface s) { s.noise = nope; }"}}),
                {{"lib.glsl", "\n\n\nfloat lib() { return 1.0; }\n"}}),
      StartsWith("rust:3: error: 'nope'"));
}

TEST(SurfaceDiagnosticsTest, ErrorInAnIncludedFileStaysThereAndConcernsBoth) {
  const SurfaceSet set = SetOf(
      {{"moss", kGood},
       {"rust", "#include \"lib.glsl\"\nvoid surface(inout Surface s) {}"}});
  const std::vector<SourceFile> files = {
      {"lib.glsl", "\nfloat lib() { return nope; }\n"}};
  EXPECT_THAT(Diagnosed(set, files), StartsWith("lib.glsl:2: error: 'nope'"));
  EXPECT_FALSE(Concerns(set, 1, files));
  EXPECT_TRUE(Concerns(set, 2, files));
}

TEST(SurfaceDiagnosticsTest, LinesOfACrlfFileAreTheEditors) {
  EXPECT_THAT(Diagnosed("\xEF\xBB\xBF// a\r\n#define A \\\r\n  1.0\r\n\r\n"
                        "void surface(inout Surface s) {\r\n"
                        "  s.noise = A;\r\n  s.noise = nope;\r\n}"),
              StartsWith("rust:7: error: 'nope'"));
}

TEST(SurfaceDiagnosticsTest, ErrorInTheSecondOfThreeIsTheSeconds) {
  const SurfaceSet set =
      SetOf({{"one", kGood},
             {"two", "\n\nvoid surface(inout Surface s) { nope(); }\n"},
             {"three", std::string("\n") + std::string(kGood)}});
  const std::string mapped = Diagnosed(set);
  EXPECT_THAT(mapped, StartsWith("two:3: error: 'nope'"));
  EXPECT_EQ(std::ranges::count(mapped, '\n'), 1);
  EXPECT_FALSE(Concerns(set, 1));
  EXPECT_TRUE(Concerns(set, 2));
  EXPECT_FALSE(Concerns(set, 3));
  EXPECT_FALSE(Concerns(set, 4));
}

// Surface one has a helper of that name; two has not.
TEST(SurfaceDiagnosticsTest, HelperOfAnotherSurfaceIsUndefined) {
  EXPECT_THAT(
      Diagnosed(
          SetOf({{"one", kGood},
                 {"two", "void surface(inout Surface s) { helper(); }"}})),
      StartsWith("two:1: error: 'helper' : no matching overloaded function"));
}

TEST(SurfaceDiagnosticsTest, RenamedNamesAreShownAsWritten) {
  const std::string mapped = Diagnosed(
      "struct Layer { float a; };\nfloat _f(Layer l) { return l.a; }\n"
      "void surface(inout Surface s) {\n  _f(1.0);\n  Layer l;\n  l.b = 1.0;\n"
      "  Layer.a = 2.0;\n}");
  EXPECT_THAT(
      mapped,
      AllOf(HasSubstr("rust:4: error: '_f' : no matching"),
            HasSubstr("rust:6: error: 'b' : no such field in structure 'l'")));
  EXPECT_THAT(
      Diagnosed("float twice() { return 1.0; }\n"
                "float twice() { return 2.0; }\n"
                "void surface(inout Surface s) {}"),
      StartsWith("rust:2: error: 'twice' : function already has a body"));
}

TEST(SurfaceDiagnosticsTest, TextWithoutItsEndIsAtFaultNotTheNext) {
  const std::string_view next = kGood;
  for (const std::string_view end :
       {"const float a =\n  1.0", "float f() {\n  return 1.0;",
        "struct S {\n  float a; }", "float f()\n"}) {
    const std::string text =
        fmt::format("void surface(inout Surface s) {{}}\n{}\n\n", end);
    for (const SurfaceSet& set : {SetOf({{"rust", text}, {"moss", next}}),
                                  SetOf({{"moss", next}, {"rust", text}})}) {
      const bool is_one_line = end == "float f()\n";
      EXPECT_THAT(Diagnosed(set),
                  StartsWith(is_one_line ? "rust:2: error" : "rust:3: error"))
          << end;
      const uint32_t index = *set.IndexOf(text);
      EXPECT_TRUE(Concerns(set, index));
    }
  }
}

TEST(SurfaceDiagnosticsTest, CommentThatDoesNotEndIsAtFaultNotTheNext) {
  EXPECT_THAT(
      Diagnosed(SetOf({{"rust", "void surface(inout Surface s) {}\n/* a\n"},
                       {"moss", kGood}})),
      AllOf(HasSubstr("rust:"), Not(HasSubstr("moss"))));
}

TEST(SurfaceDiagnosticsTest, WrongParametersAreToldAtTheFunction) {
  const SurfaceSet set =
      SetOf({{"moss", kGood}, {"rust", "\n\nvoid surface(float x) {}\n"}});
  EXPECT_THAT(Diagnosed(set),
              StartsWith("rust:3: error: 'surface' : no matching overloaded "
                         "function found (the program calls surface(inout "
                         "Surface s))"));
  EXPECT_TRUE(Concerns(set, 2));
  EXPECT_FALSE(Concerns(set, 1));
}

TEST(SurfaceDiagnosticsTest, RecursionIsToldAtTheFunction) {
  const SurfaceSet set =
      SetOf({{"moss", kGood},
             {"rust",
              "float g(float x);\n\nfloat f(float x) { return g(x); }\n"
              "float g(float x) { return f(x); }\n"
              "void surface(inout Surface s) { s.noise = f(1.0); }\n"}});
  EXPECT_THAT(Diagnosed(set), HasSubstr("rust:3: "));
  EXPECT_TRUE(Concerns(set, 2));
  EXPECT_FALSE(Concerns(set, 1));
}

TEST(SurfaceDiagnosticsTest, MissingIncludeNamesTheSurface) {
  EXPECT_THAT(Diagnosed("\n#include \"gone.glsl\"\n"
                        "void surface(inout Surface s) {}"),
              AllOf(StartsWith("rust:2: error: '#include'"),
                    HasSubstr("'gone.glsl' (included from 'rust'")));
}

TEST(SurfaceDiagnosticsTest, ErrorsOfTheShaderItselfStay) {
  Program program = WholeProgram();
  std::string& text = program.files[0].text;
  text.insert(text.find("void main"), "float broken() { return nope; }\n");
  const SurfaceSet set = SetOf({{"rust", kGood}});
  const Program applied = Applied(set, program);
  const std::string output =
      shaders::CompileStage(applied, Stage::kFragment).diagnostics;
  EXPECT_THAT(output, HasSubstr("main.frag:16: error"));
  EXPECT_EQ(MapDiagnostics(output, set, applied), output);
  EXPECT_FALSE(ConcernsSurface(output, set, applied, 1));
}

TEST(SurfaceDiagnosticsTest, UnknownParameterTypeIsTheProgramsOwnFault) {
  Program program = WholeProgram();
  program.surface.parameters = "inout Gone s";
  const SurfaceSet set = SetOf({{"rust", kGood}});
  const Program applied = Applied(set, program);
  const std::string output =
      shaders::CompileStage(applied, Stage::kFragment).diagnostics;
  EXPECT_THAT(MapDiagnostics(output, set, applied),
              StartsWith("surfaces.glsl:3: error"));
}

TEST(SurfaceDiagnosticsTest, WarningsAreMappedToo) {
  const SurfaceSet set =
      SetOf({{"rust", "\nfloat a__b;\nvoid surface(inout Surface s) {}"}});
  const Program applied = Applied(set);
  const shaders::StageResult result =
      shaders::CompileStage(applied, Stage::kFragment);
  EXPECT_TRUE(result.ok());
  EXPECT_THAT(MapDiagnostics(result.diagnostics, set, applied),
              StartsWith("rust:2: warning: 'a__b'"));
}

// A rejection is the business of its author only.
TEST(SurfaceDiagnosticsTest, AuthorIsToldNothingOfOtherSurfaces) {
  const SurfaceSet set = SetOf(
      {{"rust", "#include \"rusty.glsl\"\nvoid surface(inout Surface s) {}\n"},
       {"moss",
        "#include \"mossy.glsl\"\n#include \"both.glsl\"\n"
        "void surface(inout Surface s) {}\n"}});
  const Program applied = Applied(
      set, WholeProgram(
               {{"both.glsl", ""}, {"mossy.glsl", ""}, {"rusty.glsl", ""}}));
  const std::string output =
      "kiln_surfaces/1/rust:1: warning: a\n"
      "kiln_surfaces/2/moss:2: warning: b\n"
      "rusty.glsl:1: warning: c\n"
      "mossy.glsl:1: warning: d\n"
      "both.glsl:1: warning: e\n"
      "main.frag:3: warning: f\n";
  EXPECT_EQ(MapDiagnosticsFor(output, set, applied, 2),
            "moss:2: warning: b\nmossy.glsl:1: warning: d\n"
            "both.glsl:1: warning: e\nmain.frag:3: warning: f\n");
  EXPECT_EQ(MapDiagnosticsFor(output, set, applied, 1),
            "rust:1: warning: a\nrusty.glsl:1: warning: c\n"
            "main.frag:3: warning: f\n");
}

TEST(SurfaceDiagnosticsTest, OutputOfAnyFormIsPassedOn) {
  const SurfaceSet set = SetOf({{"a:b", kGood}});
  const Program applied = Applied(set);
  for (const std::string_view output :
       {"", "\n", "x", "kiln_surfaces/1/a_b", "kiln_surfaces/1/a_b:",
        "kiln_surfaces/1/a_b:x: y", "kiln_surfaces/1/a_b:9", "a\n\nb\n",
        "kiln_surfaces/1/a_b2:1: x", "kiln_surfaces/1/a_b:99999999999: x"}) {
    EXPECT_EQ(MapDiagnostics(output, set, applied), output);
  }
  EXPECT_EQ(MapDiagnostics("kiln_surfaces/1/a_b:9: x\nkiln_s7_y", set, applied),
            "a:b:9: x\ny");
}

}  // namespace
}  // namespace kiln::surface
