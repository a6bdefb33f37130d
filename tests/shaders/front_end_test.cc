// SPDX-License-Identifier: Apache-2.0

// GLSL and HLSL: what each front end takes, and that whatever is wrong with a
// source is said by path and line. SPIR-V is in spirv_front_end_test.cc; what
// never ends, or crashes, in tests/daemon/.

#include "shaders/front_end.h"

#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/limits.h"
#include "proto/spirv_view.h"
#include "proto/text.h"
#include "tests/shaders/assembly.h"
#include "tests/shaders/constant_programs.h"
#include "tests/shaders/sources.h"
#include "tests/support/status_matchers.h"

namespace kiln::shaders {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kMark = "\xEF\xBB\xBF";

StageResult CompileHlsl(std::string text, Stage stage = Stage::kFragment,
                        std::string entry = "main",
                        std::vector<SourceFile> files = {},
                        std::vector<Define> defines = {}) {
  Program program;
  program.name = "test";
  program.stages = {{stage, "main.hlsl", Language::kHlsl, std::move(entry)}};
  program.files = std::move(files);
  program.files.push_back({"main.hlsl", std::move(text)});
  program.defines = std::move(defines);
  std::ranges::sort(program.files, {}, &SourceFile::path);
  return CompileStage(program, stage);
}

std::string DiagnosticsOf(std::string text,
                          std::vector<SourceFile> files = {}) {
  const StageResult result = CompileFragment(std::move(text), std::move(files));
  EXPECT_FALSE(result.ok());
  EXPECT_TRUE(IsValidUtf8(result.diagnostics));
  return result.diagnostics;
}

// Name and execution model of each entry point of a module.
std::vector<std::string> EntriesOf(std::span<const uint32_t> spirv) {
  std::vector<std::string> entries;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    if (instruction.opcode == 15) {
      entries.push_back(fmt::format("{} {}", LiteralText(instruction, 3),
                                    instruction.word(1)));
    }
  });
  return entries;
}

constexpr std::string_view kHlsl = R"(
Texture2D albedo : register(t1);
SamplerState smooth : register(s2);
cbuffer Camera : register(b0, space1) { float4x4 view; };
StructuredBuffer<float4> tints : register(t4);
RWStructuredBuffer<float4> results : register(u5);
[[vk::constant_id(7)]] const uint Features = 3;
struct Varyings { float4 position : SV_Position; float2 uv : TEXCOORD0; };
Varyings project(float3 position : POSITION, float2 uv : TEXCOORD0) {
  Varyings v;
  v.position = mul(view, float4(position, 1.0));
  v.uv = uv;
  return v;
}
float4 shade(Varyings v) : SV_Target0 {
  return albedo.Sample(smooth, v.uv) * tints[0] * Features;
}
[numthreads(8, 4, 1)]
void work(uint3 id : SV_DispatchThreadID) { results[id.x] = tints[id.y]; }
)";

TEST(FrontEndTest, EachFunctionOfAnHlslFileIsAnEntryPointUnderItsOwnName) {
  EXPECT_THAT(
      EntriesOf(
          CompileHlsl(std::string(kHlsl), Stage::kVertex, "project").spirv),
      ElementsAre("project 0"));
  EXPECT_THAT(
      EntriesOf(
          CompileHlsl(std::string(kHlsl), Stage::kFragment, "shade").spirv),
      ElementsAre("shade 4"));
  EXPECT_THAT(
      EntriesOf(CompileHlsl(std::string(kHlsl), Stage::kCompute, "work").spirv),
      ElementsAre("work 5"));
}

TEST(FrontEndTest, HlslModuleIsValidAndHasItsConstants) {
  const StageResult result =
      CompileHlsl(std::string(kHlsl), Stage::kFragment, "shade");
  ASSERT_TRUE(result.ok()) << result.diagnostics;
  EXPECT_OK(ValidateModule(result.spirv));
  EXPECT_THAT(SpecializationIds(result.spirv), ElementsAre(7));
}

TEST(FrontEndTest, HlslFunctionThatIsNotThereIsAMissingEntryPoint) {
  EXPECT_THAT(
      CompileHlsl(std::string(kHlsl), Stage::kFragment, "nope").diagnostics,
      AllOf(StartsWith("main.hlsl:1: error: entry point missing"),
            HasSubstr("'nope'")));
}

