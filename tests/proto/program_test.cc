// SPDX-License-Identifier: Apache-2.0
#include "proto/program.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/limits.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"

namespace kiln {
namespace {

using testing::SmallProgram;
using testing::StatusIs;

// A program with every field that a snapshot of kilnd has.
Program Snapshot() {
  Program program = SmallProgram();
  program.stages[1].language = Language::kHlsl;
  program.stages[1].entry = "shade";
  program.defines = {{"QUALITY", "2"}, {"_a9", ""}};
  program.surface = {"surfaces.glsl", "paint", "inout SurfaceData s"};
  program.includes = {
      {"small.frag", "gone.glsl", false, "", "no such file in any root"},
      {"small.frag", "small.vert", true, "small.vert", ""},
      {"small.vert", "gone.glsl", false, "", "no such file in any root"}};
  return program;
}

Program Recipe() {
  Program program = Snapshot();
  program.rooted = true;
  program.stages[0].path = "/engine/small.vert";  // in the root "engine"
  program.files.clear();
  program.includes.clear();
  return program;
}

Program LoneFragment() {
  Program program = SmallProgram();
  program.stages.erase(program.stages.begin());
  return program;
}

TEST(ProgramTest, CanonicalBytesRoundTrip) {
  Program program = Snapshot();
  program.overrides = {{"NUM_LIGHTS", 10, ConstantType::kUint32, 4}};
  program.pipeline.descriptors = {
      {0, 1, "combined_image_sampler", 8, {Stage::kFragment}}};
  program.pipeline.vertex_attributes = {{0, 0, "r32g32b32_sfloat", 0}};
  program.pipeline.vertex_bindings = {{0, 12, false}};
  const Bytes bytes = EncodeProgram(program);
  ASSERT_OK_AND_ASSIGN(const Program again, DecodeProgram(bytes));
  EXPECT_EQ(EncodeProgram(again), bytes);
  EXPECT_EQ(again.pipeline.descriptors[0].count, 8u);
  // No other bytes are this program: an id names bytes.
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    if (const auto other = DecodeProgram(flipped); other.ok()) {
      EXPECT_EQ(EncodeProgram(*other), flipped) << "bit " << bit;
    }
  }
  EXPECT_FALSE(again.rooted);
  EXPECT_EQ(again.stages[0].language, Language::kGlsl);
  EXPECT_EQ(again.stages[0].entry, "main");
  EXPECT_EQ(again.stages[1].language, Language::kHlsl);
  EXPECT_EQ(again.stages[1].entry, "shade");
  EXPECT_EQ(again.includes, program.includes);
  EXPECT_EQ(again.surface.include, "surfaces.glsl");
  EXPECT_EQ(again.surface.function, "paint");
  EXPECT_EQ(again.surface.parameters, "inout SurfaceData s");
  EXPECT_EQ(again.defines[1].name, "_a9");
}

TEST(ProgramTest, RecipeRoundTripsWithoutFiles) {
  const Bytes bytes = EncodeProgram(Recipe());
  ASSERT_OK_AND_ASSIGN(const Program again, DecodeProgram(bytes));
  EXPECT_EQ(EncodeProgram(again), bytes);
  EXPECT_TRUE(again.rooted);
  EXPECT_EQ(again.stages[0].path, "/engine/small.vert");
}

// The id is the digest of the canonical bytes: what may change a variant has to
// be among them.
TEST(ProgramTest, EveryFieldOfItsSourcesIsPartOfTheId) {
  const std::vector<std::function<void(Program&)>> changes = {
      [](Program& p) { p.stages[1].language = Language::kGlsl; },
      [](Program& p) { p.stages[1].entry = "main"; },
      [](Program& p) { p.surface.include = "other.glsl"; },
      [](Program& p) { p.surface.function = "other"; },
      [](Program& p) { p.surface.parameters = ""; },
      [](Program& p) { p.includes.pop_back(); },
      [](Program& p) { p.includes[0].name = "also.glsl"; },
      [](Program& p) { p.includes[0].problem = "a folder"; },
      [](Program& p) { p.includes[1].angled = false; },
      [](Program& p) { p.includes[1].path = "small.frag"; },
      [](Program& p) { p.defines[0].value = "3"; },
      [](Program& p) { p.files[0].text += "\n"; },
  };
  const Bytes before = EncodeProgram(Snapshot());
  for (size_t i = 0; i < changes.size(); ++i) {
    Program program = Snapshot();
    changes[i](program);
    EXPECT_NE(EncodeProgram(program), before) << i;
  }
  Program rooted = Recipe();
  const Bytes recipe = EncodeProgram(rooted);
  rooted.rooted = false;
  EXPECT_NE(EncodeProgram(rooted), recipe);
}

TEST(ProgramTest, TruncatedBytesAreRefusedAtEveryLength) {
  const Bytes bytes = EncodeProgram(Snapshot());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeProgram(ByteView(bytes).first(size)).ok()) << size;
  }
}

