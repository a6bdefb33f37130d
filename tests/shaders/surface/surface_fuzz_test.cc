// SPDX-License-Identifier: Apache-2.0

// Texts that nobody would write. What must hold of each: nothing crashes, and a
// text that is accepted and compiles adds no resource, input, output, entry
// point or extension to the whole shader. Seeds are fixed, so a failure
// repeats.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "shaders/surface/surface_diagnostics.h"
#include "shaders/surface/surface_names.h"
#include "shaders/surface/surface_rules.h"
#include "shaders/surface/tokens.h"
#include "tests/shaders/surface/whole_shader.h"

namespace kiln::surface {
namespace {

using Random = std::mt19937;

// What makes trouble, in pieces that can come together.
constexpr std::string_view kPieces[] = {
    "layout",
    "(set = 0, binding = 3)",
    "uniform",
    "sampler2D",
    "t",
    "buffer",
    "in",
    "out",
    "main",
    "void main() {}",
    "void",
    "surface",
    "Surface",
    "s",
    "(inout Surface s)",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "=",
    ".",
    "#",
    "##",
    "\n",
    "\n#define ",
    "\n#define F(x) x\n",
    "F(",
    "\n#undef ",
    "\n#if 1\n",
    "\n#if 0\n",
    "\n#ifdef F\n",
    "\n#else\n",
    "\n#elif 1\n",
    "\n#endif\n",
    "\n#extension GL_EXT_ray_query : enable\n",
    "\n#pragma x\n",
    "\n#include \"a\"\n",
    "\n#include <",
    "\n#error x\n",
    "\\\n",
    "\\",
    "\r",
    "\r\n",
    "//",
    "/*",
    "*/",
    "\"",
    "'",
    "RESOURCE(3)",
    "JOIN(lay, out)",
    "JOIN(uni, form)",
    "INDIRECT(2)",
    "VARYING",
    "ID(",
    "OPEN",
    "PI",
    "kiln_surface",
    "kiln_s1_f",
    "gl_FragDepth",
    "float",
    "vec4",
    "const",
    "static",
    "struct S {",
    "};",
    "float x;",
    "float f() { return 1.0; }",
    "f()",
    "s.noise = 1.0;",
    "texture(map, vec2(0.0))",
    "1",
    "0x",
    "1e",
    "1.0",
    "1layout",
    "noise",
    "_x",
    "__",
    "\xEF\xBB\xBF",
    "\xFF",
    "\xC3\xA4",
    "<%",
    "precision highp float;",
    "invariant",
    "shared",
    "register(t0)",
    ":",
    "Texture2D",
    "SamplerState",
    "cbuffer C {",
    "[[vk::binding(3)]]",
    "[numthreads(1, 1, 1)]",
    "typedef",
    "nonuniformEXT",
    "rayQueryEXT"};

constexpr std::string_view kGlslText = R"(
#define SCALE 2.0
#define APPLY(x) ((x) * SCALE)
struct Layer { float noise; vec3 color; };
const float kAmount = 0.5, kTable[2] = float[2](0.25, kAmount);
float counter;
float noise(float p) { return fract(APPLY(p)) + PI; }
#ifdef LOW
float noise(vec3 p) { return 0.0; }
#else
float noise(vec3 p) { return noise(p.x) * noise(p.y); }
#endif
vec4 Read(sampler2D t, vec2 uv) { return texture(t, uv); }
void surface(inout Surface s) {
  counter += kTable[1];
  Layer layer = Layer(noise(s.position), vec3(counter));
  s.albedo = layer.color * Read(map, s.position.xy).rgb;
}
)";
constexpr std::string_view kHlslText = R"(
#define SCALE 2.0
struct Layer { float noise; float3 color; };
static const float kTable[2] = {0.25, SCALE};
static float counter;
float Noise(float p) { return frac(p * SCALE); }
float4 Read(Texture2D t, SamplerState r, float2 uv) { return t.Sample(r, uv); }
void surface(inout Surface s) {
  counter += kTable[1];
  Layer layer;
  layer.noise = Noise(counter);
  s.noise = layer.noise;
}
)";
constexpr std::string_view kHlslShader = R"(
#define RESOURCE Texture2D
#define ID(x) x
#define JOIN(a, b) a##b
struct Surface { float3 albedo; float noise; };
Texture2D map : register(t0);
#include "surfaces.glsl"
float4 main(nointerpolation uint index : INDEX) : SV_Target {
  Surface s; s.albedo = map.Load(int3(0, 0, 0)).rgb; s.noise = 0.5;
  kiln_surface(index, s);
  return float4(s.albedo, s.noise);
}
)";

