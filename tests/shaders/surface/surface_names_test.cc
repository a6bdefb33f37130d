// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/surface_names.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/shaders/surface/whole_shader.h"

namespace kiln::surface {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Isolated(std::string_view text, uint32_t index = 3) {
  return IsolateNames(text, index).text;
}

TEST(SurfaceNamesTest, DeclaredNamesAreRenamedWhereverTheyStand) {
  EXPECT_EQ(Isolated("float noise(vec2 p) { return p.x; }\n"
                     "const float kA = 1.0, kB[2] = float[2](kA, 2.0);\n"
                     "struct Layer { float depth; } top;\n"
                     "void surface(inout Surface s) {\n"
                     "  Layer l = Layer(noise(s.position.xy) * kB[0]);\n"
                     "  top = l; // noise kA\n}"),
            "float kiln_s3_noise(vec2 p) { return p.x; }\n"
            "const float kiln_s3_kA = 1.0, kiln_s3_kB[2] = "
            "float[2](kiln_s3_kA, 2.0);\n"
            "struct kiln_s3_Layer { float depth; } kiln_s3_top;\n"
            "void kiln_s3_surface(inout Surface s) {\n"
            "  kiln_s3_Layer l = kiln_s3_Layer(kiln_s3_noise(s.position.xy) * "
            "kiln_s3_kB[0]);\n"
            "  kiln_s3_top = l; // noise kA\n}");
}

TEST(SurfaceNamesTest, MembersKeepTheirNames) {
  EXPECT_EQ(Isolated("float noise() { return 1.0; }\nconst int N = 2;\n"
                     "struct Foo { float noise, a[N], Foo2; };\n"
                     "struct Bar { Foo Foo; highp Foo bar[N], noise; };\n"
                     "void f(Bar b) { b.Foo.noise = b . /* . */ noise; }"),
            "float kiln_s3_noise() { return 1.0; }\nconst int kiln_s3_N = 2;\n"
            "struct kiln_s3_Foo { float noise, a[kiln_s3_N], Foo2; };\n"
            "struct kiln_s3_Bar { kiln_s3_Foo Foo; highp kiln_s3_Foo "
            "bar[kiln_s3_N], noise; };\n"
            "void kiln_s3_f(kiln_s3_Bar b) { b.Foo.noise = b . /* . */ noise; "
            "}");
}

TEST(SurfaceNamesTest, MembersOfLocalStructuresAndMacrosKeepTheirNames) {
  EXPECT_EQ(Isolated("float noise() { return 1.0; }\nstruct T { int a; };\n"
                     "#define GET(x) x.noise\n#define F(t, n) t n;\n"
                     "void f() { struct L { float noise; F(T, noise) } l; }"),
            "float kiln_s3_noise() { return 1.0; }\nstruct kiln_s3_T { int a; "
            "};\n#define kiln_s3_GET(x) x.noise\n#define kiln_s3_F(t, n) t n;\n"
            "void kiln_s3_f() { struct L { float noise; kiln_s3_F(kiln_s3_T, "
            "noise) } l; }");
}

TEST(SurfaceNamesTest, MacrosAreRenamedInEveryDirective) {
  const IsolatedText isolated = IsolateNames(
      "#ifndef PI\n#define PI 3.0\n#endif\n#define SQ(x) ((x) * SQ(x))\n"
      "#if defined(PI) && defined SQ && !defined(OTHER)\n"
      "#elif PI > 3\n#error PI is SQ\n#endif\n#undef PI\n#include \"PI\"\n",
      7);
  EXPECT_EQ(isolated.text,
            "#ifndef kiln_s7_PI\n#define kiln_s7_PI 3.0\n#endif\n"
            "#define kiln_s7_SQ(x) ((x) * kiln_s7_SQ(x))\n"
            "#if defined(kiln_s7_PI) && defined kiln_s7_SQ && "
            "!defined(OTHER)\n#elif kiln_s7_PI > 3\n#error PI is SQ\n#endif\n"
            "#undef kiln_s7_PI\n#include \"PI\"\n");
  EXPECT_THAT(isolated.macros, ElementsAre("kiln_s7_PI", "kiln_s7_SQ"));
}

// As the preprocessor has it: it knows no members.
TEST(SurfaceNamesTest, MacroIsRenamedBehindADotWhereItWouldBeExpanded) {
  EXPECT_EQ(Isolated("#define tint albedo\n#define noise(x) x\n"
                     "void f() { s.tint = s.noise + s.noise(1); }"),
            "#define kiln_s3_tint albedo\n#define kiln_s3_noise(x) x\n"
            "void kiln_s3_f() { s.kiln_s3_tint = s.noise + "
            "s.kiln_s3_noise(1); }");
}

TEST(SurfaceNamesTest, FunctionThatIsOnlyDeclaredKeepsItsName) {
  EXPECT_EQ(Isolated("float Sun(vec3 n);\nfloat own(vec3 n);\n"
                     "float own(vec3 n) { return Sun(n); }"),
            "float Sun(vec3 n);\nfloat kiln_s3_own(vec3 n);\n"
            "float kiln_s3_own(vec3 n) { return Sun(n); }");
}

TEST(SurfaceNamesTest, NumbersSwizzlesAndDirectiveNamesAreNoNames) {
  EXPECT_EQ(Isolated("const float f = 1.f, e = 1e3, x = v.x, define = 0x1f;\n"
                     "#define A 1\n"),
            "const float kiln_s3_f = 1.f, kiln_s3_e = 1e3, kiln_s3_x = v.x, "
            "kiln_s3_define = 0x1f;\n#define kiln_s3_A 1\n");
}

TEST(SurfaceNamesTest, NameWithALeadingUnderscoreGetsNoTwoInARow) {
  EXPECT_EQ(IsolatedName("_x", 12), "kiln_t12_x");
  EXPECT_EQ(IsolatedName("x", 12), "kiln_s12_x");
  EXPECT_EQ(RestoreNames("kiln_t12_x kiln_s12_x(kiln_s1__y"), "_x x(_y");
}

TEST(SurfaceNamesTest, RestoredTextSaysWhatItsAuthorWrote) {
  EXPECT_EQ(RestoreNames("'kiln_s3_noise' : no; kiln_s14_f(f1; my_kiln_s3_x"),
            "'noise' : no; f(f1; my_kiln_s3_x");
  for (const std::string_view kept :
       {"kiln_surface", "kiln_s", "kiln_s3", "kiln_s_x", "kiln_t", "kiln_tx",
        "kiln_s3x", "", "xkiln_s3_a"}) {
    EXPECT_EQ(RestoreNames(kept), kept);
  }
  const std::string text =
      "#define A(x) x\nstruct _S { int a; };\nfloat f(_S s) { return A(s.a); }";
  EXPECT_EQ(RestoreNames(Isolated(text)), text);
}

TEST(SurfaceNamesTest, LinesCommentsAndLineEndsStayAsTheyAre) {
  const std::string text =
      "\xEF\xBB\xBF"
      "float f(\r\n  float f) // f \xC3\xA4\r\n{ return f; }\r\n"
      "#define G \\\r\n  f\r\n";
  const std::string isolated = Isolated(text);
  EXPECT_EQ(isolated,
            "float kiln_s3_f(\r\n  float kiln_s3_f) // f \xC3\xA4\r\n{ return "
            "kiln_s3_f; }\r\n#define kiln_s3_G \\\r\n  kiln_s3_f\r\n");
  EXPECT_EQ(std::ranges::count(isolated, '\n'), std::ranges::count(text, '\n'));
}

// Everything that two authors may both have, in one set: same names for
// different things, and each in its hardest form.
constexpr std::string_view kTrickyOne = R"(
#define SCALE 2.0
#define noise2(x) (noise(x) * SCALE)
struct Layer { float noise; vec3 color; };
const float kAmount = 0.5, kTable[2] = float[2](0.25, kAmount);
float counter;
float noise(float p) { return fract(p * SCALE) + PI; }
float noise(vec3 p) { return noise(p.x) * noise(p.y); }
#define noise(x) (noise(x) + 1.0)
Layer Make(float noise, float kAmount) { return Layer(kAmount, vec3(counter)); }
void surface(inout Surface s) {
  counter += kTable[1];
  Layer layer = Make(noise(s.position), 1.0);
  { float Make = layer.noise; s.noise = Make; }
  s.albedo = layer.color * noise2(1.0) * Sun(s.position);
}
)";
constexpr std::string_view kTrickyTwo = R"(
const int SCALE = 3;
float kAmount(float noise) { return noise; }
vec3 Layer(vec3 Make) { return Make; }
struct noise { float noise; float counter[SCALE]; };
float _counter() { return draw.seconds; }
#define Make noise
#define MEMBER noise
void surface(inout Surface s);
void surface(inout Surface s) {
  Make counter;
  counter.noise = kAmount(_counter());
  s.albedo = Layer(s.albedo) * counter.noise;
  struct L { noise noise; } l;
  l.noise.noise = 1.0;
  s.noise = l.noise.noise;
})";