// A hostile or damaged encoding is refused or decodes to a valid program; it
// never crashes, and never claims memory it does not carry.
TEST(ProgramTest, EverySingleFlippedByteIsRefusedOrStillValid) {
  const Bytes bytes = EncodeProgram(Snapshot());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const std::byte flip :
         {std::byte{0x01}, std::byte{0x80}, std::byte{0xFF}}) {
      Bytes damaged = bytes;
      damaged[i] ^= flip;
      if (auto program = DecodeProgram(damaged); program.ok()) {
        EXPECT_OK(program->Validate());
      }
    }
  }
}

struct Case {
  const char* named;
  std::function<void(Program&)> break_it;
};

void ExpectRefused(const Program& program, const std::vector<Case>& cases) {
  ASSERT_OK(program.Validate());
  for (size_t i = 0; i < cases.size(); ++i) {
    Program broken = program;
    cases[i].break_it(broken);
    EXPECT_THAT(broken.Validate(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "program field " + std::string(cases[i].named)))
        << i;
  }
}

TEST(ProgramTest, EveryBrokenInvariantIsRefusedByTheNameOfItsField) {
  const std::vector<Case> cases = {
      {"name", [](Program& p) { p.name = ""; }},
      {"name", [](Program& p) { p.name = "a b"; }},
      {"name", [](Program& p) { p.name = "a/b"; }},
      {"features", [](Program& p) { p.features[1].name = "whole"; }},
      {"name", [](Program& p) { p.name = "caf\xE9"; }},
      {"name",
       [](Program& p) { p.name = std::string(limits::kNameBytes + 1, 'n'); }},
      {"features", [](Program& p) { p.features[1].bit = 0; }},
      {"features", [](Program& p) { p.features[1].bit = 64; }},
      {"features", [](Program& p) { p.features[1].name = "Warm"; }},
      {"features",  // no constant holds it
       [](Program& p) { p.features[1].bit = 33; }},
      {"features",
       [](Program& p) {
         p.features_constant_ids = {2, 2};
       }},
      {"features",
       [](Program& p) {
         p.features_constant_ids = {2, 3, 4};
       }},
      {"features", [](Program& p) { p.merged = {1}; }},
      {"features",
       [](Program& p) {
         p.merged = {3, 3};
       }},
      {"features", [](Program& p) { p.merged = {5}; }},
      {"kinds", [](Program& p) { p.kinds[0].ignored_features = 4; }},
      {"overrides",
       [](Program& p) {
         p.overrides = {{"A", 2, ConstantType::kUint32, 0}};
       }},
      {"overrides",
       [](Program& p) {
         p.overrides = {{"A", 9, ConstantType::kBool, 2}};
       }},
      {"overrides",
       [](Program& p) {
         p.overrides = {{"A", 9, ConstantType::kUint32, 1, 2}};
       }},
      {"overrides",
       [](Program& p) {
         p.overrides = {{"A", 9, ConstantType::kUint32, 1, 0, 9, {4, 4}}};
       }},
      {"overrides",
       [](Program& p) {
         p.overrides = {{"A", 9, ConstantType::kUint32, 1, 0, 9, {4, 10}}};
       }},
      {"overrides",
       [](Program& p) {
         p.overrides = {{"A", 9, static_cast<ConstantType>(99), 0}};
       }},
      {"overrides",
       [](Program& p) {
         p.kinds[0].value.constants = {{5, 1}};
         p.overrides = {{"A", 5, ConstantType::kUint32, 0}};
       }},
      {"features",
       [](Program& p) {
         p.blends[1].constants = {{2, 1}};
       }},
      {"workgroup_size", [](Program& p) { p.workgroup_size = {"A"}; }},
      {"derivation", [](Program& p) { p.derivation = "no.comp"; }},
      {"stages", [](Program& p) { p.stages[0].stage = Stage::kCompute; }},
      {"kinds", [](Program& p) { p.kinds.clear(); }},
      {"kinds", [](Program& p) { p.kinds[1].value.name = "opaque"; }},
      {"backdrops", [](Program& p) { p.backdrops.clear(); }},
      {"blends", [](Program& p) { p.blends.clear(); }},
      {"stages", [](Program& p) { p.stages[1].path = "missing.frag"; }},
      {"stages", [](Program& p) { p.stages[1].stage = Stage::kVertex; }},
      {"stages", [](Program& p) { p.stages.clear(); }},
      {"stages",
       [](Program& p) { p.stages[1].stage = static_cast<Stage>(77); }},
      {"files", [](Program& p) { p.files[0].path = "../escape.frag"; }},
      {"files", [](Program& p) { p.files[0].path = "/etc/passwd"; }},
      {"files", [](Program& p) { p.files[0].path = "a//b"; }},
      {"files", [](Program& p) { std::swap(p.files[0], p.files[1]); }},
      {"files",
       [](Program& p) {
         p.files[0].text.assign(limits::kProgramBytes + 1, 'x');
       }},
  };
  ExpectRefused(SmallProgram(), cases);
}

