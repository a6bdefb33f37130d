// SPDX-License-Identifier: Apache-2.0

// The scene's schema, its text and its SPIR-V agree; and each way in which a
// program's could disagree is found and named.

#include "shaders/schema_check.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program_file.h"
#include "shaders/schema_text.h"
#include "tests/shaders/constant_programs.h"
#include "tests/support/status_matchers.h"

namespace kiln::shaders {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Compiles every stage of `program` and compares.
std::vector<std::string> Compare(const Program& program) {
  std::vector<std::vector<uint32_t>> code;
  std::vector<StageModule> modules;
  for (const StageSource& source : program.stages) {
    code.push_back(ModuleOf(program, source.stage));
  }
  for (size_t i = 0; i < code.size(); ++i) {
    modules.push_back({program.stages[i].stage, code[i]});
  }
  return CompareSchema(program, modules);
}

// Replaces the one occurrence of `from` in a file of the program.
void Edit(Program& program, std::string_view path, std::string_view from,
          std::string_view to) {
  for (SourceFile& file : program.files) {
    if (file.path == path) {
      const size_t at = file.text.find(from);
      ASSERT_NE(at, std::string::npos) << from;
      file.text.replace(at, from.size(), to);
      return;
    }
  }
  FAIL() << "no file " << path;
}

class SceneSchemaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(
        scene_,
        LoadProgramFile(KILN_SOURCE_DIR "/shaders/scene/scene.program.toml"));
  }

  void EditFeatures(std::string_view from, std::string_view to) {
    Edit(scene_, "features.glsl", from, to);
  }

  Program scene_;
};

TEST_F(SceneSchemaTest, SchemaTextAndSpirvAgree) {
  EXPECT_THAT(Compare(scene_), IsEmpty());
  EXPECT_EQ(ReadShaderText(scene_).booleans.size(), 17u);
}

TEST_F(SceneSchemaTest, BlockOfAnotherBitIsFoundInTextAndSpirv) {
  EditFeatures("UsesWater = (Features & (1u << 9))",
               "UsesWater = (Features & (1u << 10))");
  EXPECT_THAT(
      Compare(scene_),
      UnorderedElementsAre(
          "feature Water: bit 9 in the schema, bit 10 at features.glsl:22",
          "feature Water: bit 9 in the schema, UsesWater tests bit 10 "
          "(SunShadows) in the fragment stage"));
}

TEST_F(SceneSchemaTest, SwappedBitsOfTheSchemaAreFound) {
  std::swap(scene_.features[4].bit, scene_.features[5].bit);
  EXPECT_THAT(Compare(scene_),
              AllOf(Contains(HasSubstr("feature Lightmap: bit 5 in the schema, "
                                       "bit 4 at features.glsl:")),
                    Contains(HasSubstr("feature BlendMask: bit 4"))));
}

TEST_F(SceneSchemaTest, BlockThatTestsTwoBitsIsFound) {
  EditFeatures("UsesDecals = (Features & (1u << 1))",
               "UsesDecals = (Features & 6u)");
  EXPECT_THAT(Compare(scene_),
              ElementsAre("feature Decals: bit 1 in the schema, UsesDecals "
                          "tests bit 1 (Decals), bit 2 (Height) in the "
                          "fragment stage"));
}

TEST_F(SceneSchemaTest, InvertedBlockIsFound) {
  EditFeatures("UsesDebugViews = (Features & (1u << 12)) != 0u",
               "UsesDebugViews = (Features & (1u << 12)) == 0u");
  EXPECT_THAT(Compare(scene_),
              Contains(AllOf(HasSubstr("feature DebugViews: bit 12"),
                             HasSubstr("is true with no bit set"))));
}

TEST_F(SceneSchemaTest, BlockThatIsAlwaysOnIsFound) {
  EditFeatures("UsesHeight = (Features & (1u << 2)) != 0u",
               "UsesHeight = (Features & (1u << 2)) != 1u");
  EXPECT_THAT(Compare(scene_),
              Contains(AllOf(HasSubstr("feature Height: bit 2 in the schema"),
                             HasSubstr("is true with no bit set"))));
}

TEST_F(SceneSchemaTest, RenamedBlockIsFoundBothWays) {
  scene_.features[3].name = "Tiling";
  EXPECT_THAT(
      Compare(scene_),
      UnorderedElementsAre(
          AllOf(HasSubstr("feature Stochastic: no such bit in the schema"),
                HasSubstr("tests bit 3 (Tiling) in the fragment stage")),
          HasSubstr("feature Stochastic: no such bit in the schema, "
                    "UsesStochastic at features.glsl:"),
          "feature Tiling: bit 3 in the schema, no UsesTiling in the shader "
          "text",
          "feature Tiling: bit 3 in the schema, no UsesTiling in the SPIR-V of "
          "any stage"));
}

