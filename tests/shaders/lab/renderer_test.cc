// SPDX-License-Identifier: Apache-2.0

// Drawing to attachments and reading every sample of them back.

#include "shaders/lab/renderer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shaders/lab/pipeline_set.h"
#include "tests/shaders/lab/lab_fixture.h"
#include "tests/shaders/lab/lab_program.h"
#include "tests/support/status_matchers.h"

namespace kiln::lab {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using Rgba = std::vector<uint8_t>;

const Rgba kCleared = {51, 102, 153, 255};  // as LabInputs clears
const Rgba kPlain = {64, 64, 64, 64};       // the map's texel

// The bytes of one sample of the picture's first layer.
Rgba SampleOf(const Picture& picture, uint32_t x, uint32_t y,
              uint32_t sample = 0) {
  const PictureLayer& layer = picture.layers.at(0);
  const size_t index =
      (size_t{y} * picture.width + x) * picture.samples + sample;
  Rgba bytes(layer.texel_bytes);
  std::memcpy(bytes.data(), layer.texels.data() + index * bytes.size(),
              bytes.size());
  return bytes;
}

float DepthOf(const Picture& picture, uint32_t x, uint32_t y,
              uint32_t sample = 0) {
  const size_t index =
      (size_t{y} * picture.width + x) * picture.samples + sample;
  float depth = 0;
  std::memcpy(&depth,
              picture.layers.back().texels.data() + index * sizeof(depth),
              sizeof(depth));
  return depth;
}

// A renderer of one program, and its pipelines by kind and mask.
class Bench {
 public:
  Bench(pipeline::Device& device, Program program)
      : program_(std::move(program)),
        renderer_(Renderer::Make(device, program_).value()),
        pipelines_(PipelineSet::Make(device, program_).value()) {}

  const pipeline::Pipeline& Get(FeatureMask features,
                                const std::string& kind = "opaque") {
    VariantKey key = WholeKeys(program_, Digest()).front();
    key.kind = kind;
    key.features = features;
    return *pipelines_->Get(key).value();
  }

  Renderer& renderer() { return *renderer_; }