TEST(SurfaceNamesTest, SurfacesWithEqualNamesCompileIntoOneValidModule) {
  const SurfaceSet set =
      SetOf({{"one", kTrickyOne},
             {"two", kTrickyTwo},
             {"three", std::string("// a third\n") + std::string(kTrickyOne)}});
  for (const auto& [index, surface] : set.surfaces()) {
    const absl::Status checked = CheckSurface(
        WholeSlot(), surface.text, surface.name, ContextOf(WholeProgram()));
    EXPECT_TRUE(checked.ok()) << checked;
  }
  const shaders::StageResult result = CompileWith(set);
  ASSERT_TRUE(result.ok()) << result.diagnostics;
  EXPECT_EQ(result.diagnostics, "");
  EXPECT_TRUE(shaders::ValidateModule(result.spirv).ok());
  EXPECT_EQ(DeclaredBy(result.spirv), DeclaredBy(CompileWith({}).spirv));
}

TEST(SurfaceNamesTest, MacrosOfASurfaceEndWithIt) {
  const SurfaceSet set =
      SetOf({{"one",
              "#define A 1.0\nvoid surface(inout Surface s) { s.noise = "
              "A; }"}});
  const Program applied = Applied(set);
  EXPECT_THAT(applied.FindFile("surfaces.glsl")->text,
              HasSubstr("\n#undef kiln_s1_A\n"));
}

}  // namespace
}  // namespace kiln::surface
