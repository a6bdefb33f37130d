// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/scene_cases.h"

#include <utility>

#include "shaders/lab/lane_writer.h"
#include "shaders/lab/scene_images.h"

namespace kiln::lab {
namespace {

constexpr uint32_t kMaterials = 6;
constexpr uint32_t kLightsMost = 4;

Bytes PushConstants(const SceneDraw& draw) {
  const auto& [x, y, z] = draw.axes;
  const float s = draw.scale;
  LaneWriter out;
  out.Floats(x.x * s, y.x * s, z.x * s, draw.place.x);
  out.Floats(x.y * s, y.y * s, z.y * s, draw.place.y);
  out.Floats(x.z * s, y.z * s, z.z * s, draw.place.z);
  out.Uints(draw.flags, draw.material_row, draw.probe_group, 0);
  const auto& d = draw.dissolve;
  out.Floats(d[0], d[1], d[2], d[3]);
  const auto& r = draw.lightmap_rect;
  out.Floats(r[0], r[1], r[2], r[3]);
  return out.Take();
}

// Where the part stands: the ground and the wall about where scene_mesh.h has
// them, the others anywhere between.
void PlaceDraw(SceneDraw& draw, Random& random) {
  const float across = random.Between(-1, 1);
  const float ahead = random.Between(-1, 1);
  draw.scale = random.Between(0.8f, 1.2f);
  if (draw.part == ScenePart::kGround || draw.part == ScenePart::kWall) {
    draw.axes = AxesAlong({0.3f * across, 0, 1});
    const float back = draw.part == ScenePart::kWall ? -3.0f : 0.0f;
    draw.place = {0.5f * across, 0, back + 0.5f * ahead};
    return;
  }
  draw.axes = AxesAlong({across, random.Between(-0.5f, 0.5f), 1});
  draw.place = {2 * across, random.Between(0.7f, 1.6f), 0.5f + 1.5f * ahead};
}

SceneDraw RandomDraw(ScenePart part, uint32_t rows, Random& random) {
  SceneDraw draw;
  draw.part = part;
  PlaceDraw(draw, random);
  draw.flags = random.Bits();  // bits without a name gate nothing
  draw.material_row = random.Below(rows);
  if (random.OneIn(8)) {
    draw.material_row = random.Half() ? 0xffffffff : rows + random.Below(3);
  }
  draw.probe_group = random.Below(kSceneProbeGroups);
  if (random.OneIn(3)) {
    draw.dissolve[0] = random.Between(0, 0.5f);
  }
  if (random.OneIn(3)) {
    draw.dissolve[1] = random.Between(0.5f, 4);
    draw.dissolve[2] = random.Between(4, 7);
  }
  draw.dissolve[3] = random.Between(0.3f, 1.5f);
  const auto pair = static_cast<float>(random.Below(kSceneLightmapLayers / 2));
  draw.lightmap_rect = {0.5f, 0.5f, pair + random.Between(0, 0.49f),
                        random.Between(0, 0.5f)};
  return draw;
}

std::vector<SceneDraw> RandomDraws(uint32_t rows, Random& random) {
  std::vector<ScenePart> parts = {ScenePart::kGround, ScenePart::kWall};
  const uint32_t more = random.Below(3);
  for (uint32_t i = 0; i < more; ++i) {
    parts.push_back(random.Half() ? ScenePart::kBall : ScenePart::kRing);
  }
  std::vector<SceneDraw> draws;
  while (!parts.empty()) {
    std::swap(parts[random.Below(static_cast<uint32_t>(parts.size()))],
              parts.back());
    draws.push_back(RandomDraw(parts.back(), rows, random));
    parts.pop_back();
  }
  return draws;
}

BoundInput Buffer(uint32_t binding, Bytes bytes) {
  return {0, binding, std::move(bytes), {}};
}

}  // namespace

DrawInputs MakeSceneInputs(const SceneParts& parts, Random& random) {
  DrawInputs inputs;
  inputs.width = parts.view.width;
  inputs.height = parts.view.height;
  SceneMesh mesh = MakeSceneMesh(parts.quads, random);
  for (const SceneDraw& draw : parts.draws) {
    const MeshPart& part = mesh.parts[static_cast<uint32_t>(draw.part)];
    inputs.draws.push_back(
        {PushConstants(draw), part.first_index, part.index_count});
  }
  inputs.vertex_buffers.push_back(std::move(mesh.vertices));
  inputs.indices = std::move(mesh.indices);

  MaterialTable materials;
  for (const MaterialGates& gates : parts.materials) {
    materials.Add(gates, random);
  }
  inputs.bound.push_back(Buffer(0, FrameBlock(parts.view, random)));
  inputs.bound.push_back(Buffer(1, materials.Take()));
  inputs.bound.push_back(Buffer(2, DetailTable(random)));
  inputs.bound.push_back(Buffer(3, DecalTable(random)));
  inputs.bound.push_back(Buffer(4, LightTable(parts.lights, random)));
  inputs.bound.push_back(Buffer(5, ReflectionTable(random)));
  inputs.bound.push_back(Buffer(6, ProbeTable(random)));
  inputs.bound.push_back(Buffer(7, LatticeTable(random)));
  inputs.bound.push_back(Buffer(8, WaterTable(parts.view, random)));
  for (BoundInput& image : SceneImages(inputs.width, inputs.height, random)) {
    inputs.bound.push_back(std::move(image));
  }
  return inputs;
}

DrawInputs SceneCases::Make(uint64_t seed, const CaseKey& key) {
  Random random(seed);
  SceneParts parts;
  parts.view = RandomView(key.width, key.height, random);
  parts.lights = random.ZeroOr(kLightsMost);
  for (uint32_t row = 0; row < kMaterials; ++row) {
    parts.materials.push_back(RandomMaterialGates(random));
  }
  parts.draws = RandomDraws(kMaterials, random);
  return MakeSceneInputs(parts, random);
}

}  // namespace kiln::lab
