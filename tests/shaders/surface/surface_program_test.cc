// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/surface_program.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program_file.h"
#include "tests/shaders/surface/whole_shader.h"
#include "tests/support/status_matchers.h"

namespace kiln::surface {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kSetsNoise =
    "void surface(inout Surface s) { s.noise = 1.0; }\n";
constexpr std::string_view kSetsAlbedo =
    "void surface(inout Surface s) { s.albedo = vec3(0.5); }\n";

SurfaceSet Two() {
  return SetOf({{"rust", kSetsNoise}, {"dir/moss: 2", kSetsAlbedo}});
}

// As kilnd gathers it from roots: every include has its edge.
Program Gathered() {
  Program program = WholeProgram();
  program.stages[0].path = program.files[0].path = "game/main.frag";
  program.includes = {
      {"game/main.frag", "surfaces.glsl", false, "", "no such file"}};
  return program;
}

TEST(SurfaceProgramTest, GeneratedFileCallsEachSurfaceByItsIndex) {
  SurfaceSet set = Two();
  EXPECT_OK(set.Add("third", "void surface(inout Surface s) {}"));
  EXPECT_OK(set.Remove(1));
  ASSERT_OK_AND_ASSIGN(
      const GeneratedFile file,
      Generate({"x", "surface", "const in vec3 a[2], inout Surface s"}, set));
  EXPECT_EQ(file.text,
            "// Made by Kiln: the surface shaders, and which index is which.\n"
            "#include <kiln_surfaces/2/dir_moss__2>\n"
            "#include <kiln_surfaces/3/third>\n"
            "void kiln_surface(uint kiln_index, const in vec3 a[2], inout "
            "Surface s) {\n"
            "  switch (kiln_index) {\n"
            "    case 2u: kiln_s2_surface(a, s); break;\n"
            "    case 3u: kiln_s3_surface(a, s); break;\n"
            "    default: break;\n"
            "  }\n}\n");
}

TEST(SurfaceProgramTest, EmptySetGivesADispatchThatDoesNothing) {
  ASSERT_OK_AND_ASSIGN(const Program applied, Apply(WholeProgram(), {}));
  EXPECT_EQ(applied.files.size(), 2u);
  const shaders::StageResult result =
      shaders::CompileStage(applied, Stage::kFragment);
  EXPECT_TRUE(result.ok()) << result.diagnostics;
  ASSERT_OK_AND_ASSIGN(const GeneratedFile none, Generate({"x", "f", ""}, {}));
  EXPECT_THAT(none.text,
              HasSubstr("void kiln_surface(uint kiln_index) {\n}\n"));
}

TEST(SurfaceProgramTest, SelfContainedProgramWithSurfacesCompiles) {
  const Program applied = Applied(Two());
  EXPECT_TRUE(std::ranges::is_sorted(applied.files, {}, &SourceFile::path));
  EXPECT_NE(applied.FindFile("surfaces.glsl"), nullptr);
  EXPECT_NE(applied.FindFile("kiln_surfaces/1/rust"), nullptr);
  EXPECT_TRUE(applied.includes.empty());
  const shaders::StageResult result =
      shaders::CompileStage(applied, Stage::kFragment);
  EXPECT_TRUE(result.ok()) << result.diagnostics;
  EXPECT_EQ(result.diagnostics, "");
}

TEST(SurfaceProgramTest, DefaultOfTheProgramIsReplacedWhereverItLies) {
  const std::string fallback = "void kiln_surface(uint i, inout Surface s) {}";
  for (const std::string path : {"surfaces.glsl", "lib/surfaces.glsl"}) {
    Program program = WholeProgram({{path, fallback}});
    if (path != "surfaces.glsl") {  // beside the shader
      std::ranges::find(program.files, "main.frag", &SourceFile::path)->path =
          "lib/main.frag";
      program.stages[0].path = "lib/main.frag";
      std::ranges::sort(program.files, {}, &SourceFile::path);
    }
    const Program applied = Applied(Two(), program);
    EXPECT_EQ(applied.files.size(), 4u);
    EXPECT_THAT(applied.FindFile(path)->text, HasSubstr("kiln_s2_surface"));
    const shaders::StageResult result =
        shaders::CompileStage(applied, Stage::kFragment);
    EXPECT_TRUE(result.ok()) << result.diagnostics;
  }
}

TEST(SurfaceProgramTest, EdgeOfTheSlotLeadsToTheGeneratedFile) {
  const Program applied = Applied(Two(), Gathered());
  EXPECT_THAT(
      applied.includes,
      ElementsAre(IncludeEdge{"game/main.frag", "surfaces.glsl", false,
                              "surfaces.glsl", ""},
                  IncludeEdge{"surfaces.glsl", "kiln_surfaces/1/rust", true,
                              "kiln_surfaces/1/rust", ""},
                  IncludeEdge{"surfaces.glsl", "kiln_surfaces/2/dir_moss__2",
                              true, "kiln_surfaces/2/dir_moss__2", ""}));
  EXPECT_OK(applied.Validate());
  const shaders::StageResult result =
      shaders::CompileStage(applied, Stage::kFragment);
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

TEST(SurfaceProgramTest, DefaultThatAnEdgeOpensIsReplacedWithItsOwnIncludes) {
  Program program = Gathered();
  program.files.push_back({"game/sub/surfaces.glsl", "#include \"more.glsl\""});
  program.files.push_back({"game/sub/more.glsl", ""});
  std::ranges::sort(program.files, {}, &SourceFile::path);
  program.includes = {
      {"game/main.frag", "surfaces.glsl", false, "game/sub/surfaces.glsl", ""},
      {"game/sub/surfaces.glsl", "more.glsl", false, "game/sub/more.glsl", ""}};
  EXPECT_OK(program.Validate());
  const Program applied = Applied(Two(), program);
  EXPECT_OK(applied.Validate());
  EXPECT_THAT(GeneratedPaths(applied), ElementsAre("game/sub/surfaces.glsl"));
  EXPECT_THAT(applied.FindFile("game/sub/surfaces.glsl")->text,
              HasSubstr("kiln_s1_surface"));
  EXPECT_EQ(applied.includes.size(), 3u);
  const shaders::StageResult result =
      shaders::CompileStage(applied, Stage::kFragment);
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

TEST(SurfaceProgramTest, IncludesOfSurfacesOpenFilesOfTheProgram) {
  Program program = Gathered();
  program.files.push_back(
      {"game/lib/noise.glsl", "#pragma once\nfloat Noise() { return 0.5; }\n"});
  std::ranges::sort(program.files, {}, &SourceFile::path);
  const std::string_view text =
      "#include \"lib/noise.glsl\"\n#include <lib/noise.glsl>\n"
      "void surface(inout Surface s) { s.noise = Noise(); }";
  const SurfaceSet set = SetOf({{"a", text}, {"b", std::string(text) + "\n"}});
  const Program applied = Applied(set, program);
  EXPECT_OK(applied.Validate());
  const shaders::StageResult result =
      shaders::CompileStage(applied, Stage::kFragment);
  EXPECT_TRUE(result.ok()) << result.diagnostics;
  // Self-contained, by the path from its root.
  const shaders::StageResult whole = CompileWith(
      set, WholeProgram({{"lib/noise.glsl",
                          "#pragma once\nfloat Noise() { return 0.5; }\n"}}));
  EXPECT_TRUE(whole.ok()) << whole.diagnostics;
}

TEST(SurfaceProgramTest, ResolverDecidesWhatAnIncludeOpens) {
  const SurfaceSet set = SetOf(
      {{"a",
        "#include \"x\"\n#include <y>\nvoid surface(inout Surface s) {}"}});
  const absl::StatusOr<Program> applied =
      Apply(Gathered(), set,
            [](const Program&,
               const SurfaceInclude& include) -> absl::StatusOr<std::string> {
              if (include.angled) {
                return std::string("game/main.frag");
              }
              return absl::NotFoundError("not today");
            });
  ASSERT_OK(applied);
  EXPECT_OK(applied->Validate());
  EXPECT_THAT(
      applied->includes,
      ::testing::IsSupersetOf(
          {IncludeEdge{"kiln_surfaces/1/a", "x", false, "", "not today"},
           IncludeEdge{"kiln_surfaces/1/a", "y", true, "game/main.frag", ""}}));
}

TEST(SurfaceProgramTest, ProgramThatTakesNoneTakesOnlyAnEmptySet) {
  Program program = WholeProgram();
  program.surface = {};
  EXPECT_THAT(Apply(program, Two()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "whole"));
  EXPECT_OK(Apply(program, {}));
  Program unused = Gathered();
  unused.includes[0].name = "other.glsl";
  EXPECT_THAT(Apply(unused, Two()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "surfaces.glsl"));
  Program unnamed = WholeProgram();
  unnamed.surface.parameters = "Surface";
  EXPECT_THAT(Apply(unnamed, Two()),
              StatusIs(absl::StatusCode::kInvalidArgument, "parameter 1"));
}

TEST(SurfaceProgramTest, SurfacePathIsAPathWhateverTheName) {
  EXPECT_EQ(SurfacePath(3, "rust.glsl"), "kiln_surfaces/3/rust.glsl");
  EXPECT_EQ(SurfacePath(3, ".."), "kiln_surfaces/3/_.");
  EXPECT_EQ(SurfacePath(3, "a../..b"), "kiln_surfaces/3/a.__._b");
  EXPECT_EQ(SurfacePath(3, "\xC3\xA4>\"\n"), "kiln_surfaces/3/_____");
  EXPECT_EQ(SurfacePath(3, std::string(200, 'n')).size(), 16u + 64u);
}

TEST(SurfaceProgramTest, SameProgramAndSetGiveTheSameBytes) {
  EXPECT_EQ(EncodeProgram(Applied(Two(), Gathered())),
            EncodeProgram(Applied(Two(), Gathered())));
}

TEST(SurfaceProgramTest, FullSetOfSurfacesCompiles) {
  SurfaceSet set;
  for (int i = 1; i <= 255; ++i) {
    EXPECT_OK(set.Add("s", fmt::format("const float k = {}.0;\nvoid surface("
                                       "inout Surface s) {{ s.noise = k; }}",
                                       i)));
  }
  const shaders::StageResult result = CompileWith(set);
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

TEST(SurfaceProgramTest, HlslProgramTakesSurfacesToo) {
  Program program = WholeProgram();
  program.stages[0].path = program.files[0].path = "main.hlsl";
  program.stages[0].language = Language::kHlsl;
  program.files[0].text =
      "struct Surface { float3 albedo; float noise; };\n"
      "#include \"surfaces.glsl\"\n"
      "float4 main(uint index : INDEX) : SV_Target {\n"
      "  Surface s; s.albedo = float3(1, 0, 0); s.noise = 0.5;\n"
      "  kiln_surface(index, s);\n  return float4(s.albedo, s.noise);\n}\n";
  const std::string_view text =
      "static const float k[2] = {1, 2};\nstatic float noise;\n"
      "float4 Mix(float noise) { return float4(noise, k[1], 0, 0); }\n"
      "void surface(inout Surface s) { noise += 1; s.noise = "
      "Mix(s.noise).x + noise; }\n";
  const SurfaceSet set = SetOf({{"a", text}, {"b", std::string(text) + "\n"}});
  const SurfaceContext context = ContextOf(program);
  EXPECT_EQ(context.language, Language::kHlsl);
  EXPECT_OK(CheckSurface(program.surface, text, "a", context));
  const shaders::StageResult result = CompileWith(set, program);
  ASSERT_TRUE(result.ok()) << result.diagnostics;
  EXPECT_THAT(DeclaredBy(result.spirv),
              ElementsAre("decoration 30 0", "decoration 30 0",
                          "entry point main", "mode 7"));
}

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(SurfaceProgramTest, ExampleProgramTakesItsExampleSurfaces) {
  const std::filesystem::path folder =
      std::filesystem::path(KILN_SOURCE_DIR) / "shaders/examples/surface";
  ASSERT_OK_AND_ASSIGN(const Program program,
                       LoadProgramFile(folder / "surface.program.toml"));
  SurfaceSet set;
  for (const char* file : {"rust.surface.glsl", "moss.surface.glsl"}) {
    const std::string text = TextOf(folder / file);
    EXPECT_OK(CheckSurface(program.surface, text, file, ContextOf(program)));
    EXPECT_OK(set.Add(file, text));
  }
  const Program applied = Applied(set, program);
  EXPECT_OK(applied.Validate());
  for (const Stage stage : {Stage::kVertex, Stage::kFragment}) {
    const shaders::StageResult result = shaders::CompileStage(applied, stage);
    EXPECT_TRUE(result.ok()) << result.diagnostics;
    EXPECT_EQ(result.diagnostics, "");
  }
  const shaders::StageResult base =
      shaders::CompileStage(Applied({}, program), Stage::kFragment);
  EXPECT_EQ(DeclaredBy(shaders::CompileStage(applied, Stage::kFragment).spirv),
            DeclaredBy(base.spirv));
}

}  // namespace
}  // namespace kiln::surface
