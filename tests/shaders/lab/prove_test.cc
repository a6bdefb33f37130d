// SPDX-License-Identifier: Apache-2.0

// The proof itself, on a program of three blocks whose cases are easy to check.
// The scene's proof is in prove_scene_test.cc.

#include "shaders/lab/prove.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/shaders/lab/lab_fixture.h"
#include "tests/shaders/lab/lab_program.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::lab {
namespace {

using ::kiln::testing::StatusIs;
using ::kiln::testing::TempDir;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

uint32_t FlagsOf(const DrawInputs& inputs, size_t draw) {
  return std::to_integer<uint32_t>(inputs.draws[draw].push_constants[0]);
}

class ProveTest : public LabTest {
 protected:
  ProveTest() {
    options_.cases = 24;
    options_.width = 16;
    options_.height = 8;
    options_.source = &cases_;
    options_.output = folder_ / "out";
  }

  const TempDir folder_;
  LabCases cases_;
  ProveOptions options_;
};

TEST_F(ProveTest, ProgramWhoseDerivationIsRightDrawsTheSame) {
  options_.sensitivity = true;
  std::vector<CaseProgress> seen;
  options_.on_case = [&](const CaseProgress& progress) {
    seen.push_back(progress);
    return true;
  };
  ASSERT_OK_AND_ASSIGN(const ProveReport report,
                       Prove(*device_, LabProgram(), options_));
  EXPECT_THAT(report.differences, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(options_.output));
  EXPECT_EQ(report.cases, 24u);
  ASSERT_THAT(report.kinds, SizeIs(3));
  for (const KindReport& kind : report.kinds) {
    EXPECT_EQ(kind.cases, 8u) << kind.kind;
    EXPECT_GT(kind.variants, 0u) << kind.kind;
    EXPECT_GT(kind.covered, 0.1) << kind.kind;
    EXPECT_LT(kind.covered, 0.7) << kind.kind;
  }
  for (const BitReport& bit : report.bits) {
    EXPECT_GT(bit.set, 5u) << bit.name;
    EXPECT_GT(bit.cleared, 5u) << bit.name;
    EXPECT_GT(bit.matters, 2u) << bit.name;
    EXPECT_LE(bit.matters, bit.set) << bit.name;
  }
  ASSERT_THAT(seen, SizeIs(24));
  EXPECT_EQ(seen[0].seed, 1u);
  EXPECT_EQ(seen[23].done, 24u);
  std::set<std::string> labels;
  for (const CaseProgress& progress : seen) {
    labels.insert(progress.label);
  }
  EXPECT_THAT(labels, ElementsAre("blended/none/additive", "blended/none/alpha",
                                  "depth/none/alpha", "opaque/none/alpha"));
}

TEST_F(ProveTest, EverySampleOfAMultisampledPictureIsCompared) {
  Program program = LabProgram();
  program.pipeline.samples = 4;
  ASSERT_OK_AND_ASSIGN(const ProveReport report,
                       Prove(*device_, program, options_));
  EXPECT_THAT(report.differences, IsEmpty());
  EXPECT_EQ(report.cases, 24u);
}

TEST_F(ProveTest, BitThatIsNeededAndNotDerivedIsNamedAndShown) {
  options_.derive = [](const DrawInputs& inputs,
                       size_t draw) -> absl::StatusOr<FeatureMask> {
    return FlagsOf(inputs, draw) & ~kGlow;
  };
  options_.differences_written = 2;
  ASSERT_OK_AND_ASSIGN(const ProveReport report,
                       Prove(*device_, LabProgram(), options_));
  ASSERT_GT(report.differences.size(), 3u);
  for (size_t i = 0; i < report.differences.size(); ++i) {
    const CaseDifference& difference = report.differences[i];
    EXPECT_THAT(difference.cleared, Contains("Glow"));
    EXPECT_THAT(difference.label, Not(HasSubstr("depth")));
    EXPECT_GT(difference.picture.pixels, 0u);
    EXPECT_FALSE(difference.unstable);
    if (i < options_.differences_written) {
      EXPECT_THAT(difference.blamed, ElementsAre("Glow"));
      EXPECT_THAT(difference.folder.string(), HasSubstr("case-"));
      for (const char* name : {"whole.png", "variant.png", "diff.png"}) {
        EXPECT_TRUE(std::filesystem::exists(difference.folder / name)) << name;
      }
    } else {
      EXPECT_TRUE(difference.folder.empty());
    }
  }
  EXPECT_EQ(report.kinds[2].differences, 0u);  // depth shades nothing
}

TEST_F(ProveTest, BlockThatChangesOnlyTheDepthIsCaughtInTheDepthKind) {
  options_.kinds = {"depth"};
  options_.derive = [](const DrawInputs& inputs,
                       size_t draw) -> absl::StatusOr<FeatureMask> {
    return FlagsOf(inputs, draw) & ~kHoles;
  };
  ASSERT_OK_AND_ASSIGN(const ProveReport report,
                       Prove(*device_, LabProgram(), options_));
  ASSERT_THAT(report.kinds, SizeIs(1));
  EXPECT_EQ(report.kinds[0].cases, 24u);
  ASSERT_THAT(report.differences, Not(IsEmpty()));
  EXPECT_THAT(report.differences[0].blamed, ElementsAre("Holes"));
  EXPECT_EQ(report.differences[0].picture.layer, 1u);  // the depth
}

TEST_F(ProveTest, KindThatIgnoresABitItNeedsIsCaught) {
  Program program = LabProgram();
  program.kinds[0].ignored_features = kGlow;
  ASSERT_OK_AND_ASSIGN(const ProveReport report,
                       Prove(*device_, program, options_));
  ASSERT_THAT(report.differences, Not(IsEmpty()));
  for (const CaseDifference& difference : report.differences) {
    EXPECT_EQ(difference.label, "opaque/none/alpha");
    EXPECT_THAT(difference.blamed, ElementsAre("Glow"));
  }
}

TEST_F(ProveTest, CaseOfADifferenceCanBeHadAgainBySeed) {
  options_.derive = [](const DrawInputs&,
                       size_t) -> absl::StatusOr<FeatureMask> { return 0; };
  ASSERT_OK_AND_ASSIGN(const ProveReport report,
                       Prove(*device_, LabProgram(), options_));
  ASSERT_GT(report.differences.size(), 3u);
  const CaseDifference& third = report.differences[3];
  options_.seed = third.seed;
  options_.cases = 1;
  ASSERT_OK_AND_ASSIGN(const ProveReport again,
                       Prove(*device_, LabProgram(), options_));
  ASSERT_THAT(again.differences, SizeIs(1));
  EXPECT_EQ(again.differences[0].label, third.label);
  EXPECT_EQ(again.differences[0].picture.pixels, third.picture.pixels);
  EXPECT_EQ(again.differences[0].blamed, third.blamed);
}

TEST_F(ProveTest, ToleranceCountsOnlyForItsDriver) {
  options_.derive = [](const DrawInputs& inputs,
                       size_t draw) -> absl::StatusOr<FeatureMask> {
    return FlagsOf(inputs, draw) & ~kGlow;
  };
  options_.tolerances = {{"nvidia_proprietary", 2}};
  ASSERT_OK_AND_ASSIGN(const ProveReport strict,
                       Prove(*device_, LabProgram(), options_));
  EXPECT_FALSE(strict.tolerance.has_value());
  EXPECT_GT(strict.differences.size(), 0u);
  options_.tolerances.push_back({"mesa_llvmpipe", 2});
  ASSERT_OK_AND_ASSIGN(const ProveReport report,
                       Prove(*device_, LabProgram(), options_));
  ASSERT_TRUE(report.tolerance.has_value());
  EXPECT_EQ(report.tolerance->max_difference, 2);
  EXPECT_THAT(report.differences, IsEmpty());
  EXPECT_EQ(report.kinds[0].tolerated + report.kinds[1].tolerated,
            strict.differences.size());
}

TEST_F(ProveTest, ProofStopsWhenItIsTold) {
  options_.on_case = [](const CaseProgress& progress) {
    return progress.done < 3;
  };
  ASSERT_OK_AND_ASSIGN(const ProveReport report,
                       Prove(*device_, LabProgram(), options_));
  EXPECT_EQ(report.cases, 3u);
}

TEST_F(ProveTest, CasesAreMadeByReflectionWhereTheProgramHasNoneOfItsOwn) {
  options_.source = nullptr;
  ASSERT_OK_AND_ASSIGN(const ProveReport report,
                       Prove(*device_, LabProgram(), options_));
  EXPECT_THAT(report.differences, IsEmpty());
  EXPECT_GT(report.kinds[0].covered, 0);
}

TEST_F(ProveTest, WhatCannotBeProvenIsRefusedWithTheReason) {
  Program program = LabProgram();
  program.derivation.clear();
  EXPECT_THAT(Prove(*device_, program, options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("names no derivation")));
  program = LabProgram();
  program.stages = {{Stage::kCompute, "derive.comp"}};
  EXPECT_THAT(
      Prove(*device_, program, options_),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no picture")));
  program = LabProgram();
  program.files[2].text = "#version 460\nvoid main() { mauve(); }\n";
  EXPECT_THAT(
      Prove(*device_, program, options_),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lab.frag:2")));
  program = LabProgram();
  program.pipeline.samples = 64;
  EXPECT_THAT(
      Prove(*device_, program, options_),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("64 samples")));
  options_.kinds = {"mauve"};
  EXPECT_THAT(
      Prove(*device_, LabProgram(), options_),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'mauve'")));
}

TEST(ProveTargetTest, DeviceThatOnlyCompilesIsRefusedBeforeAnythingIsRecorded) {
  KILN_OPEN_OR_SKIP(device, "radv:vangogh");
  EXPECT_THAT(Prove(*device, LabProgram(), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("only compiles")));
}

}  // namespace
}  // namespace kiln::lab
