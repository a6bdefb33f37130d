// SPDX-License-Identifier: Apache-2.0
#include "proto/program_file.h"

#include <sys/stat.h>

#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/variant_key.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln {
namespace {

using testing::StatusIs;
using testing::TempDir;

constexpr char kMinimal[] = R"(format = 1
name = "tiny"
sources = ["a.vert"]
[stages]
vertex = "a.vert"
[[kind]]
name = "only"
)";

class ProgramFileTest : public ::testing::Test {
 protected:
  absl::StatusOr<Program> Load(const std::string& toml,
                               const ProgramFileOptions& options = {}) {
    std::ofstream(folder_.path() / "a.vert") << "void main() {}\n";
    std::ofstream(folder_.path() / "p.program.toml") << toml;
    return LoadProgramFile(folder_.path() / "p.program.toml", options);
  }

  TempDir folder_;
};

TEST_F(ProgramFileTest, MinimalProgramHasOneChoiceOnEveryAxis) {
  ASSERT_OK_AND_ASSIGN(const Program program, Load(kMinimal));
  EXPECT_EQ(WholeKeys(program, Digest()).size(), 1u);
  EXPECT_EQ(program.files.size(), 1u);
}

TEST_F(ProgramFileTest,
       SceneProgramDeclaresTheSeventeenBitsOfTheSpecification) {
  ASSERT_OK_AND_ASSIGN(
      const Program program,
      LoadProgramFile(KILN_SOURCE_DIR "/shaders/scene/scene.program.toml"));
  const std::vector<std::string> names = {
      "Detail",      "Decals",    "Height",       "Stochastic",
      "Lightmap",    "BlendMask", "ProbeVolume",  "Reflections",
      "VoxelLight",  "Water",     "SunShadows",   "ScreenOcclusion",
      "DebugViews",  "Cutaway",   "PlayerShadow", "ProbeBlend",
      "ProbeLattice"};
  ASSERT_EQ(program.features.size(), names.size());
  for (uint32_t bit = 0; bit < names.size(); ++bit) {
    EXPECT_EQ(program.features[bit].bit, bit);
    EXPECT_EQ(program.features[bit].name, names[bit]);
  }
  EXPECT_EQ(program.features_constant_ids, std::vector<uint32_t>{2});
  for (const char* kind : {"opaque", "blended", "depth"}) {
    EXPECT_NE(program.FindKind(kind), nullptr) << kind;
  }
}

TEST_F(ProgramFileTest, OverridesHaveEveryTypeWithRangeAndSteps) {
  const std::string toml = std::string(kMinimal) + R"(
[[override]]
name = "NUM_LIGHTS"
default = 1
max = 16
steps = [1, 4, 8, 16]
[[override]]
name = "BIAS"
constant_id = 4
type = "int16"
default = -3
[[override]]
name = "SCALE"
constant_id = 5
type = "float16"
default = 0.5
[[override]]
name = "SEED"
constant_id = 6
type = "uint64"
default = "0xffffffffffffffff"
[[override]]
name = "SOFT"
constant_id = 7
type = "bool"
default = true
)";
  ASSERT_OK_AND_ASSIGN(const Program program, Load(toml));
  const Override* lights = program.FindOverride("NUM_LIGHTS");
  ASSERT_NE(lights, nullptr);
  EXPECT_FALSE(lights->constant_id.has_value());
  EXPECT_EQ(lights->steps, (std::vector<uint64_t>{1, 4, 8, 16}));
  EXPECT_EQ(lights->max, 16u);
  EXPECT_EQ(program.FindOverride("BIAS")->default_value, 0xfffdu);
  EXPECT_EQ(program.FindOverride("SCALE")->default_value, 0x3800u);
  EXPECT_EQ(program.FindOverride("SEED")->default_value, ~uint64_t{0});
  EXPECT_EQ(program.FindOverride("SOFT")->default_value, 1u);
}