TEST_F(SceneSchemaTest, BlockThatTheSchemaLacksIsFound) {
  scene_.features.pop_back();
  EXPECT_THAT(
      Compare(scene_),
      AllOf(Contains(HasSubstr("feature ProbeLattice: no such bit")),
            Contains("features.constant_id: default 0xffff in the schema, "
                     "0x1ffff in the fragment stage"),
            Contains("features.constant_id: default 0xffff in the schema, "
                     "0x1ffff at features.glsl:11")));
}

TEST_F(SceneSchemaTest, BlockThatTheShaderLacksIsFound) {
  scene_.features.push_back({17, "Fur", FeatureOwner::kMaterial});
  EXPECT_THAT(Compare(scene_),
              AllOf(Contains(HasSubstr("feature Fur: bit 17 in the schema, no "
                                       "UsesFur in the shader text")),
                    Contains(HasSubstr("no UsesFur in the SPIR-V"))));
}

TEST_F(SceneSchemaTest, BlockThatIsCommentedOutIsFound) {
  EditFeatures("const bool UsesCutaway", "// const bool UsesCutaway");
  EditFeatures("const bool UsesDebugViews",
               "const bool UsesCutaway = true;\nconst bool UsesDebugViews");
  EXPECT_THAT(Compare(scene_),
              Contains("feature Cutaway: bit 13 in the schema, no UsesCutaway "
                       "in the SPIR-V of any stage"));
}

TEST_F(SceneSchemaTest, DefaultWithoutABitIsFound) {
  EditFeatures("Features = 0x1ffffu", "Features = 0x1fffeu");
  EXPECT_THAT(
      Compare(scene_),
      ElementsAre("features.constant_id: default 0x1ffff in the schema, "
                  "0x1fffe in the fragment stage",
                  "features.constant_id: default 0x1ffff in the schema, "
                  "0x1fffe at features.glsl:11"));
}

TEST_F(SceneSchemaTest, FeaturesOfAnotherIdAreFoundBothWays) {
  EditFeatures("constant_id = 2", "constant_id = 3");
  EXPECT_THAT(
      Compare(scene_),
      AllOf(
          Contains("features.constant_id: the shader text does not declare "
                   "constant_id 2"),
          Contains("features.constant_id: the SPIR-V of no stage has "
                   "constant_id 2"),
          Contains("constant_id 3 `Features` in the fragment stage is not in "
                   "the schema"),
          Contains("constant_id 3 `Features` at features.glsl:11 is not in the "
                   "schema")));
}

TEST_F(SceneSchemaTest, AxisWithoutItsConstantIsFound) {
  scene_.backdrops[1].constants[0].id = 7;
  EXPECT_THAT(Compare(scene_),
              Contains("backdrop sky: the SPIR-V of no stage has constant_id "
                       "7"));
}

TEST_F(SceneSchemaTest, AxisValueThatDoesNotFitTheConstantIsFound) {
  scene_.kinds[2].value.constants[0] = Int(0, -1);
  EXPECT_THAT(Compare(scene_),
              Contains(HasSubstr("kind depth: int -1 in the schema for "
                                 "constant_id 0, which is uint in the vertex "
                                 "stage")));
}

TEST_F(SceneSchemaTest, ConstantOfAnotherTypeInOneStageIsFound) {
  Edit(scene_, "scene.vert", "#include \"kinds.glsl\"",
       "layout(constant_id = 0) const int Kind = 0;\n"
       "const uint kBackdropSky = 1u;\n"
       "layout(constant_id = 1) const uint Backdrop = 0u;");
  EXPECT_THAT(Compare(scene_),
              Contains(AllOf(HasSubstr("constant_id 0: type int in"),
                             HasSubstr("uint in"))));
}

