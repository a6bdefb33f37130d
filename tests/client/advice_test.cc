// SPDX-License-Identifier: Apache-2.0

// Advice from invented statistics and keys.

#include "client/cli/advice.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "client/cli/advice_text.h"
#include "proto/manifest.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"

namespace kiln::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Digest kProgramId = Digest::Of(AsBytes(std::string_view("a program")));

// Bits A to F; kind "shadow" reaches A and B only.
Program LettersProgram() {
  Program program = testing::SmallProgram();
  program.features.clear();
  for (uint32_t bit = 0; bit < 6; ++bit) {
    program.features.push_back(
        {bit, std::string(1, static_cast<char>('A' + bit))});
  }
  program.kinds.push_back({{"shadow", {}, {}}, false, false, 0b111100});
  return program;
}

std::vector<VariantKey> Keys(const Program& program, const std::string& text) {
  const auto manifest = ParseManifest(program, kProgramId, text);
  EXPECT_OK(manifest);
  return manifest.ok() ? manifest->keys : std::vector<VariantKey>();
}

VariantCost Cost(uint32_t instructions, uint32_t registers, uint32_t waves) {
  VariantCost cost;
  cost.instructions = instructions;
  cost.registers = registers;
  cost.waves = waves;
  return cost;
}

Worth Judge(VariantCost whole, VariantCost without, double threshold = 0.02) {
  return JudgeBit({"opaque", 1, whole, without}, threshold).worth;
}

TEST(AdviceTest, LittleCodeWithoutARegisterOrAWaveIsNotWorthAVariant) {
  const VariantCost whole = Cost(1000, 64, 16);
  EXPECT_EQ(Judge(whole, Cost(981, 64, 16)), Worth::kLittle);
  EXPECT_EQ(Judge(whole, Cost(980, 64, 16)), Worth::kEnough);
  EXPECT_EQ(Judge(whole, Cost(999, 60, 16)), Worth::kEnough);
  EXPECT_EQ(Judge(whole, Cost(999, 64, 18)), Worth::kEnough);
  EXPECT_EQ(Judge(whole, Cost(960, 64, 16), 0.05), Worth::kLittle);
  EXPECT_EQ(Judge(whole, Cost(999, 64, 16), 0), Worth::kEnough);
  // Leaving a block out may make the code longer.
  EXPECT_EQ(Judge(whole, Cost(1010, 64, 16)), Worth::kLittle);
}

TEST(AdviceTest, BlockThatChangesNoFigureIsNotReached) {
  VariantCost whole = Cost(1000, 64, 16);
  whole.spills = 0;
  whole.code_bytes = 8000;
  VariantCost without = whole;
  EXPECT_EQ(Judge(whole, without), Worth::kNothing);
  without.code_bytes = 7999;
  EXPECT_EQ(Judge(whole, without), Worth::kLittle);
}

TEST(AdviceTest, CodeBytesCountWhereTheDriverHasNoInstructions) {
  VariantCost whole;
  whole.code_bytes = 1000;
  VariantCost without;
  EXPECT_EQ(Judge(whole, without), Worth::kUnknown);
  without.code_bytes = 990;
  EXPECT_EQ(Judge(whole, without), Worth::kLittle);
  without.code_bytes = 900;
  const BitAdvice advice = JudgeBit({"opaque", 1, whole, without}, 0.02);
  EXPECT_EQ(advice.worth, Worth::kEnough);
  EXPECT_NEAR(*advice.saved, 0.1, 1e-9);
}

TEST(AdviceTest, DriverThatSaysNothingGetsNoVerdict) {
  EXPECT_EQ(Judge({}, {}), Worth::kUnknown);
}

TEST(AdviceTest, BlockThatOnlyCostsWhereItIsAloneIsWorthAVariant) {
  const VariantCost whole = Cost(1000, 64, 16);
  BitTrial trial{"opaque", 1, whole, Cost(990, 64, 16)};
  trial.none = Cost(100, 16, 32);
  trial.alone = Cost(110, 24, 32);
  EXPECT_EQ(JudgeBit(trial, 0.02).worth, Worth::kEnough);
  trial.alone = Cost(110, 16, 32);
  EXPECT_EQ(JudgeBit(trial, 0.02).worth, Worth::kLittle);
  // Two bits that share a block hide each other in the whole shader.
  trial.without = whole;
  EXPECT_EQ(JudgeBit(trial, 0.02).worth, Worth::kLittle);
  trial.alone = trial.none;
  EXPECT_EQ(JudgeBit(trial, 0.02).worth, Worth::kNothing);
}

