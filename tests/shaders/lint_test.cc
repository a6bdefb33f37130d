// SPDX-License-Identifier: Apache-2.0

// The lint's rules, each on GLSL: what they name, with file and line, and what
// they must leave alone.

#include "shaders/lint.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program_file.h"
#include "tests/shaders/sources.h"
#include "tests/support/status_matchers.h"

namespace kiln::shaders {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Six lines before `body`, which starts on line 7.
std::string WithHead(std::string_view body) {
  return fmt::format(
      "#version 450\n"
      "#extension GL_EXT_control_flow_attributes : enable\n"
      "layout(location = 0) out vec4 color; layout(location = 0) flat in int "
      "which;\n"
      "layout(constant_id = 3) const int chosen = 1;\n"
      "struct Light {{ vec3 at; float power; }};\n"
      "\n{}\n",
      body);
}

std::vector<LintFinding> Lint(std::string_view body,
                              std::vector<SourceFile> files = {}) {
  auto findings =
      LintProgram(FragmentProgram(WithHead(body), std::move(files)));
  EXPECT_OK(findings);
  return findings.value_or(std::vector<LintFinding>());
}

// "file:line rule symbol" of each.
std::vector<std::string> Places(const std::vector<LintFinding>& findings) {
  std::vector<std::string> places;
  for (const LintFinding& finding : findings) {
    places.push_back(fmt::format("{}:{} {} {}", finding.file, finding.line,
                                 RuleName(finding.rule), finding.symbol));
  }
  return places;
}

// The places of one rule only: an array of structs that loops fill is indexed
// by their counters, too.
std::vector<std::string> Carried(std::string_view body,
                                 std::vector<SourceFile> files = {}) {
  std::vector<LintFinding> findings = Lint(body, std::move(files));
  std::erase_if(findings, [](const LintFinding& finding) {
    return finding.rule != LintRule::kStructArrayAcrossLoops;
  });
  return Places(findings);
}

TEST(DynamicLocalArrayTest, LocalArrayIndexedByAnInputIsNamedWhereItIs) {
  const auto findings = Lint(
      "void main() {\n  float a[3] = float[](1.0, 2.0, color.x);\n"
      "  a[0] = 2.0;\n  color = vec4(a[which]);\n}");
  EXPECT_THAT(Places(findings),
              ElementsAre("main.frag:10 dynamic-local-array a"));
  EXPECT_THAT(findings[0].message,
              HasSubstr("local array 'a' is indexed by a value that is not "
                        "constant"));
}

TEST(DynamicLocalArrayTest, WritingCountsLikeReading) {
  EXPECT_THAT(Places(Lint("void main() {\n  float a[3];\n  a[which] = 2.0;\n"
                          "  color = vec4(a[0]);\n}")),
              ElementsAre("main.frag:9 dynamic-local-array a"));
}

TEST(DynamicLocalArrayTest, PlaceInAnIncludedFileIsReportedThere) {
  EXPECT_THAT(
      Places(Lint("#extension GL_GOOGLE_include_directive : require\n"
                  "#include \"lib/pick.glsl\"\n"
                  "void main() { color = vec4(Pick(which)); }",
                  {{"lib/pick.glsl",
                    "\nfloat Pick(int i) {\n  float a[2];\n  a[0] = 1.0;\n"
                    "  a[1] = 2.0;\n  return a[i];\n}\n"}})),
      ElementsAre("lib/pick.glsl:6 dynamic-local-array a"));
}

TEST(DynamicLocalArrayTest, LineDirectiveIsFollowed) {
  EXPECT_THAT(Places(Lint("void main() {\n  float a[2]; a[0] = 1.0;\n"
                          "#line 300\n  color = vec4(a[which]);\n}")),
              ElementsAre("main.frag:300 dynamic-local-array a"));
  EXPECT_THAT(
      Places(Lint("#extension GL_GOOGLE_cpp_style_line_directive : require\n"
                  "void main() {\n  float a[2]; a[0] = 1.0;\n"
                  "#line 12 \"user/rust.surface\"\n"
                  "  color = vec4(a[which]);\n}")),
      ElementsAre("user/rust.surface:12 dynamic-local-array a"));
}

TEST(DynamicLocalArrayTest, MemberArrayIsNamedWithItsWay) {
  EXPECT_THAT(
      Places(Lint("struct Inner { float weights[4]; };\n"
                  "struct Outer { float x; Inner inner[2]; };\n"
                  "void main() {\n  Outer outer; outer.x = 1.0;\n"
                  "  outer.inner[1].weights[which] = 1.0;\n"
                  "  outer.inner[which].weights[1] = 1.0;\n"
                  "  color = vec4(outer.x);\n}")),
      ElementsAre("main.frag:11 dynamic-local-array outer.inner[1].weights",
                  "main.frag:12 dynamic-local-array outer.inner"));
}

TEST(DynamicLocalArrayTest, ArrayOfArraysIsNamedOncePerPlace) {
  EXPECT_THAT(Places(Lint("void main() {\n  float a[2][3];\n"
                          "  a[which][which] = 1.0;\n  a[1][which] = 1.0;\n"
                          "  color = vec4(a[0][0]);\n}")),
              ElementsAre("main.frag:9 dynamic-local-array a",
                          "main.frag:10 dynamic-local-array a[1]"));
}

TEST(DynamicLocalArrayTest, GlobalArrayIsLocalToo) {
  EXPECT_THAT(Places(Lint("float global[4];\n"
                          "void main() { global[0] = 1.0;\n"
                          "  color = vec4(global[which]);\n}")),
              ElementsAre("main.frag:9 dynamic-local-array global"));
}

TEST(DynamicLocalArrayTest, ParametersAreNamedInTheFunctionThatIndexesThem) {
  EXPECT_THAT(
      Places(Lint("float In(float p[3], int i) {\n  return p[i]; }\n"
                  "void Out(out float q[3], int i) {\n  q[i] = 1.0; }\n"
                  "void Both(inout float r[3], int i) {\n  r[i] += 1.0; }\n"
                  "float Const(const float s[3], int i) {\n  return s[i]; }\n"
                  "void main() {\n  float a[3]; Out(a, which); Both(a, which);"
                  "\n  color = vec4(In(a, which) + Const(a, which));\n}")),
      ElementsAre("main.frag:8 dynamic-local-array p",
                  "main.frag:10 dynamic-local-array q",
                  "main.frag:12 dynamic-local-array r",
                  "main.frag:14 dynamic-local-array s"));
}

TEST(DynamicLocalArrayTest, ConstantTableIsNamedFromItsLine) {
  const auto findings = Lint(
      "const float table[4] = float[](1.0, 2.0, 3.0, 4.0);\n"
      "void main() {\n  color = vec4(table[which]);\n"
      "  color += vec4(float[](5.0, 6.0)[which]);\n}");
  EXPECT_THAT(Places(findings),
              ElementsAre("main.frag:9 dynamic-local-array table",
                          "main.frag:10 dynamic-local-array "));
  EXPECT_THAT(findings[0].message,
              HasSubstr("a copy of constant array 'table' is indexed"));
  EXPECT_THAT(findings[1].message,
              HasSubstr("a copy of a constant array is indexed"));
}

TEST(DynamicLocalArrayTest, IndexedResultIsNamedByItsFunction) {
  EXPECT_THAT(Places(Lint("float[2] Make() { return float[](color.x, 1.0); }\n"
                          "void main() {\n"
                          "  color = vec4(Make()[which]);\n}")),
              ElementsAre("main.frag:9 dynamic-local-array Make()"));
}

TEST(DynamicLocalArrayTest, MatrixColumnsAreElementsAndComponentsAreNot) {
  const auto findings = Lint(
      "void main() {\n  mat4 m = mat4(color.x); vec4 v = color;\n"
      "  color = m[which];\n  color.x += v[which];\n  v[which] = 1.0;\n"
      "  color.x += m[1][which] + v.x;\n}");
  EXPECT_THAT(Places(findings),
              ElementsAre("main.frag:9 dynamic-local-array m"));
  EXPECT_THAT(findings[0].message, HasSubstr("a column of local matrix 'm'"));
}

TEST(DynamicLocalArrayTest, LoopCounterIsReportedUnlessTheLoopIsMarked) {
  const auto body = [&](std::string_view mark) {
    return "void main() {\n  float a[4]; float sum = 0.0;\n  " +
           std::string(mark) +
           " for (int i = 0; i < 4; ++i) {\n"
           "    a[3 - i] = 1.0; sum += a[i];\n  }\n  color = vec4(sum);\n}";
  };
  const auto findings = Lint(body(""));
  EXPECT_THAT(Places(findings),
              ElementsAre("main.frag:10 dynamic-local-array a"));
  EXPECT_THAT(findings[0].message,
              HasSubstr("the counter of a loop that is not marked [[unroll]]"));
  EXPECT_THAT(Places(Lint(body("[[unroll]]"))), IsEmpty());
  EXPECT_THAT(Places(Lint(body("[[dont_unroll]]"))),
              ElementsAre("main.frag:10 dynamic-local-array a"));
}

TEST(DynamicLocalArrayTest, MarkDoesNotExcuseWhatCanNotBeUnrolled) {
  EXPECT_THAT(Places(Lint("void main() {\n  float a[4]; a[0] = 1.0;\n"
                          "  [[unroll]] for (int i = 0; i < which; ++i) {\n"
                          "    color.x += a[i];\n  }\n"
                          "  [[unroll]] for (int i = which; i < 4; ++i) {\n"
                          "    color.x += a[i];\n  }\n"
                          "  [[unroll]] for (int i = 0; i < 4; ++i) {\n"
                          "    color.x += a[i + which];\n  }\n"
                          "  [[unroll]] for (int i = 0; i < 4; ++i) {\n"
                          "    i += which;\n    color.x += a[i];\n  }\n}")),
              ElementsAre("main.frag:10 dynamic-local-array a",
                          "main.frag:13 dynamic-local-array a",
                          "main.frag:16 dynamic-local-array a",
                          "main.frag:20 dynamic-local-array a"));
}

TEST(DynamicLocalArrayTest, OuterLoopMustBeMarkedWhenItsCounterIsUsed) {
  EXPECT_THAT(Places(Lint("void main() {\n  float a[4]; a[0] = 1.0;\n"
                          "  for (int i = 0; i < 2; ++i) {\n"
                          "    [[unroll]] for (int j = 0; j < 2; ++j) {\n"
                          "      color.x += a[j];\n"
                          "      color.x += a[2 * i + j];\n    }\n  }\n}")),
              ElementsAre("main.frag:12 dynamic-local-array a"));
}

TEST(DynamicLocalArrayTest, ConstantAndSpecializationIndicesAreFine) {
  EXPECT_THAT(Lint("const int kTwo = 2;\nvoid main() {\n  float a[4];\n"
                   "  a[chosen] = 1.0; a[chosen + 1] = 2.0; a[kTwo] = 3.0;\n"
                   "  color = vec4(a[chosen] + a[0]);\n}"),
              IsEmpty());
}

TEST(DynamicLocalArrayTest, BuffersAndInputsAreNotLocal) {
  EXPECT_THAT(
      Lint("layout(binding = 0) readonly buffer Rows { Light rows[]; };\n"
           "layout(binding = 1) uniform Frame { vec4 bands[8]; Light sun[2]; "
           "};\n"
           "layout(binding = 2) uniform sampler2D maps[4];\n"
           "layout(location = 1) in vec4 uv[2];\n"
           "layout(push_constant) uniform Draw { vec4 parts[4]; };\n"
           "void main() {\n"
           "  for (int i = 0; i < 4; ++i) {\n"
           "    color += bands[which] + uv[i & 1] + parts[i];\n"
           "    color.xyz += rows[which + i].at + sun[i & 1].at;\n"
           "    color += texture(maps[which], vec2(0.0));\n  }\n}"),
      IsEmpty());
}

TEST(StructArrayTest, WrittenInOneLoopAndReadInAnotherIsNamedWhereItIsRead) {
  const auto findings = Lint(
      "void main() {\n  Light lights[4];\n"
      "  for (int i = 0; i < 4; ++i) {\n    lights[i].at = vec3(i);\n"
      "    lights[i].power = 1.0;\n  }\n"
      "  for (int i = 0; i < 4; ++i) {\n"
      "    color.xyz += lights[i].at;\n    color.x += lights[i].power;\n"
      "  }\n}");
  EXPECT_THAT(Places(findings),
              ElementsAre("main.frag:10 dynamic-local-array lights",
                          "main.frag:11 dynamic-local-array lights",
                          "main.frag:14 dynamic-local-array lights",
                          "main.frag:14 struct-array-across-loops lights",
                          "main.frag:15 dynamic-local-array lights"));
  EXPECT_THAT(findings[3].message,
              HasSubstr("array of structs 'lights', written in the loop at "
                        "main.frag:9, is read in another loop"));
}

TEST(StructArrayTest, WhileAndDoLoopsCount) {
  EXPECT_THAT(
      Carried("void main() {\n  Light lights[2]; int i = 0;\n"
              "  while (i < which) { lights[i & 1].power = 1.0; ++i; }\n"
              "  do {\n    color += lights[1].power; --i;\n"
              "  } while (i > 0);\n}"),
      ElementsAre("main.frag:11 struct-array-across-loops lights"));
}

TEST(StructArrayTest, MemberArrayInAnIncludedFileIsNamed) {
  EXPECT_THAT(
      Carried("#extension GL_GOOGLE_include_directive : require\n"
              "#include \"lib/stack.glsl\"\n"
              "void main() { color = vec4(Stacked(which)); }",
              {{"lib/stack.glsl",
                "struct Stack { int size; Light items[4]; Light rest[2]; };\n"
                "float Stacked(int n) {\n  Stack stack; stack.size = 0;\n"
                "  for (int i = 0; i < n; ++i) {\n"
                "    stack.items[stack.size++].power = 1.0;\n  }\n"
                "  float sum = 0.0;\n  while (stack.size > 0) {\n"
                "    sum += stack.items[--stack.size].power;\n  }\n"
                "  return sum;\n}\n"}}),
      ElementsAre("lib/stack.glsl:9 struct-array-across-loops stack.items"));
}

TEST(StructArrayTest, CarriedToTheNextIterationIsNamed) {
  const auto findings = Lint(
      "void main() {\n  Light last[2]; last[0] = Light(vec3(0), 0.0);\n"
      "  for (int i = 0; i < which; ++i) {\n"
      "    color.x += last[0].power;\n"
      "    last[0] = Light(vec3(i), float(i));\n  }\n}");
  EXPECT_THAT(Places(findings),
              ElementsAre("main.frag:10 struct-array-across-loops last"));
  EXPECT_THAT(findings[0].message,
              HasSubstr("'last' is carried from one iteration of the loop at "
                        "main.frag:9 to the next"));
}

TEST(StructArrayTest, WrittenInOneBranchOnlyIsCarried) {
  EXPECT_THAT(Carried("void main() {\n  Light last[2];\n"
                      "  for (int i = 0; i < which; ++i) {\n"
                      "    if (i == 3) { last[0] = Light(vec3(i), 1.0); }\n"
                      "    color.x += last[0].power;\n  }\n}"),
              ElementsAre("main.frag:11 struct-array-across-loops last"));
}

TEST(StructArrayTest, WrittenOnEveryWayOfAnIterationIsNotCarried) {
  EXPECT_THAT(Carried("void main() {\n  Light a[2];\n"
                      "  for (int i = 0; i < which; ++i) {\n"
                      "    if (i == 3) { a[0] = Light(vec3(i), 1.0); }\n"
                      "    else if (i == 4) { continue; }\n"
                      "    else { a[0].at = vec3(i); a[0].power = 2.0; }\n"
                      "    a[1] = a[0];\n"
                      "    color.x += a[0].power + a[1].at.x;\n"
                      "    Light b[2] = a;\n    color.y += b[0].power;\n"
                      "  }\n}"),
              IsEmpty());
}

TEST(StructArrayTest, LoopInsideALoopThatFillsAndOneThatReadsAreApart) {
  EXPECT_THAT(Carried("void main() {\n"
                      "  for (int i = 0; i < which; ++i) {\n"
                      "    Light lights[4];\n"
                      "    for (int j = 0; j < 4; ++j) {\n"
                      "      lights[j] = Light(vec3(i), 1.0);\n    }\n"
                      "    for (int j = 0; j < 4; ++j) {\n"
                      "      color.x += lights[j].power;\n    }\n  }\n}"),
              ElementsAre("main.frag:14 struct-array-across-loops lights"));
}

TEST(StructArrayTest, CallInALoopIsPartOfTheLoop) {
  EXPECT_THAT(
      Carried("Light shared_lights[4];\n"
              "void Set(int i) { shared_lights[i].power = 1.0; }\n"
              "float Get(int i) {\n  return shared_lights[i].power; }\n"
              "float GetTwice(int i) { return Get(i) + Get(i); }\n"
              "void main() {\n"
              "  for (int i = 0; i < which; ++i) { Set(i); }\n"
              "  for (int i = 0; i < which; ++i) { color.x += GetTwice(i); }\n"
              "}"),
      ElementsAre("main.frag:10 struct-array-across-loops shared_lights"));
}

TEST(StructArrayTest, ArgumentsAndResultsCarryWhatLoopsWrote) {
  EXPECT_THAT(
      Carried("void Fill(out Light f[3]) {\n"
              "  for (int i = 0; i < 3; ++i) { f[i].power = 1.0; } }\n"
              "float Sum(Light s[3]) {\n  float sum = 0.0;\n"
              "  for (int i = 0; i < 3; ++i) {\n    sum += s[i].power;\n  }\n"
              "  return sum; }\n"
              "void main() {\n  Light a[3]; Fill(a);\n"
              "  Light copy[3] = a;\n  color.x += Sum(copy);\n}"),
      ElementsAre("main.frag:12 struct-array-across-loops s"));
  EXPECT_THAT(Carried("Light[3] Make() {\n  Light m[3];\n"
                      "  for (int i = 0; i < 3; ++i) { m[i].power = 1.0; }\n"
                      "  return m; }\n"
                      "void main() {\n  Light a[3] = Make();\n"
                      "  for (int i = 0; i < which; ++i) {\n"
                      "    color.x += a[1].power;\n  }\n}"),
              ElementsAre("main.frag:14 struct-array-across-loops a"));
}

TEST(StructArrayTest, FunctionThatFillsAnArrayInALoopDoesNotCarryIt) {
  EXPECT_THAT(
      Carried("void Fill(out Light f[3], float power) {\n"
              "  for (int i = 0; i < 3; ++i) { f[i] = Light(vec3(i), power); }"
              " }\n"
              "void main() {\n  for (int i = 0; i < which; ++i) {\n"
              "    Light a[3]; Fill(a, float(i));\n"
              "    color.x += a[0].power + a[2].at.x;\n  }\n}"),
      IsEmpty());
}

TEST(StructArrayTest, FillThatMaySkipElementsIsCarried) {
  EXPECT_THAT(Carried("void main() {\n  for (int i = 0; i < which; ++i) {\n"
                      "    Light a[3];\n"
                      "    for (int j = 0; j < 3; ++j) {\n"
                      "      if (j == i) { break; }\n"
                      "      a[j] = Light(vec3(i), 1.0);\n    }\n"
                      "    color.x += a[0].power;\n  }\n}"),
              ElementsAre("main.frag:14 struct-array-across-loops a"));
}

TEST(StructArrayTest, InoutArgumentOfACallInALoopIsCarried) {
  EXPECT_THAT(Carried("void Step(inout Light s[2]) { s[0].power += 1.0; }\n"
                      "void main() {\n  Light state[2];\n"
                      "  state[0].power = 1.0;\n"
                      "  for (int i = 0; i < which; ++i) {\n"
                      "    Step(state);\n  }\n"
                      "  color.x += state[0].power;\n}"),
              ElementsAre("main.frag:12 struct-array-across-loops state"));
}

TEST(StructArrayTest, LocalOfACalledFunctionIsNewInEachCall) {
  EXPECT_THAT(Carried("float Blend(int i) {\n  Light pair[2];\n"
                      "  pair[0].power = float(i);\n"
                      "  if (i > 2) { pair[1].power = 1.0; }\n"
                      "  return pair[0].power + pair[1].power; }\n"
                      "void main() {\n"
                      "  for (int i = 0; i < 4; ++i) { color.x += Blend(i); }\n"
                      "}"),
              IsEmpty());
}

TEST(StructArrayTest, MarkedLoopsWithConstantBoundsAreNoLoops) {
  const auto body = [](std::string_view mark) {
    return fmt::format(
        "void main() {{\n  Light lights[4];\n"
        "  {0} for (int i = 0; i < 4; ++i) {{ lights[i].power = 1.0; }}\n"
        "  {0} for (int i = 0; i < 4; ++i) {{ color.x += lights[i].power; }}\n"
        "}}",
        mark);
  };
  EXPECT_THAT(Lint(body("[[unroll]]")), IsEmpty());
  EXPECT_THAT(Carried(body("")),
              ElementsAre("main.frag:10 struct-array-across-loops lights"));
}

TEST(StructArrayTest, OutsideLoopsNothingIsCarried) {
  EXPECT_THAT(
      Carried("void main() {\n  Light lights[2];\n"
              "  lights[0] = Light(vec3(0), 1.0); lights[1] = lights[0];\n"
              "  Light copy[2] = lights;\n"
              "  Light one = copy[1];\n  color.x = one.power;\n}"),
      IsEmpty());
  EXPECT_THAT(Carried("void main() {\n  Light lights[2];\n"
                      "  lights[0] = Light(vec3(0), 1.0);\n"
                      "  for (int i = 0; i < which; ++i) {\n"
                      "    color.x += lights[0].power;\n  }\n}"),
              IsEmpty());
  EXPECT_THAT(Carried("void main() {\n  Light lights[2];\n"
                      "  for (int i = 0; i < which; ++i) {\n"
                      "    lights[i & 1].power = 1.0;\n  }\n"
                      "  color.x += lights[0].power;\n}"),
              IsEmpty());
}

TEST(StructArrayTest, ArraysOfVectorsAndSingleStructsAreNotMeant) {
  EXPECT_THAT(Carried("struct Many { vec4 at[4]; };\n"
                      "void main() {\n  vec4 a[4]; Light one; Many many;\n"
                      "  for (int i = 0; i < 4; ++i) {\n"
                      "    a[i] = vec4(i); one.power = 1.0;"
                      " many.at[i] = color;\n  }\n"
                      "  for (int i = 0; i < 4; ++i) {\n"
                      "    color += a[i] + one.power + many.at[i];\n  }\n}"),
              IsEmpty());
}

TEST(LintProgramTest, SourceThatDoesNotCompileIsInvalid) {
  const auto findings = LintProgram(FragmentProgram(
      "#version 450\nvoid main() {\n  nothing = 1;\n  more = 2;\n}\n"));
  EXPECT_EQ(findings.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(findings.status().message(),
            "main.frag:3: error: 'nothing' : undeclared identifier");
}

TEST(LintProgramTest, FileThatTwoStagesIncludeIsReportedOnce) {
  Program program = FragmentProgram(
      "#version 450\n#extension GL_GOOGLE_include_directive : require\n"
      "#include \"pick.glsl\"\nlayout(location = 0) out vec4 color;\n"
      "void main() { color = vec4(Pick(int(gl_FragCoord.x))); }\n",
      {{"main.vert",
        "#version 450\n#extension GL_GOOGLE_include_directive : require\n"
        "#include \"pick.glsl\"\n"
        "void main() { gl_Position = vec4(Pick(gl_VertexIndex)); }\n"},
       {"pick.glsl",
        "float Pick(int i) {\n  float a[2]; a[0] = 1.0; a[1] = 2.0;\n"
        "  return a[i & 1]; }\n"}});
  program.stages.push_back({Stage::kVertex, "main.vert"});
  auto findings = LintProgram(program);
  ASSERT_OK(findings);
  EXPECT_THAT(Places(*findings),
              ElementsAre("pick.glsl:3 dynamic-local-array a"));
}

TEST(LintProgramTest, SceneShaderKeepsTheRules) {
  auto program =
      LoadProgramFile(KILN_SOURCE_DIR "/shaders/scene/scene.program.toml");
  ASSERT_OK(program);
  auto findings = LintProgram(*program);
  ASSERT_OK(findings);
  EXPECT_THAT(Places(*findings), IsEmpty());
}

TEST(LintModuleTest, WithoutDebugLinesPlacesAreEmpty) {
  const StageResult result =
      CompileFragment(WithHead("void main() { float a[2]; a[which] = 1.0;"
                               " color = vec4(a[0]); }"));
  ASSERT_TRUE(result.ok()) << result.diagnostics;
  EXPECT_THAT(Places(LintModule(result.spirv)),
              ElementsAre(":0 dynamic-local-array a"));
}

// A module with findings of both rules, calls and nested loops.
std::vector<uint32_t> RichModule() {
  const Program program = FragmentProgram(
      WithHead("struct Box { float x; Light lights[3]; };\nBox box;\n"
               "void Fill(inout Light f[3]) {\n"
               "  for (int i = 0; i < 3; ++i) { f[i].power += 1.0; } }\n"
               "void main() {\n  for (int j = 0; j < which; ++j) {\n"
               "    Fill(box.lights);\n"
               "    while (color.x < 3.0) { color.x += box.lights[j].power; }\n"
               "    switch (j) { case 1: box.lights[1].power = 1.0; break;"
               " default: color.y += 1.0; }\n  }\n}"));
  const StageResult result =
      CompileStage(program, Stage::kFragment, {.debug_lines = true});
  EXPECT_TRUE(result.ok()) << result.diagnostics;
  return result.spirv;
}

TEST(LintModuleTest, DamagedModuleGivesFewerFindings) {
  const std::vector<uint32_t> whole = RichModule();
  const size_t all = LintModule(whole).size();
  EXPECT_GE(all, 4u);
  EXPECT_THAT(LintModule({}), IsEmpty());
  EXPECT_THAT(LintModule(std::vector<uint32_t>(64, 0x07230203)), IsEmpty());
  for (size_t size = 0; size < whole.size(); size += 3) {
    EXPECT_LE(LintModule(std::span(whole).first(size)).size(), all);
  }
}

// Every word in turn replaced: ids that are not there, circles of types and
// chains, loops that never end.
TEST(LintModuleTest, ModuleWithAnyOneWordReplacedIsSurvived) {
  const std::vector<uint32_t> whole = RichModule();
  size_t findings = 0;
  for (size_t at = 5; at < whole.size(); ++at) {
    for (const uint32_t value : {0u, 1u, whole[at] + 1, 0xffffffffu}) {
      std::vector<uint32_t> damaged = whole;
      damaged[at] = value;
      findings += LintModule(damaged).size();
    }
  }
  EXPECT_GT(findings, 0u);
}

}  // namespace
}  // namespace kiln::shaders