// A compute program with all that a schema can say of constants.
Program Tuned() {
  Program program = ComputeProgram(R"(#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 64, local_size_x_id = 10) in; // the tuner's
layout ( constant_id=0 ) const uint Low = 0x80000001u;
layout(constant_id = 1)
const uint High = 5u; /* bits 32 and 34
layout(constant_id = 77) const uint Commented = 1u; */
const bool UsesFirst = (Low & (1u << 0)) != 0u;
const bool UsesLast = ((Low & 0x80000000u) != 0u);
const bool UsesUpper = (High & (1u << 0)) != 0u;
const bool UsesTop = ( High&(1u<<2) )!=0u;
layout(constant_id = 10) const uint GROUP = 64;
layout(constant_id = 11) const int8_t Bias = int8_t(-3);
layout(constant_id = 12) const float Scale = 2.5;
layout(constant_id = 13) const bool Fast = true;
layout(constant_id = 14) const uint64_t Mask = 0x8000000000000000ul;
#if 0
layout(constant_id = 78) const uint Absent = 1u;
#endif
layout(std430, binding = 0) buffer Buffer { float result[]; };
void main() {
  float sum = float(Bias) * Scale + float(GROUP);
  if (UsesFirst || UsesLast || UsesUpper || UsesTop) sum += 1.0;
  result[gl_GlobalInvocationID.x] = Fast ? sum : float(Mask);
}
)");
  program.features_constant_ids = {0, 1};
  program.features = {{0, "First", FeatureOwner::kFrame},
                      {31, "Last", FeatureOwner::kFrame},
                      {32, "Upper", FeatureOwner::kFrame},
                      {34, "Top", FeatureOwner::kFrame}};
  program.kinds.resize(1);
  program.kinds[0].value.name = "only";
  program.backdrops = {{"none", {}, {}}};
  program.blends = {{"none", {}, {}}};
  program.overrides = {
      {.name = "GROUP", .constant_id = 10, .default_value = 64},
      {.name = "Bias",
       .constant_id = std::nullopt,
       .type = ConstantType::kInt8,
       .default_value = 0xfd},
      {.name = "Scale",
       .constant_id = 12,
       .type = ConstantType::kFloat32,
       .default_value = 0x40200000},
      {.name = "Fast",
       .constant_id = 13,
       .type = ConstantType::kBool,
       .default_value = 1},
      {.name = "Mask",
       .constant_id = std::nullopt,
       .type = ConstantType::kUint64,
       .default_value = uint64_t{1} << 63}};
  program.workgroup_size = {"GROUP"};
  return program;
}

std::vector<std::string> CompareEdited(std::string_view from,
                                       std::string_view to) {
  Program program = Tuned();
  Edit(program, "main.comp", from, to);
  return Compare(program);
}

TEST(SchemaCheckTest, TypesNamesCommentsAndTwoWordsOfFeaturesAgree) {
  EXPECT_THAT(Compare(Tuned()), IsEmpty());
}

TEST(SchemaCheckTest, BitPast32OfTheWrongWordIsFound) {
  EXPECT_THAT(CompareEdited("UsesUpper = (High &", "UsesUpper = (Low &"),
              UnorderedElementsAre(
                  "feature Upper: bit 32 in the schema, bit 0 at main.comp:10",
                  "feature Upper: bit 32 in the schema, UsesUpper tests bit 0 "
                  "(First) in the compute stage"));
}

TEST(SchemaCheckTest, BitPast32OfTheWrongPlaceIsFound) {
  EXPECT_THAT(CompareEdited("(1u<<2)", "(1u<<3)"),
              UnorderedElementsAre(
                  "feature Top: bit 34 in the schema, bit 35 at main.comp:11",
                  "feature Top: bit 34 in the schema, UsesTop tests bit 35 in "
                  "the compute stage"));
}

TEST(SchemaCheckTest, WrongDefaultOfTheHighWordIsFound) {
  EXPECT_THAT(CompareEdited("High = 5u", "High = 4u"),
              Each(HasSubstr("features.high_constant_id: default 0x5 in the "
                             "schema, 0x4")));
}

TEST(SchemaCheckTest, SecondWordThatIsMissingIsFound) {
  Program program = Tuned();
  program.features_constant_ids = {0};
  EXPECT_THAT(
      Compare(program),
      AllOf(
          Contains(
              "constant_id 1 `High` in the compute stage is not in the schema"),
          Contains(HasSubstr("UsesTop tests `High` at main.comp:11, "
                             "which is no features constant"))));
}

TEST(SchemaCheckTest, OverrideOfAnotherTypeIsFound) {
  Program program = Tuned();
  program.overrides[1].type = ConstantType::kInt16;
  program.overrides[1].default_value = 0xfffd;
  program.overrides[2].type = ConstantType::kFloat16;
  EXPECT_THAT(
      Compare(program),
      UnorderedElementsAre(
          "override Bias: type int16 in the schema, int8 in the compute stage",
          "override Bias: type int16 in the schema, int8 at main.comp:13",
          "override Scale: type float16 in the schema, float in the compute "
          "stage",
          "override Scale: type float16 in the schema, float at "
          "main.comp:14"));
}