TEST(FrontEndTest, HlslIncludesAndDefinesWorkAndErrorsNameTheirFile) {
  const std::string text =
      "#include \"lib/tint.hlsli\"\n"
      "float4 main() : SV_Target { return tint() * SCALE; }\n";
  EXPECT_TRUE(CompileHlsl(text, Stage::kFragment, "main",
                          {{"lib/tint.hlsli",
                            "#pragma once\nfloat4 tint() { return 0.5; }\n"}},
                          {{"SCALE", "2.0"}})
                  .ok());
  EXPECT_THAT(CompileHlsl(text, Stage::kFragment, "main",
                          {{"lib/tint.hlsli",
                            "\n\nfloat4 tint() { return missing; }\n"}},
                          {{"SCALE", "2.0"}})
                  .diagnostics,
              StartsWith("lib/tint.hlsli:3: error: "));
  EXPECT_THAT(
      CompileHlsl(text).diagnostics,
      AllOf(StartsWith("main.hlsl:1: error: "), HasSubstr("lib/tint.hlsli")));
}

TEST(FrontEndTest, HlslErrorOfNoPlaceIsGivenThePlaceOfTheRepeatedId) {
  EXPECT_THAT(CompileHlsl("[[vk::constant_id(1)]] const int a = 4;\n"
                          "[[vk::constant_id(2)]] const int c = 4;\n"
                          "[[vk::constant_id( 1 )]] const float b = 4;\n"
                          "float4 main() : SV_Target { return a + b + c; }\n")
                  .diagnostics,
              StartsWith("main.hlsl:3: error: 'constant_id'"));
}

TEST(FrontEndTest, HlslResourcesWithoutRegistersGetBindingsOfTheirOwn) {
  const StageResult result = CompileHlsl(
      "Texture2D a; Texture2D b; SamplerState s;\n"
      "float4 main(float2 uv : UV) : SV_Target {\n"
      "  return a.Sample(s, uv) + b.Sample(s, uv);\n}\n");
  ASSERT_TRUE(result.ok()) << result.diagnostics;
  std::vector<uint32_t> bindings;
  ForEachInstruction(result.spirv, [&](const Instruction& instruction) {
    if (instruction.opcode == 71 && instruction.word(2) == 33) {
      bindings.push_back(instruction.word(3));
    }
  });
  std::ranges::sort(bindings);
  EXPECT_THAT(bindings, ElementsAre(0, 1, 2));
}

TEST(FrontEndTest, GlslEntryPointOtherThanMainIsRefusedInWords) {
  Program program = FragmentProgram(Fragment("void main() {}\n"));
  program.stages[0].entry = "shade";
  EXPECT_THAT(CompileStage(program, Stage::kFragment).diagnostics,
              AllOf(StartsWith("main.frag:1: error: entry point missing"),
                    HasSubstr("'shade'")));
}

TEST(FrontEndTest, GlslWithoutMainIsAMissingEntryPoint) {
  EXPECT_THAT(DiagnosticsOf(Fragment("float f() { return 1.0; }\n")),
              AllOf(StartsWith("main.frag:1: error: "),
                    HasSubstr("Missing entry point")));
}

TEST(FrontEndTest, GlslWithTwoMainsIsRefusedWithTheSecondLine) {
  EXPECT_THAT(DiagnosticsOf(Fragment("void main() {}\nvoid main() {}\n")),
              StartsWith("main.frag:4: error: "));
}

TEST(FrontEndTest, SourceOfAnotherStageIsRefusedWithItsLine) {
  EXPECT_THAT(
      DiagnosticsOf("#version 450\nvoid main() { gl_Position = vec4(1); }\n"),
      StartsWith("main.frag:2: error: 'gl_Position'"));
  EXPECT_THAT(DiagnosticsOf("#version 450\nlayout(local_size_x = 8) in;\n"
                            "void main() {}\n"),
              StartsWith("main.frag:2: error: "));
}

TEST(FrontEndTest, MissingFileIsSaid) {
  Program program = FragmentProgram("");
  program.files.clear();
  EXPECT_THAT(CompileStage(program, Stage::kFragment).diagnostics,
              HasSubstr("no such file"));
}