TEST(AdviceTest, MergedBitsAreOneUnitAndIgnoredOnesNone) {
  Program program = LettersProgram();
  EXPECT_EQ(FeatureUnits(program, program.kinds[0]).size(), 6u);
  EXPECT_THAT(FeatureUnits(program, *program.FindKind("shadow")),
              ElementsAre(0b1, 0b10));
  program.merged = {0b1010};  // B with D
  EXPECT_THAT(FeatureUnits(program, program.kinds[0]),
              ElementsAre(0b1, 0b1010, 0b100, 0b10000, 0b100000));
  EXPECT_THAT(FeatureUnits(program, *program.FindKind("shadow")),
              ElementsAre(0b1, 0b1010));
}

TEST(AdviceTest, BitsWithOneValueInEveryKeyMoveTogether) {
  const Program program = LettersProgram();
  const FlagAdvice advice =
      StudyFlags(program, Keys(program,
                               "opaque/none/alpha A|B|E\n"
                               "opaque/none/alpha C|E\n"
                               "opaque/none/alpha E\n"
                               "opaque/none/alpha A|B|C|E\n"
                               "opaque/none/alpha whole\n"));
  EXPECT_EQ(advice.keys, 4u) << "the whole shader says nothing about content";
  EXPECT_EQ(advice.always, 0b010000u);
  EXPECT_EQ(advice.never, 0b101000u);
  ASSERT_EQ(advice.groups.size(), 1u);
  EXPECT_EQ(advice.groups[0].bits, 0b000011u);
  EXPECT_EQ(advice.groups[0].set_in, 2u);
}

TEST(AdviceTest, OneKeyThatTellsBitsApartKeepsThemApart) {
  const Program program = LettersProgram();
  const FlagAdvice advice = StudyFlags(program, Keys(program,
                                                     "opaque/none/alpha A|B\n"
                                                     "opaque/none/alpha none\n"
                                                     "blended/sky/alpha A\n"));
  EXPECT_THAT(advice.groups, IsEmpty());
}

TEST(AdviceTest, KindThatDoesNotReachABitIsNoEvidenceAgainstAGroup) {
  const Program program = LettersProgram();
  // "shadow" has A without C because it cannot have C.
  const FlagAdvice advice = StudyFlags(program, Keys(program,
                                                     "opaque/none/alpha A|C\n"
                                                     "opaque/none/alpha none\n"
                                                     "shadow/none/alpha A\n"));
  ASSERT_EQ(advice.groups.size(), 1u);
  EXPECT_EQ(advice.groups[0].bits, 0b101u);
}

TEST(AdviceTest, GroupThatIsMergedAlreadyIsNotSuggestedAgain) {
  Program program = LettersProgram();
  program.merged = {0b11};
  const std::string text =
      "opaque/none/alpha A|B\n"
      "opaque/none/alpha none\n";
  EXPECT_THAT(StudyFlags(program, Keys(program, text)).groups, IsEmpty());
  const FlagAdvice wider =
      StudyFlags(program, Keys(program, text + "opaque/none/alpha A|B|C\n"
                                               "opaque/none/alpha A|B|D|E\n"));
  ASSERT_EQ(wider.groups.size(), 1u);
  EXPECT_EQ(wider.groups[0].bits, 0b11000u);
}

TEST(AdviceTest, NoKeysAreNoEvidence) {
  const FlagAdvice advice = StudyFlags(LettersProgram(), {});
  EXPECT_EQ(advice.always, 0u);
  EXPECT_EQ(advice.never, 0u);
  EXPECT_THAT(advice.groups, IsEmpty());
}

TEST(AdviceTest, OverrideOfManyValuesGetsStepsThatHoldThemAll) {
  Program program = LettersProgram();
  program.overrides = {{"LIGHTS", 10, ConstantType::kInt32, 4},
                       {"TAPS", 11, ConstantType::kUint32, 1},
                       {"SIZE", 12, ConstantType::kUint32, 64},
                       {"DONE", 13, ConstantType::kUint32, 0, {}, {}, {64}}};
  program.workgroup_size = {"SIZE"};
  std::string text;
  for (int i = -3; i <= 9; ++i) {
    text += "opaque/none/alpha none LIGHTS=" + std::to_string(i) +
            "|TAPS=" + std::to_string(i % 2 + 2) +
            "|SIZE=" + std::to_string(i + 10) +
            "|DONE=" + std::to_string(i + 10) + "\n";
  }
  const auto advice = StudyOverrides(program, Keys(program, text));
  ASSERT_EQ(advice.size(), 1u) << "TAPS has 3 values, SIZE must be exact, "
                                  "DONE has steps";
  EXPECT_EQ(advice[0].name, "LIGHTS");
  EXPECT_EQ(advice[0].seen.size(), 12u) << "the default is no value of a step";
  EXPECT_EQ(FormatConstant(ConstantType::kInt32, advice[0].seen.front()), "-3");
  EXPECT_THAT(advice[0].steps, ElementsAre(uint64_t{0xffffffff}, 2, 6, 9));
}