// A define reaches the compiler as a line of text.
TEST(ProgramTest, DefineThatIsNotAnIdentifierWithOneLineIsRefused) {
  std::vector<Case> cases = {
      {"defines",
       [](Program& p) {
         p.defines = {{"A", "1"}, {"A", "2"}};
       }},
      {"defines",
       [](Program& p) {
         p.defines.clear();
         for (uint32_t i = 0; i <= limits::kDefines; ++i) {
           p.defines.push_back({"D" + std::to_string(i), ""});
         }
       }},
      {"defines",
       [](Program& p) {
         p.defines = {{std::string(limits::kNameBytes + 1, 'D'), ""}};
       }},
      {"defines",
       [](Program& p) {
         p.defines = {{"A", std::string(limits::kDiagnosticBytes + 1, '1')}};
       }},
  };
  for (const char* name : {"", "9A", "A B", "A-B", "A(x)", "A\n", "\xC3\xA9"}) {
    cases.push_back({"defines", [name](Program& p) {
                       p.defines = {{name, ""}};
                     }});
  }
  for (const std::string& value :
       {std::string("1\n#define B"), std::string("1\r"), std::string("1\\"),
        std::string("1\0", 2)}) {
    cases.push_back({"defines", [value](Program& p) {
                       p.defines = {{"A", value}};
                     }});
  }
  ExpectRefused(SmallProgram(), cases);
}

TEST(ProgramTest, AsManyDefinesAsTheLimitAreAccepted) {
  Program program = SmallProgram();
  for (uint32_t i = 0; i < limits::kDefines; ++i) {
    program.defines.push_back({"D" + std::to_string(i), "(1 + 2)"});
  }
  const Bytes bytes = EncodeProgram(program);
  ASSERT_OK_AND_ASSIGN(const Program again, DecodeProgram(bytes));
  EXPECT_EQ(again.defines.size(), limits::kDefines);
}

TEST(ProgramTest, IncludeThatNamesNoFileOrHasNoOutcomeIsRefused) {
  const std::vector<Case> cases = {
      {"includes", [](Program& p) { p.includes[0].from = "gone.frag"; }},
      {"includes", [](Program& p) { p.includes[1].path = "gone.glsl"; }},
      {"includes", [](Program& p) { p.includes[1].path = "../small.vert"; }},
      {"includes", [](Program& p) { p.includes[1].path = ""; }},
      {"includes", [](Program& p) { p.includes[0].problem = ""; }},
      {"includes", [](Program& p) { p.includes[1].problem = "opens"; }},
      {"includes", [](Program& p) { std::swap(p.includes[0], p.includes[1]); }},
      {"includes", [](Program& p) { p.includes[1] = p.includes[0]; }},
      {"includes",
       [](Program& p) { p.includes.resize(limits::kProgramIncludes + 1); }},
      {"includes", [](Program& p) { p.files.erase(p.files.begin() + 1); }},
  };
  Program program = Snapshot();
  program.stages.erase(program.stages.begin());  // nothing else needs the file
  ExpectRefused(program, cases);
}

TEST(ProgramTest, StageWithoutALanguageOrEntryPointIsRefused) {
  const std::vector<Case> cases = {
      {"stages",
       [](Program& p) { p.stages[0].language = static_cast<Language>(0); }},
      {"stages",
       [](Program& p) { p.stages[0].language = static_cast<Language>(4); }},
      {"stages.entry", [](Program& p) { p.stages[0].entry = ""; }},
      {"stages.entry", [](Program& p) { p.stages[0].entry = "a b"; }},
  };
  ExpectRefused(SmallProgram(), cases);
}

