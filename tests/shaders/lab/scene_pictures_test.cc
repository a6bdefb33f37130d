// SPDX-License-Identifier: Apache-2.0

// The scene's cases as a device sees them: that its own derivation agrees with
// the library's, and that there is something to see.

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program_file.h"
#include "proto/variant_key.h"
#include "shaders/lab/bench_scenes.h"
#include "shaders/lab/derivation.h"
#include "shaders/lab/generic_cases.h"
#include "shaders/lab/pipeline_set.h"
#include "shaders/lab/renderer.h"
#include "shaders/lab/scene_cases.h"
#include "shaders/lab/texel_format.h"
#include "tests/shaders/lab/scene_program.h"
#include "tests/shaders/lab/scene_reader.h"
#include "tests/shaders/pipeline_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::lab {
namespace {

using ::testing::IsEmpty;

VariantKey WholeKey(const Program& program, const std::string& kind,
                    const std::string& backdrop) {
  return {Digest::Of(EncodeProgram(program)),
          kind,
          backdrop,
          program.blends[0].name,
          program.AllFeatures(),
          {}};
}

TEST(ScenePicturesTest, DerivationOnTheDeviceIsThatOfTheLibrary) {
  KILN_OPEN_OR_SKIP(device, "lavapipe");
  const Program program = SceneProgram();
  ASSERT_OK_AND_ASSIGN(const auto derivation,
                       Derivation::Make(*device, program));
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const DrawInputs inputs =
        SceneCases().Make(seed, {"opaque", "none", "alpha", 32, 32});
    for (size_t draw = 0; draw < inputs.draws.size(); ++draw) {
      ASSERT_OK_AND_ASSIGN(const FeatureMask derived,
                           derivation->Derive(inputs, draw));
      EXPECT_EQ(derived, FeaturesOf(inputs, inputs.draws[draw]))
          << "seed " << seed << " draw " << draw;
    }
  }
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

// Pixels that differ from `cleared`, as a share; fails for those that are not
// finite. Requires: a layer of floats.
double DrawnShare(const Picture& picture, const Picture& cleared,
                  size_t layer) {
  const PictureLayer& drawn = picture.layers[layer];
  const auto format = ParseTexelFormat(drawn.format);
  EXPECT_OK(format);
  const size_t texels = drawn.texels.size() / drawn.texel_bytes;
  size_t changed = 0;
  size_t infinite = 0;
  for (size_t i = 0; i < texels; ++i) {
    const auto at = i * drawn.texel_bytes;
    const ByteView texel =
        ByteView(drawn.texels).subspan(at, drawn.texel_bytes);
    const ByteView before =
        ByteView(cleared.layers[layer].texels).subspan(at, drawn.texel_bytes);
    changed += std::ranges::equal(texel, before) ? 0 : 1;
    for (const double number : ReadTexel(*format, texel)) {
      infinite += std::isfinite(number) ? 0 : 1;
    }
  }
  EXPECT_EQ(infinite, 0);
  return static_cast<double>(changed) / static_cast<double>(texels);
}

TEST(ScenePicturesTest, EveryKindFillsMostOfItsPictureWithFiniteNumbers) {
  KILN_OPEN_OR_SKIP(device, "lavapipe");
  const Program program = SceneProgram();
  ASSERT_OK_AND_ASSIGN(const auto pipelines,
                       PipelineSet::Make(*device, program));
  ASSERT_OK_AND_ASSIGN(const auto renderer, Renderer::Make(*device, program));
  for (const auto& [kind, backdrop] :
       std::vector<std::array<std::string, 2>>{{"opaque", "none"},
                                               {"opaque", "sky"},
                                               {"blended", "none"},
                                               {"depth", "none"}}) {
    const bool is_depth = kind == "depth";
    ASSERT_OK_AND_ASSIGN(const pipeline::Pipeline* const whole,
                         pipelines->Get(WholeKey(program, kind, backdrop)));
    double share = 0;
    constexpr uint64_t kSeeds = 16;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      ASSERT_OK(renderer->Load(
          SceneCases().Make(seed, {kind, backdrop, "alpha", 48, 32})));
      ASSERT_OK_AND_ASSIGN(const Picture cleared, renderer->DrawNothing());
      ASSERT_OK_AND_ASSIGN(const Picture picture, renderer->Draw(*whole));
      share += DrawnShare(picture, cleared, is_depth ? 1 : 0) / kSeeds;
    }
    EXPECT_GT(share, 0.4) << kind << " " << backdrop;
  }
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

TEST(ScenePicturesTest, BenchScenesFillTheirPicture) {
  KILN_OPEN_OR_SKIP(device, "lavapipe");
  const Program program = SceneProgram();
  ASSERT_OK_AND_ASSIGN(const auto pipelines,
                       PipelineSet::Make(*device, program));
  ASSERT_OK_AND_ASSIGN(const auto renderer, Renderer::Make(*device, program));
  ASSERT_OK_AND_ASSIGN(const pipeline::Pipeline* const whole,
                       pipelines->Get(WholeKey(program, "opaque", "none")));
  for (uint32_t level = 0; level < kBenchLevels; ++level) {
    ASSERT_OK(
        renderer->Load(BenchScene(static_cast<BenchLevel>(level), 96, 54)));
    ASSERT_OK_AND_ASSIGN(const Picture cleared, renderer->DrawNothing());
    ASSERT_OK_AND_ASSIGN(const Picture picture, renderer->Draw(*whole));
    EXPECT_GT(DrawnShare(picture, cleared, 0), 0.9) << level;
  }
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

// The scene is the largest program there is to try reflection on.
TEST(ScenePicturesTest, GenericCasesOfTheSceneDrawWithoutComplaint) {
  KILN_OPEN_OR_SKIP(device, "lavapipe");
  const Program program = SceneProgram();
  ASSERT_OK_AND_ASSIGN(const auto pipelines,
                       PipelineSet::Make(*device, program));
  ASSERT_OK_AND_ASSIGN(const auto renderer, Renderer::Make(*device, program));
  ASSERT_OK_AND_ASSIGN(const auto cases,
                       GenericCases::Make(program, pipelines->code()));
  ASSERT_OK_AND_ASSIGN(const pipeline::Pipeline* const whole,
                       pipelines->Get(WholeKey(program, "opaque", "none")));
  for (uint64_t seed = 0; seed < 4; ++seed) {
    ASSERT_OK(
        renderer->Load(cases->Make(seed, {"opaque", "none", "alpha", 32, 32})));
    ASSERT_OK(renderer->Draw(*whole));
  }
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

}  // namespace
}  // namespace kiln::lab