TEST(FrontEndTest, SpirvInATextStageIsRefusedAsSpirv) {
  const std::string bytes =
      BytesOf(FragmentModule("void main() { color = vec4(1); }"));
  EXPECT_THAT(DiagnosticsOf(bytes), HasSubstr("this is SPIR-V"));
  EXPECT_THAT(CompileHlsl(bytes).diagnostics, HasSubstr("this is SPIR-V"));
}

TEST(FrontEndTest, ByteOrderMarksChangeNothing) {
  const std::string text = Fragment(
      "#include \"lib.glsl\"\n#include \"lib.glsl\"\n"
      "void main() { color = f(); }\n");
  const std::string lib = "#pragma once\nvec4 f() { return vec4(1); }\n";
  const StageResult plain = CompileFragment(text, {{"lib.glsl", lib}});
  const StageResult marked = CompileFragment(
      std::string(kMark) + text, {{"lib.glsl", std::string(kMark) + lib}});
  ASSERT_TRUE(plain.ok()) << plain.diagnostics;
  EXPECT_EQ(marked.spirv, plain.spirv) << marked.diagnostics;
  EXPECT_TRUE(CompileHlsl(std::string(kMark) +
                          "float4 main() : SV_Target { return 1.0; }\n")
                  .ok());
}

TEST(FrontEndTest, LineEndsOfAnyKindGiveTheSameModuleAndLines) {
  const std::string text = Fragment(
      "#define SUM(a, b) \\\n  (a + b)\n"
      "void main() { color = vec4(SUM(1, 2)); }\n");
  std::string crlf;
  for (const char c : text) {
    crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  }
  EXPECT_EQ(CompileFragment(crlf).spirv, CompileFragment(text).spirv);
  EXPECT_THAT(DiagnosticsOf(crlf + "x;\r\n"), StartsWith("main.frag:6: error"));
  const std::string unfinished = text.substr(0, text.size() - 1);
  EXPECT_EQ(CompileFragment(unfinished).spirv, CompileFragment(text).spirv);
  EXPECT_TRUE(CompileFragment(text + "// no line end").ok());
}

TEST(FrontEndTest, NulByteIsRefusedWithItsLineAlsoInAnInclude) {
  const std::string text = Fragment("void main() { color = vec4(1); }\n");
  EXPECT_THAT(DiagnosticsOf(text + "// " + std::string(1, '\0') + "\n"),
              AllOf(StartsWith("main.frag:4: error: "), HasSubstr("NUL")));
  EXPECT_THAT(DiagnosticsOf(Fragment("#include \"lib.glsl\"\n"),
                            {{"lib.glsl", "\n" + std::string(1, '\0') + "\n"}}),
              AllOf(StartsWith("main.frag:3: error: "),
                    HasSubstr("lib.glsl:2: error"), HasSubstr("NUL")));
}

TEST(FrontEndTest, Utf16IsRefusedAsSuch) {
  for (const std::string mark : {"\xFF\xFE", "\xFE\xFF"}) {
    EXPECT_THAT(DiagnosticsOf(mark + std::string("#\0v\0", 4)),
                AllOf(StartsWith("main.frag:1: error: "), HasSubstr("UTF-16")));
  }
}

// KNOWN_FAULTS 9.
TEST(FrontEndTest, InvalidUtf8IsRightInACommentAndAnErrorInCode) {
  EXPECT_TRUE(
      CompileFragment(Fragment("// caf\xE9\nvoid main() { color = vec4(1); }"))
          .ok());
  EXPECT_THAT(DiagnosticsOf(Fragment("void main() { float caf\xE9 = 1.0; }\n")),
              StartsWith("main.frag:3: error: "));
  const StageResult hlsl =
      CompileHlsl("float4 main() : SV_Target { caf\xE9; return 1.0; }\n");
  EXPECT_FALSE(hlsl.ok());
  EXPECT_TRUE(IsValidUtf8(hlsl.diagnostics));
}

TEST(FrontEndTest, ErrorOfNoLineIsGivenTheVersionLine) {
  EXPECT_THAT(DiagnosticsOf("// a comment\n#version 999\nvoid main() {}\n"),
              StartsWith("main.frag:2: error: "));
  EXPECT_THAT(DiagnosticsOf("void main() {}\n"),
              StartsWith("main.frag:1: error: "));
}