TEST(ProgramTest, SurfaceSlotThatIsNoFunctionOrIncludeIsRefused) {
  std::vector<Case> cases = {
      {"surface.function", [](Program& p) { p.surface.function = ""; }},
      {"surface.function", [](Program& p) { p.surface.function = "a b"; }},
      {"surface.parameters",
       [](Program& p) {
         p.surface.parameters = std::string(limits::kStatusTextBytes + 1, 'p');
       }},
      {"", [](Program& p) { p.surface.include = "../surfaces.glsl"; }},
      {"", [](Program& p) { p.surface.include = "/etc/passwd"; }},
  };
  for (const char* text : {"int a\n", "int a\r", "int a; int b", "int a) {",
                           "int a }", "#define a"}) {
    cases.push_back({"surface.parameters",
                     [text](Program& p) { p.surface.parameters = text; }});
  }
  ExpectRefused(Snapshot(), cases);
}

TEST(ProgramTest, ProgramWithoutASurfaceSlotNeedsNoFunction) {
  Program program = SmallProgram();
  program.surface.function = "";
  EXPECT_OK(program.Validate());
}

TEST(ProgramTest, RecipeNamesVirtualPathsAndHasNoFiles) {
  std::vector<Case> cases = {
      {"files",
       [](Program& p) {
         p.files = {{"small.vert", ""}};
       }},
      {"includes",
       [](Program& p) {
         p.includes = {{"small.vert", "a", false, "", "no such file"}};
       }},
  };
  for (const char* path : {"", "/", "//engine/a.vert", "../a.vert",
                           "/engine/../a.vert", "a//b.vert", "./a.vert"}) {
    cases.push_back({"", [path](Program& p) { p.stages[0].path = path; }});
    if (*path != '\0') {  // without one there is no derivation
      cases.push_back({"", [path](Program& p) { p.derivation = path; }});
    }
  }
  ExpectRefused(Recipe(), cases);
}

TEST(ProgramTest, ProgramThatIsNoRecipeTakesNoVirtualPath) {
  Program program = SmallProgram();
  program.stages[0].path = "/engine/small.vert";
  EXPECT_THAT(program.Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument, "no source file"));
}

TEST(ProgramTest, LoneFragmentStageIsAShaderAndNoPipeline) {
  EXPECT_OK(LoneFragment().Validate());
  EXPECT_TRUE(LoneFragment().IsShader());
  EXPECT_FALSE(SmallProgram().IsShader());
  Program depth_only = SmallProgram();
  depth_only.stages.pop_back();
  EXPECT_OK(depth_only.Validate());
  EXPECT_FALSE(depth_only.IsShader());
  Program compute = depth_only;
  compute.stages[0].stage = Stage::kCompute;
  EXPECT_FALSE(compute.IsShader());
}

TEST(ProgramTest, RecipesAndProgramsWithSurfacesAreLiving) {
  EXPECT_FALSE(SmallProgram().IsLiving());
  EXPECT_TRUE(Snapshot().IsLiving());
  Program recipe = Recipe();
  recipe.surface.include = "";
  EXPECT_TRUE(recipe.IsLiving());
}

TEST(ProgramTest, LanguagesHaveNamesAndAreGuessedFromPaths) {
  for (const Language language :
       {Language::kGlsl, Language::kHlsl, Language::kSpirv}) {
    EXPECT_EQ(LanguageFromName(LanguageName(language)).value(), language);
  }
  EXPECT_THAT(LanguageFromName("wgsl"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "unknown language 'wgsl'; there are glsl, hlsl and"));
  EXPECT_EQ(LanguageOfPath("a/b.hlsl"), Language::kHlsl);
  EXPECT_EQ(LanguageOfPath("a.frag.spv"), Language::kSpirv);
  EXPECT_EQ(LanguageOfPath("a.frag"), Language::kGlsl);
  EXPECT_EQ(LanguageOfPath(""), Language::kGlsl);
}

TEST(ProgramTest, FeatureNamesParseToMasksAndBack) {
  const Program program = SmallProgram();
  EXPECT_EQ(program.ParseFeatures("Noisy").value(), 2u);
  EXPECT_EQ(program.ParseFeatures("Noisy,Warm").value(), 3u);
  EXPECT_EQ(program.ParseFeatures("none").value(), 0u);
  EXPECT_EQ(program.ParseFeatures("all").value(), 3u);
  EXPECT_THAT(program.ParseFeatures("Warm,Nois"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "no feature 'Nois'; it has Warm, Noisy"));
  EXPECT_EQ(program.FeatureText(2), "Noisy");
  EXPECT_EQ(program.FeatureText(3), "whole");
  EXPECT_EQ(program.FeatureText(0), "none");
}

}  // namespace
}  // namespace kiln