 private:
  const Program program_;
  std::unique_ptr<Renderer> renderer_;
  std::unique_ptr<PipelineSet> pipelines_;
};

class RendererTest : public LabTest {};

TEST_F(RendererTest, PictureHasTheBytesTheShaderWroteAndTheClearedOnes) {
  Bench bench(*device_, LabProgram());
  ASSERT_OK(bench.renderer().Load(LabInputs({0})));
  ASSERT_OK_AND_ASSIGN(const Picture picture,
                       bench.renderer().Draw(bench.Get(7)));
  ASSERT_THAT(picture.layers, SizeIs(2));
  EXPECT_EQ(picture.layers[0].format, "r8g8b8a8_unorm");
  EXPECT_EQ(picture.layers[0].texels.size(), 16u * 8 * 4);
  EXPECT_TRUE(picture.has_depth);
  EXPECT_EQ(SampleOf(picture, 0, 0), kPlain);
  EXPECT_EQ(DepthOf(picture, 0, 0), 0.5f);
  EXPECT_EQ(SampleOf(picture, 15, 7), kCleared);
  EXPECT_EQ(DepthOf(picture, 15, 7), 0.25f);
}

TEST_F(RendererTest, EveryResourceReachesTheShader) {
  Bench bench(*device_, LabProgram());
  ASSERT_OK(bench.renderer().Load(LabInputs({kGlow | kTint})));
  ASSERT_OK_AND_ASSIGN(const Picture picture,
                       bench.renderer().Draw(bench.Get(7)));
  // (map + light) * row: 64 / 255 is 0.251; row is 0.5, 0.75, 1, 1.
  EXPECT_EQ(SampleOf(picture, 0, 0), Rgba({96, 96, 96, 64}));
}

TEST_F(RendererTest, EachDrawHasThePipelineGivenForIt) {
  Bench bench(*device_, LabProgram());
  ASSERT_OK(bench.renderer().Load(LabInputs({kGlow, kHoles})));
  const std::vector<const pipeline::Pipeline*> pipelines = {&bench.Get(kGlow),
                                                            &bench.Get(kHoles)};
  ASSERT_OK_AND_ASSIGN(const Picture picture, bench.renderer().Draw(pipelines));
  // The second draw covers the even columns and leaves the first in the odd.
  EXPECT_EQ(SampleOf(picture, 0, 0), kPlain);
  EXPECT_EQ(SampleOf(picture, 1, 0), Rgba({192, 128, 96, 64}));
  EXPECT_EQ(DepthOf(picture, 0, 0), 0.625f);
  EXPECT_EQ(DepthOf(picture, 1, 0), 0.5f);
}

TEST_F(RendererTest, SamplesOfAnEdgeAreReadOneByOne) {
  Program program = LabProgram();
  program.pipeline.samples = 4;
  Bench bench(*device_, program);
  ASSERT_OK(bench.renderer().Load(LabInputs({0})));
  ASSERT_OK_AND_ASSIGN(const Picture picture,
                       bench.renderer().Draw(bench.Get(7)));
  ASSERT_EQ(picture.samples, 4u);
  std::set<Rgba> values;
  size_t mixed = 0;
  for (uint32_t y = 0; y < picture.height; ++y) {
    for (uint32_t x = 0; x < picture.width; ++x) {
      std::set<Rgba> of_pixel;
      for (uint32_t s = 0; s < picture.samples; ++s) {
        of_pixel.insert(SampleOf(picture, x, y, s));
        EXPECT_EQ(DepthOf(picture, x, y, s),
                  SampleOf(picture, x, y, s) == kPlain ? 0.5f : 0.25f);
      }
      mixed += of_pixel.size() > 1 ? 1 : 0;
      values.merge(of_pixel);
    }
  }
  // A resolve would have made values in between.
  EXPECT_EQ(values, (std::set<Rgba>{kCleared, kPlain}));
  EXPECT_GT(mixed, 4u);
}

TEST_F(RendererTest, TexelsOfEverySizeAreReadBitForBit) {
  for (const auto& [format, bytes] :
       std::vector<std::pair<std::string, uint32_t>>{
           {"r8_unorm", 1},
           {"r16_sfloat", 2},
           {"r16g16b16a16_sfloat", 8},
           {"r32g32b32a32_sfloat", 16}}) {
    Program program = LabProgram();
    program.pipeline.color_formats = {format};
    Bench bench(*device_, program);
    ASSERT_OK(bench.renderer().Load(LabInputs({0})));
    ASSERT_OK_AND_ASSIGN(const Picture picture,
                         bench.renderer().Draw(bench.Get(7)));
    EXPECT_EQ(picture.layers[0].texel_bytes, bytes);
    EXPECT_EQ(picture.layers[0].texels.size(), 16u * 8 * bytes) << format;
    const Rgba drawn = SampleOf(picture, 0, 0);
    EXPECT_EQ(drawn, SampleOf(picture, 7, 0)) << format;
    EXPECT_NE(drawn, SampleOf(picture, 15, 7)) << format;
    if (format == "r32g32b32a32_sfloat") {
      float red = 0;
      std::memcpy(&red, drawn.data(), sizeof(red));
      EXPECT_FLOAT_EQ(red, 64.0f / 255);
    }
  }
}

TEST_F(RendererTest, DepthWithStencilIsReadAsDepth) {
  Program program = LabProgram();
  program.pipeline.depth_format = "d32_sfloat_s8_uint";
  Bench bench(*device_, program);
  ASSERT_OK(bench.renderer().Load(LabInputs({0})));
  ASSERT_OK_AND_ASSIGN(const Picture picture,
                       bench.renderer().Draw(bench.Get(7, "depth")));
  EXPECT_EQ(DepthOf(picture, 0, 0), 0.5f);
  EXPECT_EQ(DepthOf(picture, 15, 7), 0.25f);
  EXPECT_EQ(SampleOf(picture, 0, 0),
            kCleared);  // a depth kind writes no colour
}

TEST_F(RendererTest, InputsThatDoNotFitAreRefusedByName) {
  Bench bench(*device_, LabProgram());
  EXPECT_THAT(
      bench.renderer().DrawNothing(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no inputs")));
  const auto refusal = [&](const std::function<void(DrawInputs&)>& spoil) {
    DrawInputs inputs = LabInputs({0});
    spoil(inputs);
    const absl::Status status = bench.renderer().Load(inputs);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(refusal([](DrawInputs& i) { i.bound.erase(i.bound.begin()); }),
              HasSubstr("set 0 binding 0: the case has nothing"));
  EXPECT_THAT(refusal([](DrawInputs& i) { i.bound[2].images.clear(); }),
              HasSubstr("set 0 binding 2: 0 images"));
  EXPECT_THAT(
      refusal([](DrawInputs& i) { i.bound[2].images[0].texels.pop_back(); }),
      HasSubstr("set 0 binding 2: an image of 4 bytes of texels has 3"));
  EXPECT_THAT(
      refusal([](DrawInputs& i) { i.bound[2].images[0].format = "mauve"; }),
      HasSubstr("mauve"));
  EXPECT_THAT(refusal([](DrawInputs& i) { i.bound[2].images[0].width = 0; }),
              HasSubstr("0x1"));
  EXPECT_THAT(refusal([](DrawInputs& i) { i.indices[0] = 3; }),
              HasSubstr("vertex buffer 0 has 24 bytes"));
  EXPECT_THAT(refusal([](DrawInputs& i) { i.draws[0].index_count = 4; }),
              HasSubstr("ends at index 4 of 3"));
  EXPECT_THAT(refusal([](DrawInputs& i) { i.draws[0].push_constants.clear(); }),
              HasSubstr("0 bytes of push constants"));
  EXPECT_THAT(refusal([](DrawInputs& i) { i.vertex_buffers.clear(); }),
              HasSubstr("0 vertex buffers"));
  DrawInputs huge = LabInputs({0});
  huge.width = 1 << 20;
  ASSERT_OK(bench.renderer().Load(huge));
  EXPECT_THAT(
      bench.renderer().DrawNothing(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1048576")));
}

TEST_F(RendererTest, FramesAreTimedOneByOne) {
  Bench bench(*device_, LabProgram());
  ASSERT_OK(bench.renderer().Load(LabInputs({0, 7}, 64, 64)));
  ASSERT_OK_AND_ASSIGN(
      const std::vector<double> times,
      bench.renderer().TimeDraws(bench.Get(7), {.frames = 6, .warm_up = 2}));
  EXPECT_THAT(times, SizeIs(6));
  EXPECT_THAT(times, Each(Gt(0)));
  EXPECT_THAT(
      bench.renderer().TimeDraws(bench.Get(7), {.frames = 0}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("frames")));
}

TEST(RendererTargetTest, DeviceThatOnlyCompilesIsRefused) {
  KILN_OPEN_OR_SKIP(device, "radv:vangogh");
  EXPECT_THAT(Renderer::Make(*device, LabProgram()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("only compiles")));
}

}  // namespace
}  // namespace kiln::lab
