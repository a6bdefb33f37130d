// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/bench_scenes.h"

#include <vector>

#include "shaders/lab/random.h"
#include "shaders/lab/scene_cases.h"

namespace kiln::lab {
namespace {

constexpr uint32_t kColumns = 12;
constexpr uint32_t kRows = 4;
constexpr uint32_t kDeep = 2;

// What a row has of lanes 3 and 4.
MaterialGates Gates(uint32_t flags, uint32_t detail, uint32_t decals,
                    uint32_t mask, float base_height, float detail_height) {
  return {{flags, detail, decals, mask}, {base_height, detail_height, 0, 16}};
}

// Four rows, which the draws take in turn.
std::vector<MaterialGates> Materials(BenchLevel level) {
  const MaterialGates plain = Gates(0, 0, 0, 0, 0, 0);
  switch (level) {
    case BenchLevel::kLight:
      return {plain, plain, plain, plain};
    case BenchLevel::kMiddle:
      return {plain, Gates(0, 1, 0, 0, 0, 0), plain, Gates(0, 2, 0, 0, 0, 0)};
    case BenchLevel::kHeavy:
      break;
  }
  using scene::kMaterialHasHeight;
  using scene::kMaterialLightmapped;
  using scene::kMaterialTilesBase;
  using scene::kMaterialTilesDetail;
  const uint32_t tiled = kMaterialTilesBase | kMaterialTilesDetail;
  return {
      Gates(kMaterialHasHeight, 1, 0, 0, 0.06f, 0.03f),
      Gates(kMaterialHasHeight | tiled, 2, 0, 1, 0.05f, 0),
      Gates(kMaterialLightmapped, 3, 1, 2, 0, 0),
      Gates(kMaterialHasHeight | kMaterialLightmapped | tiled, 4, 2, 3, 0.05f,
            0.03f),
  };
}

scene::FrameLanes Frame(BenchLevel level) {
  scene::FrameLanes lanes;
  lanes.strengths = {2, 0, 1, 1};
  if (level == BenchLevel::kMiddle) {
    lanes.switches[0] = scene::kFrameShadows;
    lanes.counts[0] = kSceneReflectionProbes;
  } else if (level == BenchLevel::kHeavy) {
    lanes.switches = {scene::kFrameBakeLoaded | scene::kFrameIndirect |
                          scene::kFrameShadows | scene::kFrameOcclusion |
                          scene::kFramePlayerShadows | scene::kFrameProbesLive |
                          scene::kFrameBlendPerPixel,
                      0, kSceneLightmapLayers, 4096};
    lanes.counts = {kSceneReflectionProbes, kSceneWaterBodies,
                    kSceneLatticeRegions, 2};
  }
  return lanes;
}

SceneDraw Standing(ScenePart part, Vec3 place, float scale, uint32_t index) {
  SceneDraw draw;
  draw.part = part;
  draw.place = place;
  draw.scale = scale;
  draw.flags = scene::kDrawHasLightmap;
  draw.material_row = index % 4;
  draw.lightmap_rect = {0.5f, 0.5f, 0.25f, 0.25f};
  return draw;
}

// Ground and wall, and balls and rings in rows before the wall.
std::vector<SceneDraw> Draws() {
  std::vector<SceneDraw> draws = {
      Standing(ScenePart::kGround, {0, 0, 0}, 1.2f, 0),
      Standing(ScenePart::kWall, {0, 0, -3}, 1.6f, 1)};
  for (uint32_t i = 0; i < kColumns * kRows * kDeep; ++i) {
    const auto column = static_cast<float>(i % kColumns);
    const auto row = static_cast<float>(i / kColumns % kRows);
    const auto deep = static_cast<float>(i / (kColumns * kRows));
    const Vec3 place = {column - 5.5f + 0.5f * deep, 0.6f + row,
                        2.0f * deep - 1.5f};
    draws.push_back(Standing(i % 2 == 0 ? ScenePart::kBall : ScenePart::kRing,
                             place, 0.4f, i));
  }
  return draws;
}

}  // namespace

const char* BenchLevelName(BenchLevel level) {
  switch (level) {
    case BenchLevel::kLight:
      return "light";
    case BenchLevel::kMiddle:
      return "middle";
    case BenchLevel::kHeavy:
      break;
  }
  return "heavy";
}

DrawInputs BenchScene(BenchLevel level, uint32_t width, uint32_t height) {
  Random random(1);
  SceneParts parts;
  parts.view = {width, height, {0, 2.4f, 6}, {0, 1.8f, 0}, 0.5f, Frame(level)};
  parts.quads = 32;
  parts.lights = level == BenchLevel::kHeavy ? 4 : 1;
  parts.materials = Materials(level);
  parts.draws = Draws();
  return MakeSceneInputs(parts, random);
}

}  // namespace kiln::lab
