// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/surface_rules.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/shaders/surface/whole_shader.h"
#include "tests/support/status_matchers.h"

namespace kiln::surface {
namespace {

using ::kiln::testing::kInvalid;
using ::kiln::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kFunction = "void surface(inout Surface s) {}\n";

absl::Status Check(std::string_view text) {
  return CheckSurface(WholeSlot(), text, "rust", ContextOf(WholeProgram()));
}

// `lines` in front of a surface that is good.
absl::Status CheckBefore(std::string_view lines) {
  return Check(fmt::format("{}\n{}", lines, kFunction));
}

absl::Status CheckHlsl(std::string_view lines) {
  SurfaceContext context;
  context.language = Language::kHlsl;
  return CheckSurface(WholeSlot(), fmt::format("{}\n{}", lines, kFunction),
                      "rust", context);
}

TEST(SurfaceRulesTest, OrdinaryTextsPass) {
  EXPECT_OK(Check(kFunction));
  EXPECT_OK(
      Check("\xEF\xBB\xBF// moss\r\nvoid surface(inout Surface s) {\r\n}"));
  EXPECT_OK(CheckBefore(R"(
#include "lib/noise.glsl"
#ifndef PI
#define PI 3.14159
#endif
#define SQUARE(x) ((x) * (x))
#define real float
;
const float kA = SQUARE(2.0), kB[2] = float[2](1.0, PI), kC = kA < 1.0 ? 1.0 : 2.0;
highp vec3 state;
struct Layer { vec3 color; float depth[3], noise; } layers[2];
const struct { float a; } anonymous = { 1.0 };
float noise(vec2 p);
real noise(vec2 p) { return fract(p.x * PI) + gl_FragCoord.x; }
float noise(vec3 p) { for (int i = 0; i < 3; ++i) { p.x += kB[i % 2]; } return p.x; }
float[2] Pair(const in float a, inout float b) { return float[2](a, b); }
#if defined(PI) && PI > 3
#  error PI is no layout, main or uniform
#elif 0
#else
float only_here() { return 1.0; }
#endif
vec4 Sample(sampler2D t, vec2 uv) { return texture(t, uv); }
#undef SQUARE
)"));
}

TEST(SurfaceRulesTest, CommentsAndStringsDoNotCount) {
  EXPECT_OK(
      CheckBefore("// layout(binding = 3) uniform main #version ##\n"
                  "/* #extension GL_X : enable\n #pragma x */\n"
                  "const int a = 1; // kiln_surface"));
  EXPECT_OK(CheckHlsl(
      "static float f() { Log(\"layout uniform main\"); return 1; }"));
}

TEST(SurfaceRulesTest, ErrorNamesTheSurfaceTheLineAndTheWord) {
  const absl::Status status = Check(
      "\n/* a\n b */\n\nlayout(set = 0, binding = 3) uniform sampler2D t;\n");
  EXPECT_THAT(status, StatusIs(kInvalid, StartsWith("rust:5: 'layout' ")));
}

TEST(SurfaceRulesTest, ResourcesAreRefused) {
  for (const std::string_view text : {
           "layout(binding = 1) uniform sampler2D t;",
           "uniform float x;",
           "buffer B { float x; };",
           "shared float x;",
           "subroutine(f) void g();",
           "sampler2D t;",
           "const uimage2D image = x;",
           "struct S { sampler2D t; };",
           "samplerCube a, b;",
           "accelerationStructureEXT a;",
           "rayPayloadEXT vec4 a;",
       }) {
    EXPECT_THAT(CheckBefore(text), StatusIs(kInvalid, StartsWith("rust:1: ")))
        << text;
  }
}

TEST(SurfaceRulesTest, InputsOutputsAndInterfaceQualifiersAreRefused) {
  for (const std::string_view text :
       {"in vec3 x;", "out vec4 x;", "flat in int x;", "varying vec3 x;",
        "attribute vec3 x;", "invariant gl_Position;", "sample in vec3 x;",
        "precision mediump float;", "const in vec3 x;", "patch out vec3 x;",
        "in Block { vec3 x; } block;", "Block { vec3 x; } block;",
        "precise color;", "const color;", "float gl_FragDepth;",
        "struct gl_PerVertex { vec4 a; };"}) {
    EXPECT_THAT(CheckBefore(text), StatusIs(kInvalid, StartsWith("rust:1: ")))
        << text;
  }
}

// One surface that writes depth made a module that writes it for all.
TEST(SurfaceRulesTest, WhatReachesBeyondTheParametersIsRefusedWithTheReason) {
  for (const auto& [text, why] :
       std::vector<std::pair<std::string, std::string>>{
           {"gl_FragDepth = 0.5;", "output"},
           {"gl_SampleMask[0] = 1;", "output"},
           {"float d = gl_FragDepth;", "output"},
           {"gl_Position.x = 1.0;", "output"},
           {"gl_PointSize = 2.0;", "output"},
           {"int i = gl_SampleID;", "once per sample"},
           {"vec2 p = gl_SamplePosition;", "once per sample"},
           {"int i = gl_Layer;", "device"},
           {"float d = gl_ClipDistance[0];", "device"},
           {"discard;", "pixel"},
           {"if (true) discard;", "pixel"},
           {"demote;", "pixel"},
           {"terminateInvocation;", "pixel"},
           {"imageStore(target, ivec2(0), vec4(0.0));", "memory"},
           {"imageAtomicAdd(target, ivec2(0), 1);", "memory"},
           {"atomicAdd(count, 1u);", "memory"},
           {"barrier();", "memory"},
           {"memoryBarrier ();", "memory"},
           {"interpolateAtSample(uv, 0);", "device"}}) {
    const std::string function = "float f() { " + text + " return 1.0; }";
    EXPECT_THAT(CheckBefore(function),
                StatusIs(kInvalid, AllOf(StartsWith("rust:1: '"),
                                         HasSubstr("not allowed in a surface"),
                                         HasSubstr(why))))
        << text;
    EXPECT_THAT(CheckIncluded("\n" + function + "\n", "lib/a.glsl"),
                StatusIs(kInvalid, StartsWith("lib/a.glsl:2: '")))
        << text;
    EXPECT_THAT(CheckBefore("#define ONE " + text),
                StatusIs(kInvalid, StartsWith("rust:1: '")))
        << text;
  }
  for (const std::string text :
       {"clip(-1);", "InterlockedAdd(a, 1);", "discard;",
        "GroupMemoryBarrierWithGroupSync();"}) {
    EXPECT_THAT(CheckHlsl("static float f() { " + text + " return 1; }"),
                StatusIs(kInvalid, HasSubstr("not allowed in a surface")))
        << text;
  }
}

TEST(SurfaceRulesTest, HelpersAndWordsThatOnlySoundLikeItAreAllowed) {
  EXPECT_OK(CheckBefore(
      "float barrier(float x) { return x; }\n"
      "float f() { return barrier(1.0) + gl_FragCoord.z; }\n"
      "float clip(float x) { return x; }\n"
      "float g() { float discarded = clip(1.0); return discarded; }\n"
      "float h() { return gl_FrontFacing ? float(gl_SampleMaskIn[0]) : 1.0; "
      "}"));
}

// `float mix(float)` in an included file hid every mix from the shader.
TEST(SurfaceRulesTest, IncludedFileHidesNoFunctionOfTheLanguage) {
  for (const std::string name : {"mix", "clamp", "texture", "dot"}) {
    const std::string text = "\nfloat " + name + "(float x) { return x; }\n";
    EXPECT_THAT(CheckIncluded(text, "lib/a.glsl"),
                StatusIs(kInvalid, StartsWith("lib/a.glsl:2: '" + name + "'")));
    EXPECT_OK(CheckBefore(text));  // renamed there
  }
}

// The macros of a file with line ends of another age are macros.
TEST(SurfaceRulesTest, MacroOfTheShaderIsFoundWhateverItsLinesEndIn) {
  Program program = WholeProgram(
      {{"old.glsl", "// old\r#define RESOURCE layout(binding = 3)\r"}});
  const SurfaceContext context = ContextOf(program);
  EXPECT_THAT(CheckSurface(program.surface,
                           "RESOURCE float x;\n" + std::string(kFunction),
                           "rust", context),
              StatusIs(kInvalid, StartsWith("rust:1: 'RESOURCE'")));
}

TEST(SurfaceRulesTest, EntryPointsAndReservedNamesAreRefused) {
  for (const std::string_view text :
       {"void main() {}", "#define entry main",
        "void kiln_surface(uint i, inout Surface s) {}",
        "float f() { kiln_surface(2u, s); return 1.0; }",
        "float kiln_s2_noise(vec3 p) { return 1.0; }", "#define kiln_x 1",
        "#define gl_x 1", "#define GL_x 1", "#define defined 1",
        "#undef __LINE__"}) {
    EXPECT_THAT(CheckBefore(text), StatusIs(kInvalid, StartsWith("rust:1: ")))
        << text;
  }
}

TEST(SurfaceRulesTest, DirectivesThatReachBeyondTheTextAreRefused) {
  for (const std::string_view text :
       {"#version 460", "#extension GL_EXT_ray_query : enable", "#pragma once",
        "# pragma optimize(off)", "#line 900 \"other\"",
        "/* */ # /* */ extension all : warn", "#import \"x\"", "#12 \"x\"",
        "#undef PI", "#undef texture", "#include \"surfaces.glsl\"",
        "#include \"./surfaces.glsl\"", "#include <kiln_surfaces/2/moss>",
        "#include \"a\" b", "#include \"\"", "#define", "#undef 3",
        "#define A\n#include A"}) {
    EXPECT_THAT(CheckBefore(text), StatusIs(kInvalid, HasSubstr("rust:")))
        << text;
  }
  EXPECT_THAT(CheckBefore("#extension GL_X : enable"),
              StatusIs(kInvalid, "rust:1: '#extension' is not allowed"));
}

TEST(SurfaceRulesTest, RefusedWordsAreFoundInMacrosAndUntakenArms) {
  EXPECT_THAT(
      CheckBefore("#define A(n) lay\n#define B \\\n  layout(binding=1)"),
      StatusIs(kInvalid, "rust:3: 'layout'"));
  EXPECT_THAT(CheckBefore("#if 0\nuniform float x;\n#endif"),
              StatusIs(kInvalid, "rust:2: 'uniform'"));
  EXPECT_THAT(CheckBefore("#ifdef layout\n#endif"),
              StatusIs(kInvalid, "rust:1: 'layout'"));
  EXPECT_THAT(CheckBefore("#define A /* \n */ uniform"),
              StatusIs(kInvalid, "rust:2: 'uniform'"));
}

TEST(SurfaceRulesTest, WordsCannotBePutTogether) {
  for (const std::string_view text :
       {"#define J(a, b) a##b\nJ(lay, out)(binding = 1) J(uni, form) float x;",
        "#define J(a, b) a\\\n##b", "lay\\\nout(binding = 1) float x;",
        "%:define A", "// \\\nlayout", "// \rlayout", "1layout",
        "JOIN(lay, out)(binding = 3) JOIN(uni, form) sampler2D t;"}) {
    EXPECT_THAT(CheckBefore(text), StatusIs(kInvalid, StartsWith("rust:")))
        << text;
  }
}

TEST(SurfaceRulesTest, MacrosOfTheShaderBringNothingIn) {
  EXPECT_THAT(CheckBefore("\nRESOURCE(3) sampler2D t;"),
              StatusIs(kInvalid, AllOf(StartsWith("rust:2: 'RESOURCE'"),
                                       HasSubstr("'layout'"))));
  EXPECT_THAT(CheckBefore("INDIRECT(3) float x;"),
              StatusIs(kInvalid, "'INDIRECT'"));
  EXPECT_THAT(CheckBefore("#define MINE INDIRECT\nMINE(3) float x;"),
              StatusIs(kInvalid, "'INDIRECT'"));
  EXPECT_THAT(CheckBefore("VARYING x;"), StatusIs(kInvalid));
  EXPECT_THAT(CheckBefore("#define V VARYING vec3\nV x;"),
              StatusIs(kInvalid, "rust:2: macro 'V'"));
  EXPECT_THAT(CheckBefore("float f OPEN float x) { return x; }"),
              StatusIs(kInvalid, "unpaired '('"));
  EXPECT_THAT(CheckBefore("float ID(helper);"), StatusIs(kInvalid, "'ID'"));
  EXPECT_OK(CheckBefore("const float kTwoPi = 2.0 * PI + ID(1.0);"));
  // Renamed, so they do not meet the shader's macros.
  EXPECT_OK(CheckBefore("const float PI = 3.0;"));
  EXPECT_OK(CheckBefore("float ID(float x) { return x; }"));
  EXPECT_OK(CheckBefore("#define RESOURCE 3\nconst int kA = RESOURCE;"));
}

// Names are isolated by what the text declares, so it must show it.
TEST(SurfaceRulesTest, MacrosDeclareNothingOutsideFunctions) {
  for (const std::string_view text :
       {"#define D(n) float n(float x) { return x; }\nD(helper)",
        "#define D float helper() { return 1.0; }\nD",
        "#define D float helper() { return 1.0; } float\nD other;",
        "#define T float a = 1.0, b\nT;", "#define T float a = 1.0,\nT b;",
        "#define V 1.0, hidden = 2.0\nconst float a = V;",
        "#define V 1.0; float hidden\nconst float a = V;",
        "#define A 1.0, hidden = 2.0\n#define B A\n#define C B\nfloat a = C;",
        "#define N(x) x\nfloat N(hidden);",
        "#define N(x) x\nfloat a = N(1.0; float b = 2.0);",
        "#define N(x) x\nfloat N(f() { return 1.0; } float g)(float x);",
        "#define N hidden\nfloat N;", "#define Q in vec3\nQ x;",
        "#define BEGIN {\nfloat f() BEGIN return 1.0; }",
        "#define END }\nfloat f() { END"}) {
    EXPECT_THAT(CheckBefore(text), StatusIs(kInvalid, StartsWith("rust:")))
        << text;
  }
}

TEST(SurfaceRulesTest, BracketsAndConditionsPairWithinTheFile) {
  for (const std::string_view text :
       {"}", ")", "float f() { return (1.0; }", "float f(] {}", "#endif\n#if 1",
        "#if 1", "#else", "#if 1\n#else\n#else\n#endif",
        "#if 1\n#else\n#elif 1\n#endif",
        "#if 1\nfloat f() {\n#else\nfloat g() {\n#endif\n}",
        "float f() {\n#if 1\n}\n#endif\n",
        "float f() {\n#if 1\n} float g() {\n#endif\n}",
        "const float a =\n#if 1\n1.0;\n#else\n2.0;\n#endif"}) {
    EXPECT_THAT(CheckBefore(text), StatusIs(kInvalid, StartsWith("rust:")))
        << text;
  }
}

TEST(SurfaceRulesTest, TextThatEndsEarlyIsRefusedAtItsLastLine) {
  EXPECT_THAT(Check("void surface(inout Surface s) {\n  s.noise = 1.0;\n\n"),
              StatusIs(kInvalid, "rust:2: the text ends without the '}'"));
  EXPECT_THAT(Check(fmt::format("{}const float a =\n1.0", kFunction)),
              StatusIs(kInvalid, "rust:3: the text ends inside"));
  EXPECT_THAT(Check(fmt::format("{}const float a = 1.0\\", kFunction)),
              StatusIs(kInvalid, "rust:2: "));
  EXPECT_THAT(Check(fmt::format("{}// \\\n", kFunction)),
              StatusIs(kInvalid, "rust:2: "));
  EXPECT_THAT(Check(fmt::format("{}struct S {{ float a; }}", kFunction)),
              StatusIs(kInvalid, "rust:2: the text ends inside"));
  EXPECT_THAT(Check(fmt::format("{}/* a\n", kFunction)),
              StatusIs(kInvalid, "rust:2: a /* comment"));
  EXPECT_THAT(Check("const float a = 1.0\nvoid surface(inout Surface s) {}"),
              StatusIs(kInvalid, "rust:2: 'void' where ';' is expected"));
}

TEST(SurfaceRulesTest, ExactlyOneFunctionOfTheSlotsNameIsDefined) {
  EXPECT_THAT(Check(""), StatusIs(kInvalid,
                                  "rust:1: the surface does not "
                                  "define its function, surface("));
  EXPECT_THAT(Check("void other() {}\n\nfloat surface;"),
              StatusIs(kInvalid, "rust:3: the surface does not define"));
  EXPECT_THAT(Check("void surface(inout Surface s);"),
              StatusIs(kInvalid, "it only declares it"));
  EXPECT_THAT(Check("// void surface(inout Surface s) {}"),
              StatusIs(kInvalid, "does not define"));
  EXPECT_THAT(
      Check(fmt::format("{}void surface(float x) {{}}", kFunction)),
      StatusIs(kInvalid, "rust:2: 'surface' is defined in line 1 already"));
  EXPECT_OK(CheckBefore("void surface(inout Surface s);"));
}

TEST(SurfaceRulesTest, FunctionThatIsOnlyDeclaredIsRefused) {
  EXPECT_THAT(CheckBefore("\nfloat Sun(vec3 normal);"),
              StatusIs(kInvalid, "rust:2: 'Sun' is declared here and not "));
  EXPECT_OK(CheckBefore("float f();\nfloat f() { return 1.0; }"));
  EXPECT_OK(CheckIncluded("float f();", "lib/a.glsl"));
}

TEST(SurfaceRulesTest, ArmsOfOneConditionMayEachDefineTheFunction) {
  const std::string arms =
      fmt::format("#ifdef LOW\n{}#elif HIGH\n{}#else\n{}#endif\n", kFunction,
                  kFunction, kFunction);
  EXPECT_OK(Check(arms));
  EXPECT_OK(Check(fmt::format("#if 0\n{}#endif\n{}", kFunction, kFunction)));
  EXPECT_THAT(Check(arms + std::string(kFunction)),
              StatusIs(kInvalid, "already"));
  EXPECT_THAT(Check(fmt::format("#if A\n{}#endif\n#if B\n{}#endif\n", kFunction,
                                kFunction)),
              StatusIs(kInvalid, "already"));
  EXPECT_THAT(Check(fmt::format("#if 0\n{}#endif\n", kFunction)),
              StatusIs(kInvalid, "does not define"));
}

TEST(SurfaceRulesTest, SixtyFourKibibytesPassAndOneByteMoreDoesNot) {
  std::string text(kFunction);
  text += "//";
  text.resize(64 << 10, 'x');
  EXPECT_OK(Check(text));
  EXPECT_THAT(Check(text + "x"), StatusIs(kInvalid, "65537"));
}

TEST(SurfaceRulesTest, UnusableNameIsRefusedBeforeTheText) {
  for (const std::string& name : {std::string(), std::string("a\nb:1: x"),
                                  std::string("\xC3"), std::string(300, 'a')}) {
    EXPECT_THAT(CheckSurface(WholeSlot(), kFunction, name),
                StatusIs(kInvalid, "surface name"));
  }
}

TEST(SurfaceRulesTest, HlslVariablesMustBeStatic) {
  EXPECT_OK(CheckHlsl("static const float a[2] = {1, 2};"));
  EXPECT_OK(CheckHlsl("static vector<float, 3> a;"));
  EXPECT_OK(
      CheckHlsl("float4 f(float2 uv : TEXCOORD0) : SV_Target { [unroll] "
                "for (int i = 0; i < 2; ++i) {} return 0; }"));
  for (const std::string_view text :
       {"float a;",
        "const float a = 1;",
        "static Texture2D t;",
        "static Texture2D<float4> t;",
        "RWStructuredBuffer<float> b;",
        "cbuffer C { float a; };",
        "tbuffer T { float a; };",
        "ConstantBuffer<S> c;",
        "float a : register(c0);",
        "groupshared float a;",
        "typedef Texture2D T;",
        "[numthreads(8, 8, 1)] void f() {}",
        "[shader(\"pixel\")] float4 f() { return 0; }",
        "[[vk::binding(3)]] Texture2D t;",
        "float f() { [[vk::binding(3)]] Texture2D t; return 0; }",
        "namespace n { Texture2D t; }",
        "class C { Texture2D t; };",
        "struct S { Texture2D t; }; static S s;",
        "struct S { float f() { return 1; } };",
        "#define T Texture2D\nstruct S { T t; };",
        "#define T Texture2D\nstatic T t;",
        "extern float a;",
        "static const float a[1] = {1} OTHER;",
        "float f(uniform float x) { return x; }"}) {
    EXPECT_THAT(CheckHlsl(text), StatusIs(kInvalid, StartsWith("rust:")))
        << text;
  }
}

TEST(SurfaceRulesTest, IncludedFileFollowsTheRulesAndMayBeReadOnce) {
  EXPECT_OK(CheckIncluded("#pragma once\nfloat noise(vec3 p) { return p.x; }",
                          "lib/noise.glsl"));
  EXPECT_OK(CheckIncluded("", "lib/empty.glsl"));
  EXPECT_THAT(CheckIncluded("#pragma once\n\nuniform float x;", "lib/a.glsl"),
              StatusIs(kInvalid, StartsWith("lib/a.glsl:3: 'uniform'")));
  EXPECT_THAT(CheckIncluded("#pragma optimize(off)", "lib/a.glsl"),
              StatusIs(kInvalid, "#pragma"));
  EXPECT_THAT(CheckIncluded("float f() {", "lib/a.glsl"), StatusIs(kInvalid));
}

TEST(SurfaceRulesTest, IncludesAreReportedAsWritten) {
  const std::vector<SurfaceInclude> includes = IncludesOf(
      "// #include \"no\"\n#include \"lib/a.glsl\"\n#if 0\n # include "
      "<b>\n#endif\n#include c\n#include");
  ASSERT_EQ(includes.size(), 2u);
  EXPECT_EQ(includes[0].name, "lib/a.glsl");
  EXPECT_FALSE(includes[0].angled);
  EXPECT_EQ(includes[0].line, 2u);
  EXPECT_EQ(includes[1].name, "b");
  EXPECT_TRUE(includes[1].angled);
}

TEST(SurfaceRulesTest, SlotNeedsAFunctionAndNamedParameters) {
  EXPECT_OK(CheckSlot(WholeSlot()));
  EXPECT_OK(CheckSlot({"x", "f", ""}));
  EXPECT_OK(
      CheckSlot({"x", "f", "in vec3 a[2], vector<float, 3> b : TEXCOORD0"}));
  for (const std::string_view parameters :
       {"vec3", "vec3 a,", "inout Surface s)", "vec3 a, (vec3 b", "vec3 a[2",
        "vec3 kiln_index", "vec3 a; vec3 b", "vec3 a // b\n#x"}) {
    EXPECT_THAT(CheckSlot({"x", "f", std::string(parameters)}),
                StatusIs(kInvalid, "surface.parameters"))
        << parameters;
  }
  for (const std::string_view function : {"", "1f", "a b", "main", "kiln_x"}) {
    EXPECT_THAT(CheckSlot({"x", std::string(function), ""}),
                StatusIs(kInvalid, "surface.function"))
        << function;
  }
}

// 64 KiB of what costs most, beside 64 KiB of one comment. Not a benchmark: it
// fails when some part becomes quadratic.
TEST(SurfaceRulesTest, HostileTextsOfFullSizeTakeNoMoreThanMoments) {
  auto filled = [](auto line) {
    std::string text;
    for (int i = 0; text.size() + 200 < (64 << 10); ++i) {
      text += line(i);
    }
    return text + std::string(kFunction);
  };
  const std::string texts[] = {
      filled([](int i) { return fmt::format("#define M{} M{}\n", i, i + 1); }),
      filled([](int i) {
        return fmt::format("#define M{}\n#define N M{}\nM{} N;", i, i, i);
      }),
      filled([](int) { return std::string("("); }),
      filled([](int) { return std::string("#if 1\n"); }),
      filled([](int i) { return fmt::format("float f{}(){{}}\n", i % 10); }),
  };
  for (const std::string& text : texts) {
    const auto start = std::chrono::steady_clock::now();
    (void)Check(text);
    const auto seconds = std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds, std::chrono::seconds(5)) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace kiln::surface
