// SPDX-License-Identifier: Apache-2.0

// Variants of the scene shader never change the picture: random materials,
// frames and cameras over every kind, backdrop and blend.

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program_file.h"
#include "shaders/lab/derivation.h"
#include "shaders/lab/prove.h"
#include "tests/shaders/lab/lab_fixture.h"
#include "tests/shaders/lab/scene_program.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::lab {
namespace {

using ::kiln::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Text(const CaseDifference& difference) {
  return fmt::format(
      "case {} {}: {} pixels by {}, blamed {}, images in {}", difference.seed,
      difference.label, difference.picture.pixels,
      difference.picture.max_difference, fmt::join(difference.blamed, "|"),
      difference.folder.string());
}

void ExpectSame(const ProveReport& report) {
  for (const CaseDifference& difference : report.differences) {
    ADD_FAILURE() << Text(difference);
  }
}

ProveOptions SmallCases(const TempDir& folder) {
  ProveOptions options;
  options.width = 64;
  options.height = 48;
  options.output = folder / "out";
  return options;
}

class ProveSceneTest : public LabTest {
 protected:
  // One draw of a case has its variant: a driver needs a second for each, and
  // other cases tell more than other draws of one. A test a kind, so that no
  // two compile the same whole shaders.
  void ExpectKindDrawsTheSame(const std::string& kind, uint32_t cases) {
    const TempDir folder;
    ProveOptions options = SmallCases(folder);
    options.cases = cases;
    options.kinds = {kind};
    options.one_draw = true;
    ASSERT_OK_AND_ASSIGN(const ProveReport report,
                         Prove(*device_, SceneProgram(), options));
    ExpectSame(report);
    EXPECT_EQ(report.cases, cases);
    EXPECT_GT(report.kinds[0].covered, 0.3);
    for (const BitReport& bit : report.bits) {
      EXPECT_GT(bit.cleared, 0u) << bit.name;
    }
  }
};

// 208 cases in all.
TEST_F(ProveSceneTest, OpaqueVariantsDrawWhatTheWholeShaderDraws) {
  ExpectKindDrawsTheSame("opaque", 56);
}

TEST_F(ProveSceneTest, BlendedVariantsDrawWhatTheWholeShaderDraws) {
  ExpectKindDrawsTheSame("blended", 56);
}

TEST_F(ProveSceneTest, DepthVariantsDrawWhatTheWholeShaderDraws) {
  ExpectKindDrawsTheSame("depth", 96);
}

TEST_F(ProveSceneTest, MultisampledVariantsAgreeInEverySample) {
  const TempDir folder;
  ProveOptions options = SmallCases(folder);
  options.cases = 12;
  options.seed = 5000;
  options.one_draw = true;
  Program program = SceneProgram();
  program.pipeline.samples = 4;
  ASSERT_OK_AND_ASSIGN(const ProveReport report,
                       Prove(*device_, program, options));
  ExpectSame(report);
  EXPECT_EQ(report.cases, 12u);
}

TEST_F(ProveSceneTest, EveryDrawOfACaseCanHaveItsVariant) {
  const TempDir folder;
  ProveOptions options = SmallCases(folder);
  options.cases = 4;
  options.kinds = {"opaque"};
  options.seed = 7000;
  ASSERT_OK_AND_ASSIGN(const ProveReport report,
                       Prove(*device_, SceneProgram(), options));
  ExpectSame(report);
  EXPECT_GT(report.kinds[0].variants, 4u);
}

TEST_F(ProveSceneTest, DerivationThatDropsANeededBitIsCaught) {
  const Program program = SceneProgram();
  const FeatureMask dropped = program.ParseFeatures("SunShadows").value();
  ASSERT_OK_AND_ASSIGN(const auto derivation,
                       Derivation::Make(*device_, program));
  const TempDir folder;
  ProveOptions options = SmallCases(folder);
  options.cases = 6;
  options.kinds = {"opaque"};
  options.one_draw = true;
  options.differences_written = 1;
  options.derive = [&](const DrawInputs& inputs,
                       size_t draw) -> absl::StatusOr<FeatureMask> {
    KILN_ASSIGN_OR_RETURN(const FeatureMask mask,
                          derivation->Derive(inputs, draw));
    return mask & ~dropped;
  };
  ASSERT_OK_AND_ASSIGN(const ProveReport report,
                       Prove(*device_, program, options));
  ASSERT_THAT(report.differences, Not(IsEmpty()));
  const CaseDifference& first = report.differences[0];
  EXPECT_THAT(first.blamed, ElementsAre("SunShadows")) << Text(first);
  for (const char* name : {"whole.png", "variant.png", "diff.png"}) {
    EXPECT_TRUE(std::filesystem::exists(first.folder / name)) << name;
  }
}

}  // namespace
}  // namespace kiln::lab