template <typename Range>
auto& Pick(Range& range, Random& random) {
  return range[random() % std::size(range)];
}

// Pieces and blanks, nothing else.
std::string Soup(Random& random) {
  std::string text;
  for (uint32_t i = random() % 60; i > 0; --i) {
    text += Pick(kPieces, random);
    text += random() % 4 == 0 ? "" : " ";
  }
  return text;
}

// `text` with a few pieces put in, parts taken out, moved or doubled.
std::string Mutated(std::string text, Random& random) {
  for (uint32_t i = 1 + random() % 3; i > 0 && !text.empty(); --i) {
    const std::vector<Token> tokens = Tokenize(text).tokens;
    if (tokens.empty()) {
      break;
    }
    const size_t at = Pick(tokens, random).offset;
    const Token& other = Pick(tokens, random);
    const std::string word(other.text);
    switch (random() % 5) {
      case 0:
        text.insert(at, fmt::format(" {} ", Pick(kPieces, random)));
        break;
      case 1:
        text.insert(at, fmt::format(" {} ", word));
        break;
      case 2:
        text.erase(other.offset, word.size());
        break;
      case 3:
        text.replace(other.offset, word.size(), Pick(kPieces, random));
        break;
      default:
        text.insert(0,
                    fmt::format("{} {} {};\n", Pick(kPieces, random),
                                Pick(kPieces, random), Pick(kPieces, random)));
    }
  }
  return text;
}

Program HlslProgram() {
  Program program = WholeProgram();
  program.stages[0].path = program.files[0].path = "main.hlsl";
  program.stages[0].language = Language::kHlsl;
  program.files[0].text = std::string(kHlslShader);
  return program;
}

std::string Joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ";"));
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ';');) {
    parts.push_back(part);
  }
  return parts;
}

// Everything that is done with a text, before anybody has checked it.
void RunAll(const Program& program, const SurfaceContext& context,
            std::string_view text) {
  (void)CheckSurface(program.surface, text, "s", context);
  (void)CheckIncluded(text, "s", context);
  const std::string isolated = IsolateNames(text, 7).text;
  EXPECT_EQ(std::ranges::count(isolated, '\n'), std::ranges::count(text, '\n'));
  for (const SurfaceInclude& include : IncludesOf(text)) {
    EXPECT_GT(include.line, 0u);
  }
  SurfaceSet set;
  ASSERT_TRUE(set.Add("s", text).ok());
  ASSERT_TRUE(set.Add("t", fmt::format("{} ", text)).ok());
  const absl::StatusOr<Program> applied = Apply(program, set);
  ASSERT_TRUE(applied.ok());
  (void)MapDiagnostics("kiln_surfaces/2/t:1: x\nsurfaces.glsl:5: y\n", set,
                       *applied);
}

TEST(SurfaceFuzzTest, NothingCrashesOnTokenSoupsAndCutTexts) {
  Random random(1);
  const Program program = WholeProgram();
  const SurfaceContext context = ContextOf(program);
  for (int i = 0; i < 700; ++i) {
    RunAll(program, context, Soup(random));
    RunAll(program, context, Mutated(std::string(kGlslText), random));
  }
  for (size_t size = 0; size <= kGlslText.size(); ++size) {
    // A buffer of its own, so that a read past its end is one.
    const std::string cut(kGlslText.substr(0, size));
    RunAll(program, context, cut);
  }
}

TEST(SurfaceFuzzTest, NothingCrashesOnRandomBytes) {
  Random random(2);
  const Program program = WholeProgram();
  for (int i = 0; i < 1000; ++i) {
    std::string text(random() % 80, ' ');
    std::ranges::generate(text, [&] { return static_cast<char>(random()); });
    RunAll(program, {}, text);
  }
}