TEST(SchemaCheckTest, OverrideOfAnotherDefaultIsFound) {
  EXPECT_THAT(
      CompareEdited("int8_t(-3)", "int8_t(3)"),
      UnorderedElementsAre(
          "override Bias: default -3 in the schema, 3 in the compute stage",
          "override Bias: default -3 in the schema, 3 at main.comp:13"));
  EXPECT_THAT(CompareEdited("Fast = true", "Fast = false"),
              Contains("override Fast: default true in the schema, false in "
                       "the compute stage"));
  EXPECT_THAT(CompareEdited("Scale = 2.5", "Scale = 2.25"),
              Contains("override Scale: default 2.5 in the schema, 2.25 at "
                       "main.comp:14"));
  EXPECT_THAT(CompareEdited("0x8000000000000000ul", "0x8000000000000001ul"),
              Contains(HasSubstr("default 9223372036854775808 in the schema, "
                                 "9223372036854775809 at")));
}

TEST(SchemaCheckTest, OverrideOfAnotherNameIsFound) {
  Program program = Tuned();
  program.overrides[3].name = "Quick";
  EXPECT_THAT(Compare(program),
              UnorderedElementsAre("override Quick: constant_id 13 is called "
                                   "`Fast` in the compute stage",
                                   "override Quick: constant_id 13 is called "
                                   "`Fast` at main.comp:15"));
}

TEST(SchemaCheckTest, OverrideFoundByNameThatIsNotThereIsFoundBothWays) {
  Program program = Tuned();
  program.overrides[1].name = "Offset";
  EXPECT_THAT(
      Compare(program),
      UnorderedElementsAre(
          "override Offset: the shader text does not declare a constant "
          "`Offset`",
          "override Offset: the SPIR-V of no stage has a constant `Offset`",
          "constant_id 11 `Bias` in the compute stage is not in the schema",
          "constant_id 11 `Bias` at main.comp:13 is not in the schema"));
}

TEST(SchemaCheckTest, OverrideOfAnotherIdIsFound) {
  Program program = Tuned();
  program.overrides[3].constant_id = 20;
  EXPECT_THAT(Compare(program),
              AllOf(Contains("override Fast: the SPIR-V of no stage has "
                             "constant_id 20"),
                    Contains("constant_id 13 `Fast` at main.comp:15 is not in "
                             "the schema")));
}

TEST(SchemaCheckTest, WorkgroupSizeOfAnotherConstantIsFound) {
  EXPECT_THAT(CompareEdited("local_size_x = 64, local_size_x_id = 10",
                            "local_size_y = 64, local_size_y_id = 10"),
              Contains("workgroup_size: x is the override GROUP in the schema, "
                       "no specialization constant in the compute stage"));
  Program program = Tuned();
  program.workgroup_size = {"Scale"};
  EXPECT_THAT(Compare(program),
              ElementsAre("workgroup_size: x is the override Scale in the "
                          "schema, constant_id 10 in the compute stage"));
}

TEST(SchemaCheckTest, TextThatIsNotWhatWasCompiledIsFound) {
  Program program = Tuned();
  const std::vector<uint32_t> before = ModuleOf(program, Stage::kCompute);
  Edit(program, "main.comp", "Scale = 2.5", "Scale = 2.75");
  program.overrides[2].default_value = 0x40300000;
  const StageModule module{Stage::kCompute, before};
  EXPECT_THAT(CompareSchema(program, std::span(&module, 1)),
              Contains("constant_id 12: default 2.5 in the compute stage, 2.75 "
                       "at main.comp:14"));
}

TEST(SchemaCheckTest, WordsThatAreNoModuleAreReported) {
  const StageModule module{Stage::kCompute, {}};
  EXPECT_THAT(CompareSchema(Tuned(), std::span(&module, 1)),
              Contains("the compute stage: the words are no SPIR-V module"));
}

TEST(SchemaCheckTest, UnusualTextIsRead) {
  Program program = FragmentProgram(
      "#version 450\n"
      "#define STRANGE \\\n  layout(constant_id = 9) const int no = 1;\n"
      "layout(constant_id = 017) const highp int a = (-0x10);\n"
      "layout(constant_id = 2) const float b = -1e-3f; "
      "layout(constant_id = 3) const int c = 2 + 2;\n"
      "void f() { const bool UsesLocal = (a & 1) != 0; }\n"
      "/* unterminated");
  const ShaderText text = ReadShaderText(program);
  ASSERT_EQ(text.constants.size(), 3u);
  EXPECT_EQ(text.constants[0].id, 15u);
  EXPECT_EQ(text.constants[0].place.line, 4u);
  EXPECT_EQ(text.constants[0].default_value, 0xfffffff0u);
  EXPECT_EQ(text.constants[1].default_value, std::bit_cast<uint32_t>(-1e-3F));
  EXPECT_EQ(text.constants[2].default_value, std::nullopt);
  EXPECT_THAT(text.booleans, IsEmpty());
}

}  // namespace
}  // namespace kiln::shaders
