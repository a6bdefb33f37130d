// SPDX-License-Identifier: Apache-2.0
#include "proto/program_diff.h"

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/target_diff.h"
#include "proto/text.h"
#include "proto/text_diff.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"

namespace kiln {

// GoogleTest finds it by name; failures are unreadable without.
static void PrintTo(const Difference& difference, std::ostream* out) {
  *out << difference.kind << " " << difference.name << ": " << difference.stored
       << " -> " << difference.asked;
}

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kCommon[] = "float half_of(float x) {\n  return x * 0.5;\n}\n";

// A program of four files, as kilnd makes one of a recipe.
Program FourFiles() {
  Program program = testing::SmallProgram();
  program.files = {
      {"engine/common.glsl", kCommon},
      {"engine/other.glsl", "// nothing\n"},
      {"small.frag", "#version 460\n#include \"common.glsl\"\n"},
      {"small.vert", "#version 460\n#include <light.glsl>\n"},
  };
  program.includes = {
      {"small.frag", "common.glsl", false, "engine/common.glsl", ""},
      {"small.vert", "light.glsl", true, "", "no root has it"},
  };
  program.defines = {{"QUALITY", "2"}};
  program.overrides = {{"GAIN", 10, ConstantType::kFloat32, 0x3f800000},
                       {"STEPS", 11, ConstantType::kInt32, 4, {}, {}, {4, 8}}};
  return program;
}

std::vector<Difference> After(const std::function<void(Program&)>& edit) {
  Program asked = FourFiles();
  edit(asked);
  return DiffPrograms(FourFiles(), asked);
}

TEST(ProgramDiffTest, EqualProgramsDoNotDiffer) {
  EXPECT_THAT(DiffPrograms(FourFiles(), FourFiles()), IsEmpty());
}

TEST(ProgramDiffTest, ChangedTextIsToldByItsFirstDifferingLine) {
  EXPECT_THAT(After([](Program& p) {
                p.files[0].text =
                    "float half_of(float x) {\n  return x * 0.25;\n}\n// a\n";
              }),
              ElementsAre(Difference{"file", "engine/common.glsl",
                                     "line 2: \"  return x * 0.5;\"",
                                     "line 2: \"  return x * 0.25;\""}));
}

TEST(ProgramDiffTest, FilesThatCameAndWentAreOneSided) {
  const auto differences =
      After([](Program& p) { p.files[1].path = "engine/renamed.glsl"; });
  ASSERT_THAT(differences, SizeIs(2));
  EXPECT_EQ(differences[0].name, "engine/other.glsl");
  EXPECT_THAT(differences[0].stored, StartsWith("11 bytes, "));
  EXPECT_EQ(differences[0].asked, "");
  EXPECT_EQ(differences[1].name, "engine/renamed.glsl");
  EXPECT_EQ(differences[1].stored, "");
}

TEST(ProgramDiffTest, SpirvIsToldByDigestAndNotByLine) {
  Program stored = FourFiles();
  stored.stages[1] = {Stage::kFragment, "small.module", Language::kSpirv,
                      "main"};
  stored.files[2] = {"small.module", "one\nline"};
  Program asked = stored;
  asked.files[2].text = "two\nline";
  EXPECT_THAT(DiffPrograms(stored, asked),
              ElementsAre(Difference{
                  "file", "small.module",
                  "8 bytes, " + Digest::Of(AsBytes("one\nline")).ShortHex(),
                  "8 bytes, " + Digest::Of(AsBytes("two\nline")).ShortHex()}));
}

TEST(ProgramDiffTest, IncludeThatOpensAnotherFileIsSaidOnce) {
  // Another root now hides the first one's file: it comes and goes with it.
  EXPECT_THAT(
      After([](Program& p) {
        p.files[0].path = "mod/common.glsl";
        p.includes[0].path = "mod/common.glsl";
      }),
      ElementsAre(Difference{"file", "small.frag includes \"common.glsl\"",
                             "engine/common.glsl", "mod/common.glsl"}));
}

TEST(ProgramDiffTest, IncludeThatBeginsToOpenSaysWhyItDidNot) {
  EXPECT_THAT(
      After([](Program& p) {
        p.files.push_back({"zed/light.glsl", ""});
        p.includes[1].path = "zed/light.glsl";
        p.includes[1].problem = "";
      }),
      ElementsAre(Difference{"file", "small.vert includes <light.glsl>",
                             "nothing: no root has it", "zed/light.glsl"}));
}

TEST(ProgramDiffTest, IncludeThatWasWrittenAnewIsPartOfItsFile) {
  EXPECT_THAT(
      After([](Program& p) {
        p.files[2].text += "#include \"other.glsl\"\n";
        p.includes.insert(
            p.includes.begin() + 1,
            {"small.frag", "other.glsl", false, "engine/other.glsl", ""});
      }),
      ElementsAre(Difference{"file", "small.frag", "ends after line 2",
                             "line 3: \"#include \\\"other.glsl\\\"\""}));
}

// As kilnd writes them: a file for each, and one that calls them all.
TEST(ProgramDiffTest, UserCodeIsASurfaceAndTheFileThatCallsItFollows) {
  Program stored = FourFiles();
  stored.files.insert(
      stored.files.begin() + 2,
      {{"kiln_surfaces/1/rust", "void surface() {}\n"},
       {"mod/surfaces.glsl", "#include <kiln_surfaces/1/rust>\n"}});
  Program asked = stored;
  asked.files[2].text = "void surface() { discard; }\n";
  EXPECT_THAT(
      DiffPrograms(stored, asked),
      ElementsAre(Difference{"surface", "kiln_surfaces/1/rust",
                             "line 1: \"void surface() {}\"",
                             "line 1: \"void surface() { discard; }\""}));
  asked.files.insert(asked.files.begin() + 3, {"kiln_surfaces/2/moss", "\n"});
  asked.files[4].text += "#include <kiln_surfaces/2/moss>\n";
  const auto differences = DiffPrograms(stored, asked);
  ASSERT_THAT(differences, SizeIs(2));
  EXPECT_EQ(differences[1].kind, "surface");
  EXPECT_EQ(differences[1].name, "kiln_surfaces/2/moss");
  EXPECT_EQ(differences[1].stored, "");
  asked = stored;
  asked.files[3].text += "// more\n";
  EXPECT_THAT(
      DiffPrograms(stored, asked),
      ElementsAre(Difference{"surface", "mod/surfaces.glsl",
                             "ends after line 1", "line 2: \"// more\""}));
}

TEST(ProgramDiffTest, DefinesAreComparedByName) {
  EXPECT_THAT(After([](Program& p) {
                p.defines = {{"EMPTY", ""}, {"QUALITY", "3"}};
              }),
              ElementsAre(Difference{"define", "EMPTY", "", "\"\""},
                          Difference{"define", "QUALITY", "\"2\"", "\"3\""}));
}

TEST(ProgramDiffTest, LongDefinesThatDifferAtTheirEndsStillDiffer) {
  Program stored = FourFiles();
  stored.defines[0].value = std::string(5000, 'x') + "a";
  Program asked = FourFiles();
  asked.defines[0].value = std::string(5000, 'x') + "b";
  const auto differences = DiffPrograms(stored, asked);
  ASSERT_THAT(differences, SizeIs(1));
  EXPECT_NE(differences[0].stored, differences[0].asked);
  EXPECT_LE(differences[0].stored.size(), kDifferenceBytes);
}

struct Edit {
  const char* kind;
  const char* name;
  const char* stored;
  const char* asked;
  std::function<void(Program&)> make;
};

// Everything of a program but its files: each is named, and alone.
TEST(ProgramDiffTest, EveryOtherFieldIsNamed) {
  const std::vector<Edit> edits = {
      {"option", "no_contraction", "false", "true",
       [](Program& p) { p.no_contraction = true; }},
      {"option", "specialization", "module", "driver",
       [](Program& p) { p.specialization = Specialization::kDriver; }},
      {"option", "fragment stage language", "glsl", "hlsl",
       [](Program& p) { p.stages[1].language = Language::kHlsl; }},
      {"option", "fragment stage entry", "\"main\"", "\"Shade\"",
       [](Program& p) { p.stages[1].entry = "Shade"; }},
      {"option", "vertex stage", "\"small.vert\"", "\"engine/other.glsl\"",
       [](Program& p) { p.stages[0].path = "engine/other.glsl"; }},
      {"option", "derivation", "", "\"engine/other.glsl\"",
       [](Program& p) { p.derivation = "engine/other.glsl"; }},
      {"surface", "include", "", "\"surfaces.glsl\"",
       [](Program& p) { p.surface.include = "surfaces.glsl"; }},
      {"schema", "features constants", "2", "7",
       [](Program& p) { p.features_constant_ids = {7}; }},
      {"schema", "feature Warm", "bit 0, material", "bit 5, material",
       [](Program& p) { p.features[0].bit = 5; }},
      {"schema", "merged group 1", "", "whole",
       [](Program& p) { p.merged = {3}; }},
      {"schema", "kind opaque ignores", "none", "Noisy",
       [](Program& p) { p.kinds[0].ignored_features = 2; }},
      {"schema", "kind opaque uses blend", "false", "true",
       [](Program& p) { p.kinds[0].uses_blend = true; }},
      {"schema", "kind opaque depth_write", "\"true\"", "\"false\"",
       [](Program& p) { p.kinds[0].value.state[0].value = "false"; }},
      {"schema", "kind opaque constant 9", "", "uint 4",
       [](Program& p) {
         p.kinds[0].value.constants = {{9, 4}};
       }},
      {"schema", "kind glass", "", "declared",
       [](Program& p) {
         p.kinds.push_back(p.kinds[1]);
         p.kinds[2].value.name = "glass";
       }},
      {"schema", "backdrop sky", "declared", "",
       [](Program& p) { p.backdrops.pop_back(); }},
      {"schema", "blend additive dst_color", "\"one\"", "\"zero\"",
       [](Program& p) { p.blends[1].state[0].value = "zero"; }},
      {"schema", "override GAIN", "float, default 1", "",
       [](Program& p) { p.overrides.erase(p.overrides.begin()); }},
      {"schema", "override STEPS steps", "4, 8", "4, 16",
       [](Program& p) {
         p.overrides[1].steps = {4, 16};
       }},
      {"schema", "override STEPS max", "", "8",
       [](Program& p) { p.overrides[1].max = 8; }},
      {"pipeline", "color format 0", "\"r8g8b8a8_unorm\"", "\"r16_sfloat\"",
       [](Program& p) { p.pipeline.color_formats = {"r16_sfloat"}; }},
      {"pipeline", "depth format", "\"d32_sfloat\"", "",
       [](Program& p) { p.pipeline.depth_format = ""; }},
      {"pipeline", "samples", "1", "4",
       [](Program& p) { p.pipeline.samples = 4; }},
      {"pipeline", "topology", "\"triangle_list\"", "\"line_list\"",
       [](Program& p) { p.pipeline.topology = "line_list"; }},
      {"pipeline", "push constants", "16 bytes, in fragment",
       "32 bytes, in fragment",
       [](Program& p) { p.pipeline.push_constant_bytes = 32; }},
      {"pipeline", "vertex binding 1", "", "stride 12 bytes, per instance",
       [](Program& p) {
         p.pipeline.vertex_bindings = {{1, 12, true}};
       }},
      {"pipeline", "vertex attribute 3", "",
       "r32_sfloat at byte 4 of binding 1",
       [](Program& p) {
         p.pipeline.vertex_attributes = {{3, 1, "r32_sfloat", 4}};
       }},
      {"pipeline", "descriptor 0.1", "", "8 of sampler, in fragment",
       [](Program& p) {
         p.pipeline.descriptors = {{0, 1, "sampler", 8, {Stage::kFragment}}};
       }},
  };
  for (const Edit& edit : edits) {
    EXPECT_THAT(
        After(edit.make),
        ElementsAre(Difference{edit.kind, edit.name, edit.stored, edit.asked}));
  }
}

TEST(ProgramDiffTest, OrderAloneIsStillADifference) {
  EXPECT_THAT(After([](Program& p) { std::swap(p.kinds[0], p.kinds[1]); }),
              ElementsAre(AllOf(::testing::Field(&Difference::kind, "option"),
                                ::testing::Field(&Difference::name,
                                                 "order of declarations"))));
}

TEST(ProgramDiffTest, BrokenTextIsSaidInValidUtf8OnOneLine) {
  const auto differences = After([](Program& p) {
    p.files[0].text = "fl\xff\xfe\x01oat\r\n";
    p.defines[0].value = "a\nb";
  });
  ASSERT_THAT(differences, SizeIs(2));
  for (const Difference& difference : differences) {
    for (const std::string& text : {difference.stored, difference.asked}) {
      EXPECT_TRUE(IsValidUtf8(text));
      EXPECT_EQ(text.find('\n'), text.npos);
    }
  }
  EXPECT_THAT(differences[0].asked, EndsWith("\\x01oat\\r\""));
  EXPECT_EQ(differences[1].asked, "\"a\\nb\"");
}

TEST(ProgramDiffTest, KeysAreComparedByTheNamesOfTheirBitsAndTypedValues) {
  const Program stored = FourFiles();
  Program asked = FourFiles();
  asked.features[1].bit = 7;  // Noisy has moved: the same choice
  const VariantKey before = {{}, "opaque", "none", "alpha", 2, {}};
  EXPECT_THAT(
      DiffKeys(stored, before, asked, {{}, "opaque", "none", "alpha", 128, {}}),
      IsEmpty());
  EXPECT_THAT(DiffKeys(stored, before, asked,
                       {{},
                        "blended",
                        "sky",
                        "alpha",
                        1,
                        {{"GAIN", 0x3f000000}, {"STEPS", 8}}}),
              ElementsAre(Difference{"key", "kind", "opaque", "blended"},
                          Difference{"key", "backdrop", "none", "sky"},
                          Difference{"key", "feature Warm", "off", "on"},
                          Difference{"key", "feature Noisy", "on", "off"},
                          Difference{"key", "override GAIN", "1", "0.5"},
                          Difference{"key", "override STEPS", "4", "8"}));
}

TEST(ProgramDiffTest, BitThatOnlyOneProgramHasIsNoDifferenceOfTheKeys) {
  Program asked = FourFiles();
  asked.features.push_back({2, "New", FeatureOwner::kMaterial});
  asked.overrides[0].default_value = 0;
  EXPECT_THAT(DiffKeys(FourFiles(), {{}, "opaque", "none", "alpha", 3, {}},
                       asked, {{}, "opaque", "none", "alpha", 7, {}}),
              IsEmpty());
}

TEST(ProgramDiffTest, MoreThanAHundredEndInACountOfTheRest) {
  std::vector<Difference> differences;
  for (int i = 0; i < 123; ++i) {
    differences.push_back({"define", "D" + std::to_string(i)});
  }
  CapDifferences(differences);
  ASSERT_THAT(differences, SizeIs(kMaxDifferences + 1));
  EXPECT_EQ(differences.back().name, "and 23 more");
  EXPECT_EQ(differences.back().kind, "define");
  differences.resize(kMaxDifferences);
  CapDifferences(differences);
  EXPECT_EQ(differences.back().name, "D99");
}

TEST(TextDiffTest, LongLinesAreShownAroundTheDifference) {
  const std::string start(500, 'a');
  const std::string rest(500, 'z');
  const FirstDifference first =
      FindFirstDifference("x\n" + start + "1" + rest, "x\n" + start + "2");
  EXPECT_THAT(first.a, AllOf(StartsWith("line 2: ...\"aaa"), HasSubstr("a1z")));
  EXPECT_THAT(first.b, HasSubstr("a2\" without a newline"));
  EXPECT_LE(first.a.size(), 200u);
}

TEST(TextDiffTest, CharactersAreNotCut) {
  std::string line;
  for (int i = 0; i < 100; ++i) {
    line += "\xC3\xA9";  // two bytes each
  }
  for (const char* lead : {"", "a"}) {
    const FirstDifference first =
        FindFirstDifference(lead + line + "1" + line, lead + line + "2" + line);
    EXPECT_EQ(first.a.find("\xEF\xBF\xBD"), first.a.npos) << first.a;
    EXPECT_THAT(first.a, HasSubstr("\xC3\xA9"
                                   "1\xC3\xA9"));
  }
}

TEST(TextDiffTest, EndsAndNewlinesAreSaid) {
  const FirstDifference newline = FindFirstDifference("a\nb", "a\nb\n");
  EXPECT_EQ(newline.a, "line 2: \"b\" without a newline");
  EXPECT_EQ(newline.b, "line 2: \"b\"");
  EXPECT_EQ(FindFirstDifference("", "a\n").a, "is empty");
  EXPECT_EQ(FindFirstDifference("a\n", "a\n\n").b, "line 2: \"\"");
  const FirstDifference crlf = FindFirstDifference("a\r\n", "a\n");
  EXPECT_EQ(crlf.a, "line 1: \"a\\r\"");
  EXPECT_EQ(crlf.b, "line 1: \"a\"");
}

TargetIdentity Device() {
  return {"VANGOGH",
          {{"driver_build", "b1"},
           {"driver_version", "0x1"},
           {"extensions", "VK_A,VK_B"},
           {"features", "int64,scalarLayout"},
           {"layers", ""}}};
}

TEST(TargetDiffTest, FieldsAreDriversAndListsAreComparedByElement) {
  TargetIdentity asked = Device();
  asked.fields[0].value = "b2";
  asked.fields[2].value = "VK_B,VK_C";
  asked.fields[3].value = "int64";
  asked.fields[4].value = "VK_LAYER_x";
  asked.fields.push_back({"vendor_id", "0x1002"});
  EXPECT_THAT(
      DiffTargets(Device(), asked),
      ElementsAre(Difference{"driver", "driver_build", "b1", "b2"},
                  Difference{"driver", "vendor_id", "", "0x1002"},
                  Difference{"device extension", "VK_A", "enabled", ""},
                  Difference{"device extension", "VK_C", "", "enabled"},
                  Difference{"device feature", "scalarLayout", "enabled", ""},
                  Difference{"driver", "layer VK_LAYER_x", "", "enabled"}));
  EXPECT_THAT(DiffTargets(Device(), Device()), IsEmpty());
}

TEST(TargetDiffTest, WordsOfADriverStayOnOneLine) {
  TargetIdentity asked = Device();
  asked.fields[0].value = "b2\nbuilt\ttoday " + std::string(1000, 'x');
  const auto differences = DiffTargets(Device(), asked);
  ASSERT_THAT(differences, SizeIs(1));
  EXPECT_THAT(differences[0].asked, StartsWith("b2 built today x"));
  EXPECT_EQ(differences[0].asked.size(), kDifferenceBytes);
}

TEST(TargetDiffTest, IdentitiesThatDifferOnlyInFormStillDiffer) {
  TargetIdentity asked = Device();
  asked.fields[2].value = "VK_B,VK_A";
  EXPECT_THAT(DiffTargets(Device(), asked), SizeIs(1));
}

}  // namespace
}  // namespace kiln