// KNOWN_FAULTS 43.
TEST(FrontEndTest, LineDirectiveInAnIncludeIsHonouredAndEndsWithTheInclude) {
  const std::string diagnostics = DiagnosticsOf(
      Fragment("#include \"gen.glsl\"\nvoid main() { color = vec3(1); }\n"),
      {{"gen.glsl",
        "#line 900 \"other.glsl\"\nfloat a() { return vec2(1); }\n"}});
  EXPECT_THAT(diagnostics, StartsWith("other.glsl:900: error: "));
  EXPECT_THAT(diagnostics, HasSubstr("\nmain.frag:4: error: "));
}

TEST(FrontEndTest, LineDirectiveWithANumberKeepsThePath) {
  EXPECT_THAT(
      DiagnosticsOf(Fragment("#line 100 1\nvoid main() { missing; }\n")),
      StartsWith("main.frag:100: error: "));
}

// KNOWN_FAULTS 41.
TEST(FrontEndTest, IncludeComputedByAMacroIsRefusedWithWhatToWrite) {
  const std::string diagnostics = DiagnosticsOf(
      Fragment("#define NAME \"lib.glsl\"\n#include NAME\nvoid main() {}\n"),
      {{"lib.glsl", ""}});
  EXPECT_THAT(diagnostics, StartsWith("main.frag:4: error: '#include'"));
  EXPECT_THAT(diagnostics,
              HasSubstr("main.frag:4: note: an #include needs the name itself, "
                        "in quotes or <>"));
  EXPECT_THAT(CompileHlsl("#define NAME \"a\"\n#include NAME\n").diagnostics,
              HasSubstr("main.hlsl:2: note: "));
}

// KNOWN_FAULTS 12 and 25, as far as a program can have them.
TEST(FrontEndTest, IncludesThatDoNotOpenAreErrorsAtTheIncludingLine) {
  EXPECT_THAT(DiagnosticsOf(Fragment("\n#include \"../secret\"\n")),
              AllOf(StartsWith("main.frag:4: error: "), HasSubstr("secret")));
  EXPECT_THAT(DiagnosticsOf(Fragment("#include \"/etc/passwd\"\n")),
              StartsWith("main.frag:3: error: "));
  EXPECT_THAT(DiagnosticsOf(Fragment("#include \"a.glsl\"\n"),
                            {{"a.glsl", "#include \"./a.glsl\"\n"}}),
              AllOf(StartsWith("a.glsl:1: error: "), HasSubstr("circular")));
}

TEST(FrontEndTest, DefineThatDoesNotParseIsAnErrorWhereItIsUsed) {
  Program program = FragmentProgram(Fragment("\nvoid main() { color = X; }\n"));
  program.defines = {{"X", "vec4(1.0"}};
  EXPECT_THAT(CompileStage(program, Stage::kFragment).diagnostics,
              StartsWith("main.frag:4: error: "));
}

TEST(FrontEndTest, RepeatedConstantIdIsRefusedWithItsLine) {
  EXPECT_THAT(
      DiagnosticsOf(Fragment(
          "layout(constant_id = 1) const int a = 1;\n"
          "layout(constant_id = 1) const float b = 1.0;\nvoid main() {}")),
      AllOf(StartsWith("main.frag:4: error: "), HasSubstr("id already used")));
}

// The workgroup would be of 1, and the shader believe in 64.
TEST(FrontEndTest, WorkgroupSizeAndConstantWithTwoDefaultsAreRefused) {
  auto compile = [](std::string_view size) {
    return CompileStage(
        ComputeProgram(fmt::format(
            "#version 450\nlayout({}) in;\n"
            "layout(constant_id = 5) const uint Size = 64;\n"
            "layout(set = 0, binding = 0) buffer B {{ uint r[Size]; }};\n"
            "void main() {{ r[gl_LocalInvocationIndex] = Size; }}\n",
            size)),
        Stage::kCompute);
  };
  EXPECT_THAT(
      compile("local_size_x_id = 5").diagnostics,
      AllOf(StartsWith("main.comp:3: error: constant_id 5 has two defaults: "),
            HasSubstr("layout(local_size_x = 64, local_size_x_id = 5)")));
  EXPECT_TRUE(compile("local_size_x = 64, local_size_x_id = 5").ok());
}