std::string AllOf(int pipe_end) {
  std::string all;
  char piece[4096];
  ssize_t size = 0;
  while ((size = read(pipe_end, piece, sizeof piece)) > 0) {
    all.append(piece, static_cast<size_t>(size));
  }
  return all;
}

// Compiles `texts`, one by one, in a child: some texts crash glslang, and
// others it never ends. Returns: a line for each that it came to the end of,
// with what the module declares that has the text twice, under other names; "-"
// for one that does not compile.
std::vector<std::string> CompileInChild(const Program& program,
                                        std::span<const std::string> texts) {
  int ends[2];
  if (pipe(ends) != 0) {
    return {};
  }
  const pid_t child = fork();
  if (child == 0) {
    for (const std::string& text : texts) {
      alarm(20);  // seconds; ends it
      const shaders::StageResult alone =
          CompileWith(SetOf({{"s", text}}), program);
      const shaders::StageResult twice =
          CompileWith(SetOf({{"s", text}, {"t", text + "\n"}}), program);
      std::string line = alone.ok() ? "does not compile twice\n" : "-\n";
      if (twice.ok()) {
        line = Joined(DeclaredBy(twice.spirv)) + "\n";
      }
      if (write(ends[1], line.data(), line.size()) < 0) {
        break;
      }
    }
    _exit(0);
  }
  close(ends[1]);
  std::istringstream in(AllOf(ends[0]));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

// Compiles `count` accepted mutations of `text` inside `program`.
// Returns: how many compiled.
int CompileAccepted(const Program& program, const std::string& text,
                    Random& random, size_t count) {
  const SurfaceContext context = ContextOf(program);
  std::vector<std::string> texts = {text};
  while (texts.size() < count) {
    std::string mutated = Mutated(text, random);
    if (CheckSurface(program.surface, mutated, "s", context).ok()) {
      texts.push_back(std::move(mutated));
    }
  }
  // Not of an empty set: of HLSL, what nothing reads is dropped.
  const std::vector<std::string> base = DeclaredBy(
      CompileWith(
          SetOf({{"s", "void surface(inout Surface s) { s.noise = 1.0; }"}}),
          program)
          .spirv);
  int compiled = 0;
  for (size_t at = 0; at < texts.size();) {
    const auto lines = CompileInChild(program, std::span(texts).subspan(at));
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i] == "-") {
        continue;
      }
      ++compiled;
      const std::vector<std::string> declared = Split(lines[i]);
      EXPECT_TRUE(std::ranges::includes(base, declared)) << lines[i] << "\nof\n"
                                                         << texts[at + i];
    }
    at += lines.size() + 1;  // past the one that crashed it
  }
  return compiled;
}

TEST(SurfaceFuzzTest, AcceptedGlslAddsNothingAndMayComeTwice) {
  Random random(3);
  EXPECT_GT(
      CompileAccepted(WholeProgram(), std::string(kGlslText), random, 250), 20)
      << "too few to mean anything";
}

TEST(SurfaceFuzzTest, AcceptedHlslAddsNothingAndMayComeTwice) {
  Random random(4);
  EXPECT_GT(CompileAccepted(HlslProgram(), std::string(kHlslText), random, 250),
            20)
      << "too few to mean anything";
}

// The counting itself: each of these, unchecked, does add something.
TEST(SurfaceFuzzTest, ModulesWithMoreAreToldApart) {
  const std::vector<std::string> declared = DeclaredBy(CompileWith({}).spirv);
  for (const auto& [line, use] :
       {std::pair("RESOURCE(3) sampler2D more;", "texture(more, vec2(0.0)).x"),
        std::pair("layout(set = 0, binding = 3) buffer B { float x; } more;",
                  "more.x"),
        std::pair("layout(location = 1) in vec3 more;", "more.x")}) {
    const shaders::StageResult result = CompileWith(
        SetOf({{"s", fmt::format("#include \"more.glsl\"\nvoid surface(inout "
                                 "Surface s) {{ s.noise = {}; }}",
                                 use)}}),
        WholeProgram({{"more.glsl", line}}));
    ASSERT_TRUE(result.ok()) << result.diagnostics;
    EXPECT_NE(DeclaredBy(result.spirv), declared) << line;
  }
}

}  // namespace
}  // namespace kiln::surface
