// SPDX-License-Identifier: Apache-2.0

// Pipelines of specialised modules draw what the driver's own specialization
// draws, to the last bit.

#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/variant_key.h"
#include "shaders/lab/image_diff.h"
#include "shaders/lab/pipeline_set.h"
#include "shaders/lab/renderer.h"
#include "shaders/lab/scene_cases.h"
#include "tests/shaders/lab/lab_fixture.h"
#include "tests/shaders/lab/lab_program.h"
#include "tests/shaders/lab/scene_program.h"
#include "tests/support/status_matchers.h"

namespace kiln::lab {
namespace {

class DrawnTest : public LabTest {
 protected:
  // Draws `cases` cases, each with one key: kinds take turns, the features are
  // any. Not derived ones: both pictures may lack what they need.
  void ExpectSamePictures(const Program& program, CaseSource& source,
                          uint32_t cases, FeatureMask within) {
    ASSERT_OK_AND_ASSIGN(const auto by_driver,
                         PipelineSet::Make(*device_, program));
    ASSERT_OK_AND_ASSIGN(
        const auto by_module,
        PipelineSet::Make(*device_, program, Specialization::kModule));
    ASSERT_OK_AND_ASSIGN(const auto renderer,
                         Renderer::Make(*device_, program));
    const std::vector<VariantKey> whole =
        WholeKeys(program, Digest::Of(EncodeProgram(program)));
    std::mt19937 random(11);  // NOLINT: the same keys in every run
    for (uint32_t i = 0; i < cases; ++i) {
      VariantKey key = whole[(i * 3) % whole.size()];
      key.features = random() & within & program.AllFeatures();
      SCOPED_TRACE(KeyLabel(program, key));
      const DrawInputs inputs =
          source.Make(40 + i, {key.kind, key.backdrop, key.blend, 48, 32});
      ASSERT_OK(renderer->Load(inputs));
      ASSERT_OK_AND_ASSIGN(const pipeline::Pipeline* const expected,
                           by_driver->Get(key));
      ASSERT_OK_AND_ASSIGN(const pipeline::Pipeline* const actual,
                           by_module->Get(key));
      const size_t draws = inputs.draws.size();
      ASSERT_OK_AND_ASSIGN(
          const Picture driver,
          renderer->Draw(
              std::vector<const pipeline::Pipeline*>(draws, expected)));
      ASSERT_OK_AND_ASSIGN(
          const Picture module,
          renderer->Draw(
              std::vector<const pipeline::Pipeline*>(draws, actual)));
      ASSERT_OK_AND_ASSIGN(const PictureDifference difference,
                           ComparePictures(driver, module));
      EXPECT_TRUE(difference.bytes_equal)
          << difference.pixels << " pixels by " << difference.max_difference;
    }
  }
};

TEST_F(DrawnTest, SmallProgramDrawsTheSameForEveryKey) {
  LabCases cases;
  ExpectSamePictures(LabProgram(), cases, 16, ~FeatureMask{0});
}

TEST_F(DrawnTest, SceneDrawsTheSameForRandomKeys) {
  SceneCases cases;
  // The driver needs a second and more for each of many blocks.
  ExpectSamePictures(SceneProgram(), cases, 3, 0x1a5d7);
}

}  // namespace
}  // namespace kiln::lab