TEST_F(ProgramFileTest, KindsNameTheFeaturesTheyReachAndGroupsTheirBits) {
  const std::string toml = R"(format = 1
name = "tiny"
sources = ["a.vert"]
[stages]
vertex = "a.vert"
[features]
constant_id = 2
high_constant_id = 3
[[features.bit]]
bit = 0
name = "Low"
owner = "frame"
[[features.bit]]
bit = 40
name = "High"
owner = "material"
[[features.merged]]
bits = ["Low", "High"]
[[kind]]
name = "opaque"
[[kind]]
name = "depth"
features = ["High"]
)";
  ASSERT_OK_AND_ASSIGN(const Program program, Load(toml));
  EXPECT_EQ(program.features_constant_ids, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(program.kinds[0].ignored_features, 0u);
  EXPECT_EQ(program.kinds[1].ignored_features, 1u);
  EXPECT_EQ(program.merged, std::vector<FeatureMask>{1 | FeatureMask{1} << 40});
}

TEST_F(ProgramFileTest, ComputeProgramNeedsNoKinds) {
  std::ofstream(folder_.path() / "a.comp") << "void main() {}";
  ASSERT_OK_AND_ASSIGN(const Program program, Load(R"(format = 1
name = "tiny"
sources = ["a.comp"]
[stages]
compute = "a.comp"
[compute]
workgroup_size = ["WIDTH"]
[[override]]
name = "WIDTH"
constant_id = 0
default = 64
)"));
  EXPECT_TRUE(program.IsCompute());
  EXPECT_EQ(program.kinds.size(), 1u);
  EXPECT_EQ(program.workgroup_size, std::vector<std::string>{"WIDTH"});
}

TEST_F(ProgramFileTest, RootedFileIsARecipeOfVirtualPaths) {
  ASSERT_OK_AND_ASSIGN(const Program program, Load(R"(format = 1
name = "tiny"
rooted = true
[stages]
vertex = "lit/a.vert"
fragment = "/engine/lit/a.frag"
[derivation]
source = "lit/a.comp"
[[kind]]
name = "only"
)"));
  EXPECT_TRUE(program.rooted);
  EXPECT_TRUE(program.files.empty());
  EXPECT_EQ(program.stages[0].path, "lit/a.vert");
  EXPECT_EQ(program.stages[1].path, "/engine/lit/a.frag");
  EXPECT_EQ(program.derivation, "lit/a.comp");
}

TEST_F(ProgramFileTest, ModulesAreSpecialisedUnlessTheDriverIsTo) {
  EXPECT_EQ(Load(kMinimal)->specialization, Specialization::kModule);
  const std::string toml = std::string(kMinimal) + "[compile]\n";
  EXPECT_EQ(Load(toml + "specialization = \"driver\"\n")->specialization,
            Specialization::kDriver);
  EXPECT_EQ(Load(toml + "specialization = \"module\"\n")->specialization,
            Specialization::kModule);
}

TEST_F(ProgramFileTest, FileThatListsItsSourcesIsMadeARecipeOnRequest) {
  std::string toml = kMinimal;
  toml.replace(toml.find("[\"a.vert\"]"), 10, "[\"not there.vert\"]");
  EXPECT_FALSE(Load(toml).ok());
  ASSERT_OK_AND_ASSIGN(const Program program, Load(toml, {.rooted = true}));
  EXPECT_TRUE(program.rooted);
  EXPECT_TRUE(program.files.empty());  // and none was looked for
  EXPECT_EQ(program.stages[0].path, "a.vert");
  ASSERT_OK_AND_ASSIGN(const Program whole, Load(kMinimal));
  EXPECT_FALSE(whole.rooted);
}

TEST_F(ProgramFileTest, StageIsAPathOrATableWithLanguageAndEntryPoint) {
  ASSERT_OK_AND_ASSIGN(const Program program, Load(R"(format = 1
name = "tiny"
rooted = true
[stages]
vertex = "a.hlsl"
[stages.fragment]
source = "b.spv"
entry = "shade"
[[kind]]
name = "only"
)"));
  EXPECT_EQ(program.stages[0].language, Language::kHlsl);
  EXPECT_EQ(program.stages[0].entry, "main");
  EXPECT_EQ(program.stages[1].path, "b.spv");
  EXPECT_EQ(program.stages[1].language, Language::kSpirv);
  EXPECT_EQ(program.stages[1].entry, "shade");
}

TEST_F(ProgramFileTest, LanguageThatIsSaidCountsMoreThanTheEndOfThePath) {
  ASSERT_OK_AND_ASSIGN(const Program program, Load(R"(format = 1
name = "tiny"
rooted = true
[stages]
vertex = { source = "a.vert", language = "hlsl" }
[[kind]]
name = "only"
)"));
  EXPECT_EQ(program.stages[0].language, Language::kHlsl);
  EXPECT_EQ(program.stages[0].entry, "main");
}

TEST_F(ProgramFileTest, SurfaceTableOpensTheProgramToUserCode) {
  ASSERT_OK_AND_ASSIGN(const Program program, Load(std::string(kMinimal) + R"(
[surface]
include = "surfaces.glsl"
parameters = "inout SurfaceData s"
)"));
  EXPECT_EQ(program.surface.include, "surfaces.glsl");
  EXPECT_EQ(program.surface.function, "surface");
  EXPECT_EQ(program.surface.parameters, "inout SurfaceData s");
  ASSERT_OK_AND_ASSIGN(const Program closed, Load(kMinimal));
  EXPECT_EQ(closed.surface.include, "");
}

TEST_F(ProgramFileTest, EveryMistakeIsRefusedWithItsLineAndName) {
  struct Case {
    std::string toml;
    std::string named;
  };

  const std::string minimal = kMinimal;
  const std::vector<Case> cases = {
      {"format = 2\n" + minimal.substr(11), "format is 2"},
      {minimal + "colour = 1\n", "unknown key 'colour'"},
      {"nmae = \"x\"\n" + minimal, "unknown key 'nmae'"},
      {minimal + "axes = [\"fog\"]\n", "unknown axis 'fog'"},
      {minimal + "constants = { x = 1 }\n", "constant 'x'"},
      {minimal + "[features]\nconstant_id = -1\n", "'constant_id' is not"},
      {minimal + "[features]\nconstant_id = 2\n[[features.bit]]\nbit = 0\nname "
                 "= \"A\"\nowner = "
                 "\"nobody\"\n",
       "owner 'nobody'"},
      {minimal + "[[descriptor]]\nset = 0\nbinding = 0\ntype = \"x\"\nstages = "
                 "[\"pixel\"]\n",
       "unknown stage 'pixel'"},
      {minimal +
           "[[override]]\nname = \"A\"\nconstant_id = 1\ntype = \"half\"\n",
       "type 'half'"},
      {minimal + "features = [\"Fog\"]\n", "no feature 'Fog'"},
      {minimal + "[[override]]\nname = \"A\"\ntype = \"uint8\"\ndefault = "
                 "256\n",
       "256 is out of the range of type uint8"},
      {minimal + "[[override]]\nname = \"A\"\nsteps = 4\n",
       "'steps' is not a list"},
      {minimal + "[derivation]\nsource = \"no.comp\"\n", "no.comp"},
      {"format = 1\nname = \"tiny\"\nsources = [\"b.vert\"]\n[stages]\nvertex "
       "= "
       "\"b.vert\"\n[[kind]]\nname = \"k\"\n",
       "b.vert"},
      {"rooted = true\n" + minimal, "lists no sources"},
      {"rooted = 1\n" + minimal, "rooted"},
      {minimal + "[compile]\nspecialization = \"none\"\n",
       "specialization 'none' is neither module nor driver"},
      {"format = 1\nname = \"tiny\"\n[stages]\nvertex = \"a.vert\"\n[[kind]]"
       "\nname = \"k\"\n",
       "sources"},
      {minimal + "[stages.fragment]\nentry = \"main\"\n", "source"},
      {minimal + "[stages.fragment]\nsource = \"a.vert\"\nlanguage = \"wgsl\""
                 "\n",
       "unknown language 'wgsl'"},
      {minimal + "[stages.fragment]\nsource = \"a.vert\"\nentri = \"m\"\n",
       "unknown key 'entri'"},
      {minimal + "[stages.fragment]\nsource = \"a.vert\"\nentry = \"\"\n",
       "stages.entry"},
      {minimal + "[surface]\nparameters = \"int a\"\n", "include"},
      {minimal + "[surface]\ninclude = \"s.glsl\"\nparameters = \"int a;\"\n",
       "surface.parameters"},
      {minimal + "[defines]\n\"A B\" = \"1\"\n", "'A B' is not an identifier"},
      {minimal + "[defines]\nA = \"1\\n2\"\n", "the value of A"},
      {"this is not toml", "line 1"},
  };
  for (const Case& entry : cases) {
    const auto program = Load(entry.toml);
    EXPECT_FALSE(program.ok()) << entry.toml;
    EXPECT_THAT(std::string(program.status().message()),
                ::testing::HasSubstr(entry.named));
    EXPECT_THAT(std::string(program.status().message()),
                ::testing::HasSubstr("p.program.toml"));
  }
}

// KNOWN_FAULTS 25: nothing outside the program's folder is read, by ".." or
// through a symbolic link.
TEST_F(ProgramFileTest, SourcesOutsideTheFolderAreRefused) {
  TempDir outside;
  std::ofstream(outside.path() / "secret") << "hunter2";
  std::filesystem::create_symlink(outside.path() / "secret",
                                  folder_.path() / "link.vert");
  const std::string above =
      "../" + outside.path().filename().string() + "/secret";
  for (const std::string& name :
       {std::string("link.vert"), above, std::string("/etc/passwd")}) {
    const auto program =
        Load("format = 1\nname = \"tiny\"\nsources = [\"" + name +
             "\"]\n[stages]\nvertex = \"a.vert\"\n[[kind]]\nname = \"k\"\n");
    EXPECT_THAT(program,
                StatusIs(absl::StatusCode::kInvalidArgument, "outside"))
        << name;
  }
}

TEST_F(ProgramFileTest,
       FolderOrFifoInPlaceOfASourceIsRefusedAndNeverWaitedFor) {
  std::filesystem::create_directory(folder_.path() / "folder.vert");
  ASSERT_EQ(mkfifo((folder_.path() / "fifo.vert").c_str(), 0600), 0);
  for (const std::string name : {"folder.vert", "fifo.vert"}) {
    const auto program =
        Load("format = 1\nname = \"tiny\"\nsources = [\"" + name +
             "\"]\n[stages]\nvertex = \"a.vert\"\n[[kind]]\nname = \"k\"\n");
    EXPECT_THAT(program, StatusIs(absl::StatusCode::kNotFound, name));
  }
}

TEST_F(ProgramFileTest, EmptySourceFileIsASource) {
  std::ofstream(folder_.path() / "empty.glsl");
  std::string toml = kMinimal;
  toml.replace(toml.find("[\"a.vert\"]"), 10, "[\"a.vert\", \"empty.glsl\"]");
  ASSERT_OK_AND_ASSIGN(const Program program, Load(toml));
  EXPECT_NE(program.FindFile("empty.glsl"), nullptr);
}

TEST_F(ProgramFileTest, MissingProgramFileIsNamed) {
  EXPECT_THAT(LoadProgramFile("/no/such.program.toml"),
              StatusIs(absl::StatusCode::kNotFound, "/no/such.program.toml"));
}

}  // namespace
}  // namespace kiln