TEST(FrontEndTest, ArraySizedByAConstantCompilesInBothLanguages) {
  EXPECT_TRUE(CompileFragment(
                  Fragment("layout(constant_id = 3) const int n = 4;\n"
                           "void main() { float a[n]; for (int i = 0; i < n; "
                           "++i) { a[i] = float(i); }\n"
                           "color = vec4(a[n - 1], a.length(), 0, 0); }\n"))
                  .ok());
  const StageResult hlsl = CompileHlsl(
      "[[vk::constant_id(3)]] const int n = 4;\n"
      "float4 main() : SV_Target { float a[n]; a[n - 1] = n; return a[0]; }\n");
  EXPECT_TRUE(hlsl.ok()) << hlsl.diagnostics;
  EXPECT_THAT(SpecializationIds(hlsl.spirv), ElementsAre(3));
}

TEST(FrontEndTest, TwentyMegabytesOfSourceCompile) {
  std::string text = Fragment("");
  while (text.size() < (20u << 20)) {
    text += "// " + std::string(120, 'x') + "\n";
  }
  const StageResult result =
      CompileFragment(text + "void main() { color = vec4(1); }\n");
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

TEST(FrontEndTest, HundredThousandDefinesInTheSourceCompile) {
  std::string text = Fragment("");
  for (int i = 0; i < 100000; ++i) {
    text += fmt::format("#define NAME_{} {}\n", i, i);
  }
  const StageResult result =
      CompileFragment(text + "void main() { color = vec4(NAME_99999); }\n");
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

TEST(FrontEndTest, HundredThousandDefinesOfAProgramAreRefusedWithTheLimit) {
  Program program = FragmentProgram(Fragment("void main() {}\n"));
  program.kinds = {{{"only", {}, {}}}};
  program.backdrops = {{"none", {}, {}}};
  program.blends = {{"none", {}, {}}};
  ASSERT_OK(program.Validate());
  for (int i = 0; i < 100000; ++i) {
    program.defines.push_back({fmt::format("NAME_{}", i), "1"});
  }
  EXPECT_THAT(program.Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("defines"), HasSubstr("100000"),
                             HasSubstr(fmt::format("{}", limits::kDefines)))));
}

// KNOWN_FAULTS 37: valid, but 19 MB, of names.
TEST(FrontEndTest, ModuleOverTheLimitSaysItsSizeAndWhatToLookFor) {
  std::string text = Fragment("void main() {\n");
  for (int i = 0; i < 20000; ++i) {
    text +=
        fmt::format("float {}{} = gl_FragCoord.x;\n", std::string(950, 'n'), i);
  }
  EXPECT_THAT(DiagnosticsOf(text + "color = vec4(1); }\n"),
              AllOf(StartsWith("main.frag:1: error: the module has "),
                    HasSubstr("over the limit of 16777216"),
                    HasSubstr("look for large constant arrays")));
}

// The validator would count half a billion locations.
TEST(FrontEndTest, InputThatNoDeviceHasTheLocationsForIsRefused) {
  EXPECT_THAT(
      DiagnosticsOf(Fragment("layout(location = 0) in Part { vec4 a; "
                             "float wide[536870912]; } part;\n"
                             "void main() { color = vec4(part.wide[3]); }\n")),
      AllOf(StartsWith("main.frag:1: error: `part` has 536870916 components"),
            HasSubstr("over the limit of 65536")));
}

TEST(FrontEndTest, ThreadsCompileAtOnceAndGetTheSameModules) {
  const std::vector<uint32_t> expected =
      CompileFragment(Fragment("void main() { color = vec4(1); }\n")).spirv;
  std::vector<std::vector<uint32_t>> made(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < made.size(); ++i) {
    threads.emplace_back([&made, i] {
      made[i] =
          CompileFragment(Fragment("void main() { color = vec4(1); }\n")).spirv;
      EXPECT_TRUE(
          CompileHlsl("float4 main() : SV_Target { return 1.0; }\n").ok());
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::vector<uint32_t>& spirv : made) {
    EXPECT_EQ(spirv, expected);
  }
}

TEST(FrontEndTest, HlslModulesAreTheSameEachTime) {
  EXPECT_EQ(CompileHlsl(std::string(kHlsl), Stage::kFragment, "shade").spirv,
            CompileHlsl(std::string(kHlsl), Stage::kFragment, "shade").spirv);
}

}  // namespace
}  // namespace kiln::shaders
