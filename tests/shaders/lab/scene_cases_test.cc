// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/scene_cases.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program_file.h"
#include "shaders/compiler.h"
#include "shaders/lab/bench_scenes.h"
#include "shaders/lab/input_reflection.h"
#include "tests/shaders/lab/scene_program.h"
#include "tests/shaders/lab/scene_reader.h"
#include "tests/support/status_matchers.h"

namespace kiln::lab {
namespace {

using ::testing::Each;
using ::testing::Lt;

constexpr uint64_t kRandomCases = 200;
const CaseKey kOpaqueKey = {"opaque", "none", "alpha"};

DrawInputs Case(uint64_t seed) {
  return SceneCases().Make(seed, kOpaqueKey);
}

// Everything in one buffer.
Bytes AllBytes(const DrawInputs& inputs) {
  Bytes all;
  const auto append = [&](ByteView bytes) {
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  for (const BoundInput& input : inputs.bound) {
    append(input.buffer);
    for (const ImageInput& image : input.images) {
      append(image.texels);
    }
  }
  for (const Bytes& vertices : inputs.vertex_buffers) {
    append(vertices);
  }
  append(AsBytes(std::span<const uint32_t>(inputs.indices)));
  for (const DrawCall& draw : inputs.draws) {
    append(draw.push_constants);
  }
  return all;
}

TEST(SceneCasesTest, SeedDecidesEveryByte) {
  EXPECT_EQ(AllBytes(Case(7)), AllBytes(Case(7)));
  EXPECT_NE(AllBytes(Case(7)), AllBytes(Case(8)));
}

TEST(SceneCasesTest, SizeIsThatOfTheKey) {
  CaseKey key = kOpaqueKey;
  key.width = 40;
  key.height = 31;
  const DrawInputs inputs = SceneCases().Make(1, key);
  EXPECT_EQ(inputs.width, 40);
  EXPECT_EQ(inputs.height, 31);
  const scene::FloatLanes viewport = LaneReader(inputs, 0).Floats(4);
  EXPECT_EQ(viewport[1], 1.0f / 31);
  EXPECT_EQ(viewport[3], 1.0f / 16);  // the occlusion image, rounded up
}

TEST(SceneCasesTest, EveryBitIsSetAndClearedWithinTwoHundredSeeds) {
  uint32_t set = 0;
  uint32_t cleared = 0;
  uint32_t rows_outside = 0;
  for (uint64_t seed = 0; seed < kRandomCases; ++seed) {
    const DrawInputs inputs = Case(seed);
    EXPECT_GE(inputs.draws.size(), 2);
    EXPECT_LE(inputs.draws.size(), 4);
    for (const DrawCall& draw : inputs.draws) {
      const uint32_t bits = FeaturesOf(inputs, draw);
      set |= bits;
      cleared |= ~bits & scene::kAllFeatures;
      rows_outside += MaterialOf(inputs, draw).row_in_table ? 0 : 1;
    }
  }
  EXPECT_EQ(set, scene::kAllFeatures);
  EXPECT_EQ(cleared, scene::kAllFeatures);
  EXPECT_GT(rows_outside, 20);
}

// `layer` and the `following` ones are in the atlas.
void ExpectLayers(float layer, uint32_t following) {
  EXPECT_EQ(layer, std::floor(layer));
  EXPECT_LT(layer + static_cast<float>(following),
            static_cast<float>(kSceneAtlasLayers));
}

void ExpectMaterialsInRange(const DrawInputs& inputs) {
  const LaneReader table(inputs, 1);
  const uint32_t rows = table.Uints(0)[0];
  ASSERT_EQ(table.lanes(), 1 + rows * kMaterialLanes);
  const uint32_t details = LaneReader(inputs, 2).lanes() / 4;
  for (uint32_t row = 0; row < rows; ++row) {
    const uint32_t lane = 1 + row * kMaterialLanes;
    const scene::UintLanes layers = table.Uints(lane + 3);
    EXPECT_LE(layers[1], details);
    EXPECT_LE(layers[2], kSceneDecalBlocks);
    EXPECT_LE(layers[3], 4);
    ExpectLayers(table.Floats(lane + 7)[0], 2);
  }
  for (uint32_t row = 0; row < details; ++row) {
    ExpectLayers(LaneReader(inputs, 2).Floats(row * 4 + 2)[0], 1);
  }
}

void ExpectDecalsInRange(const DrawInputs& inputs) {
  const LaneReader table(inputs, 3);
  for (uint32_t block = 0; block < kSceneDecalBlocks; ++block) {
    const scene::UintLanes list = table.Uints(block);
    EXPECT_LE(list[0] + list[1] * 5, table.lanes());
    for (uint32_t i = 0; i < list[1]; ++i) {
      ExpectLayers(table.Floats(list[0] + i * 5 + 4)[0], 1);
    }
  }
}

void ExpectProbesInRange(const DrawInputs& inputs) {
  const LaneReader table(inputs, 6);
  const scene::UintLanes size = table.Uints(1);
  // Lanes are counted from behind the two lanes of the header.
  ASSERT_EQ(size[3], size[0] * size[1] * size[2]);
  const uint32_t probes = (table.lanes() - 2 - size[3]) / 8;
  for (uint32_t cell = 0; cell < size[3]; ++cell) {
    for (const uint32_t probe : table.Uints(2 + cell)) {
      EXPECT_TRUE(probe == 0xffffffff || probe < probes);
    }
  }
}

void ExpectCountsInRange(const DrawInputs& inputs) {
  const scene::FrameLanes frame = FrameOf(inputs);
  EXPECT_LE(frame.counts[0] * 4, LaneReader(inputs, 5).lanes());
  EXPECT_LE(frame.counts[1] * 4, LaneReader(inputs, 8).lanes());
  const LaneReader lattice(inputs, 7);
  for (uint32_t region = 0; region < frame.counts[2]; ++region) {
    const scene::UintLanes nodes = lattice.Uints(region * 3 + 1);
    EXPECT_GE(nodes[0], 2);
    EXPECT_LE(nodes[3] + nodes[0] * nodes[1] * nodes[2] * 4, lattice.lanes());
  }
  const LaneReader lights(inputs, 4);
  EXPECT_LE(1 + lights.Uints(0)[0] * 3, lights.lanes());
  for (uint32_t probe = 0; probe < kSceneReflectionProbes; ++probe) {
    EXPECT_LT(LaneReader(inputs, 5).Floats(probe * 4)[3],
              static_cast<float>(kSceneReflectionProbes));
  }
}

void ExpectDrawsInRange(const DrawInputs& inputs) {
  ASSERT_EQ(inputs.vertex_buffers.size(), 1);
  const size_t vertices = inputs.vertex_buffers[0].size() / kSceneVertexBytes;
  EXPECT_THAT(inputs.indices, Each(Lt(vertices)));
  for (const DrawCall& draw : inputs.draws) {
    EXPECT_LE(size_t{draw.first_index} + draw.index_count,
              inputs.indices.size());
    const LaneReader push(draw.push_constants);
    EXPECT_EQ(push.lanes(), 6);
    EXPECT_LT(push.Uints(3)[2], kSceneProbeGroups);
    EXPECT_LT(push.Floats(5)[2], static_cast<float>(kSceneLightmapLayers) / 2);
  }
}

TEST(SceneCasesTest, TablesNameOnlyWhatTheyHold) {
  for (uint64_t seed = 0; seed < kRandomCases && !HasFailure(); ++seed) {
    const DrawInputs inputs = Case(seed);
    ExpectMaterialsInRange(inputs);
    ExpectDecalsInRange(inputs);
    ExpectProbesInRange(inputs);
    ExpectCountsInRange(inputs);
    ExpectDrawsInRange(inputs);
  }
}

TEST(SceneCasesTest, BuffersAreAsLargeAsTheShaderDeclares) {
  const Program program = SceneProgram();
  InputReflection reflection;
  for (const StageSource& source : program.stages) {
    const shaders::StageResult stage =
        shaders::CompileStage(program, source.stage);
    ASSERT_TRUE(stage.ok()) << stage.diagnostics;
    ASSERT_OK(ReflectInputs(stage.spirv, reflection));
  }
  const DrawInputs inputs = Case(3);
  ASSERT_TRUE(reflection.push_constants.has_value());
  EXPECT_EQ(inputs.draws[0].push_constants.size(),
            reflection.push_constants->bytes);
  std::set<uint32_t> frame_block;
  for (const ReflectedBlock& block : reflection.blocks) {
    if (block.binding == 0) {
      frame_block.insert(block.bytes);
    }
  }
  EXPECT_THAT(frame_block,
              ::testing::ElementsAre(LaneReader(inputs, 0).lanes() * 16));
  ASSERT_EQ(inputs.bound.size(), program.pipeline.descriptors.size());
  for (size_t i = 0; i < inputs.bound.size(); ++i) {
    const Descriptor& descriptor = program.pipeline.descriptors[i];
    EXPECT_EQ(inputs.bound[i].binding, descriptor.binding);
    const bool is_image = descriptor.type == "combined_image_sampler";
    EXPECT_EQ(inputs.bound[i].images.size(), is_image ? descriptor.count : 0);
    EXPECT_EQ(inputs.bound[i].buffer.empty(), is_image);
  }
}

TEST(SceneCasesTest, ImagesHaveTheShapesThatTheShaderSamples) {
  const Program program = SceneProgram();
  const shaders::StageResult stage =
      shaders::CompileStage(program, Stage::kFragment);
  ASSERT_TRUE(stage.ok()) << stage.diagnostics;
  InputReflection reflection;
  ASSERT_OK(ReflectInputs(stage.spirv, reflection));
  EXPECT_EQ(reflection.images.size(), 17);
  const DrawInputs inputs = Case(3);
  for (const ReflectedImage& image : reflection.images) {
    const BoundInput& input = inputs.bound[image.binding];
    ASSERT_FALSE(input.images.empty()) << image.binding;
    EXPECT_EQ(input.images[0].shape, image.shape) << image.binding;
    EXPECT_EQ(input.images[0].compare, image.compare) << image.binding;
  }
}

// The union of the draws' bits.
uint32_t BitsOf(const DrawInputs& inputs) {
  uint32_t bits = 0;
  for (const DrawCall& draw : inputs.draws) {
    bits |= FeaturesOf(inputs, draw);
  }
  return bits;
}

TEST(BenchScenesTest, LevelsAskForNothingForSomeAndForMostBlocks) {
  const uint32_t debug_views = 1u << 12;
  const uint32_t cutaway = 1u << 13;
  EXPECT_EQ(BitsOf(BenchScene(BenchLevel::kLight, 64, 36)), 0);
  EXPECT_EQ(BitsOf(BenchScene(BenchLevel::kMiddle, 64, 36)),
            1u << 0 | 1u << 7 | 1u << 10);
  EXPECT_EQ(BitsOf(BenchScene(BenchLevel::kHeavy, 64, 36)),
            scene::kAllFeatures & ~(debug_views | cutaway));
  for (uint32_t level = 0; level < kBenchLevels; ++level) {
    const DrawInputs inputs =
        BenchScene(static_cast<BenchLevel>(level), 64, 36);
    EXPECT_GT(inputs.draws.size(), 90);
    ExpectMaterialsInRange(inputs);
    ExpectCountsInRange(inputs);
    ExpectDrawsInRange(inputs);
  }
}

}  // namespace
}  // namespace kiln::lab