TEST(AdviceTest, EachPieceOfAdviceLeavesFewerVariants) {
  Program program = LettersProgram();
  program.overrides = {{"LIGHTS", 10, ConstantType::kUint32, 0}};
  std::string text =
      "opaque/none/alpha A\n"
      "opaque/sky/additive A\n"  // opaque has no other axis
      "opaque/none/alpha A|F\n"  // F is worth little
      "shadow/none/alpha B\n"
      "shadow/none/alpha B|C\n";  // nor does shadow reach C
  for (int i = 1; i <= 8; ++i) {
    text += "blended/none/alpha none LIGHTS=" + std::to_string(i) + "\n";
  }
  const auto manifest = ParseManifest(program, kProgramId, text);
  ASSERT_OK(manifest);
  BitAdvice little{{"opaque", 0b100000}, Worth::kLittle};
  const Advice advice =
      Advise(program, manifest->keys, manifest->written, {little});
  EXPECT_EQ(advice.counts.written, 13u);
  EXPECT_EQ(advice.counts.normalised, 11u);
  EXPECT_EQ(advice.counts.worth, 10u);
  EXPECT_EQ(advice.counts.merged, 6u) << "eight counts of lights in four steps";
}

TEST(AdviceTest, DroppedBitsStayOnAndMayMakeTheWholeShader) {
  const Program program = LettersProgram();
  BitAdvice little{{"opaque", 0b100000}, Worth::kLittle};
  const auto keys = Keys(program,
                         "opaque/none/alpha A|B|C|D|E\n"
                         "opaque/none/alpha whole\n"
                         "blended/none/alpha A\n"
                         "blended/none/alpha A|F\n");
  EXPECT_EQ(Advise(program, keys, 4, {little}).counts.worth, 3u)
      << "the other kind keeps its bit";
}

TEST(AdviceTest, TextHoldsTheLinesToTakeTheAdvice) {
  Program program = LettersProgram();
  program.overrides = {{"LIGHTS", 10, ConstantType::kUint32, 0}};
  std::string text = "opaque/none/alpha A|B\n";
  for (int i = 1; i <= 5; ++i) {
    text += "opaque/none/alpha none LIGHTS=" + std::to_string(i) + "\n";
  }
  const VariantCost whole = Cost(1000, 64, 16);
  const Advice advice =
      Advise(program, Keys(program, text), 6,
             {JudgeBit({"opaque", 0b1, whole, Cost(500, 32, 32)}, 0.02),
              JudgeBit({"opaque", 0b100, whole, Cost(990, 64, 16)}, 0.02),
              JudgeBit({"shadow", 0b10, whole, whole}, 0.02)});
  EXPECT_THAT(
      AdviceText(advice, {program, 2, true}),
      AllOf(HasSubstr("1000 > 500"), HasSubstr("50.0%"), HasSubstr("64 > 32"),
            HasSubstr("not worth a variant in kind opaque (under 2%"),
            HasSubstr("no figure of kind shadow changes without: B"),
            HasSubstr("features = [\"A\"]"), HasSubstr("set in 1 of 6 keys"),
            HasSubstr("bits = [\"A\", \"B\"]"), HasSubstr("never set"),
            HasSubstr("steps = [2, 3, 4, 5]")));
}

TEST(AdviceTest, ProgramWithoutFeaturesIsToldSo) {
  Program program = testing::SmallProgram();
  program.features.clear();
  program.features_constant_ids.clear();
  const auto keys = Keys(program, "opaque/none/alpha none\n");
  const Advice advice = Advise(program, keys, 1, {});
  EXPECT_EQ(advice.counts.merged, 1u);
  EXPECT_THAT(AdviceText(advice, {program, 2, false}),
              AllOf(HasSubstr("no feature bits"), HasSubstr("1  as stored"),
                    Not(HasSubstr("never set"))));
  EXPECT_EQ(AdviceJson(advice, {program, 2, false}).back()["source"], "store");
}

}  // namespace
}  // namespace kiln::cli
