// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/scene_tables.h"

#include <array>

#include "shaders/lab/lane_writer.h"
#include "shaders/lab/vectors.h"

namespace kiln::lab {
namespace {

constexpr uint32_t kNoProbe = 0xffffffff;
constexpr uint32_t kDecalLanes = 5;
// The atlas has a layer a probe.
constexpr uint32_t kReflectionLayers = kSceneReflectionProbes;

// Random numbers one after the other: arguments of a call have no order.
std::array<float, 4> Between(std::array<float, 4> low,
                             std::array<float, 4> high, Random& random) {
  for (uint32_t i = 0; i < 4; ++i) {
    low[i] = random.Between(low[i], high[i]);
  }
  return low;
}

void Floats(LaneWriter& out, std::array<float, 4> lane) {
  out.Floats(lane[0], lane[1], lane[2], lane[3]);
}

void Floats(LaneWriter& out, Vec3 v, float w) {
  out.Floats(v.x, v.y, v.z, w);
}

// A layer of the atlas that `following` more come after.
float AtlasLayer(uint32_t following, Random& random) {
  return static_cast<float>(random.Below(kSceneAtlasLayers - following));
}

// World to the box around `center`, -1 to 1 along each axis; z is `outwards`.
void DecalBox(LaneWriter& out, Vec3 center, Vec3 outwards, Random& random) {
  const Axes along = AxesAlong(outwards);
  const float turn = random.Unit();
  const float sine = Wave(turn);
  const float cosine = Wave(turn + 0.25f);
  const float size = 1.0f / random.Between(1, 2.5f);
  const Vec3 x = (along.x * cosine + along.y * sine) * size;
  const Vec3 y = (along.y * cosine - along.x * sine) * size;
  const Vec3 z = along.z * 0.6f;
  Floats(out, x, -Dot(x, center));
  Floats(out, y, -Dot(y, center));
  Floats(out, z, -Dot(z, center));
}

// On the ground or on the wall (scene_mesh.h).
void Decal(LaneWriter& out, bool on_ground, Random& random) {
  const auto place = Between({-3, 0.5f, -2, 0}, {3, 3.5f, 3, 0}, random);
  if (on_ground) {
    DecalBox(out, {place[0], 0, place[2]}, {0, 1, 0}, random);
  } else {
    DecalBox(out, {place[0], place[1], -3}, {0, 0, 1}, random);
  }
  Floats(out, Between({0.3f, 0.3f, 0.3f, 0.6f}, {1, 1, 1, 1}, random));
  auto looks = Between({0, 0, 0.4f, 2}, {0, 1, 0.9f, 6}, random);
  looks[0] = AtlasLayer(1, random);
  Floats(out, looks);
}

// Harmonics of one channel: positive for most directions.
void Harmonics(LaneWriter& out, Random& random) {
  Floats(out,
         Between({0.2f, -0.4f, -0.4f, -0.4f}, {1, 0.4f, 0.4f, 0.4f}, random));
}

}  // namespace

MaterialGates RandomMaterialGates(Random& random) {
  MaterialGates gates;
  gates.layers = {random.Bits(),  // bits without a name gate nothing
                  random.ZeroOr(kSceneDetailRows),
                  random.ZeroOr(kSceneDecalBlocks), random.ZeroOr(4)};
  gates.relief = {random.Half() ? 0.0f : random.Between(0.02f, 0.12f),
                  random.Half() ? 0.0f : random.Between(0.02f, 0.08f),
                  random.Half() ? 0.0f : random.Between(1, 6),
                  random.Between(8, 24)};
  return gates;
}

void MaterialTable::Add(const MaterialGates& gates, Random& random) {
  LaneWriter out;
  Floats(out, Between({0.5f, 0.5f, 0.5f, 0.7f}, {1, 1, 1, 1}, random));
  // Rough enough that no highlight overflows a half.
  auto surface = Between({0.7f, 0, 0, 0.3f}, {1, 1, 1, 0.55f}, random);
  surface[3] = random.Half() ? 0.0f : surface[3];
  Floats(out, surface);
  Floats(out, Between({0, 0, 0, 0}, {0.2f, 0.2f, 0.2f, 1}, random));
  const auto& layers = gates.layers;
  out.Uints(layers[0], layers[1], layers[2], layers[3]);
  Floats(out, gates.relief);
  Floats(out, Between({0.5f, 0.5f, -1, -1}, {2.5f, 2.5f, 1, 1}, random));
  Floats(out,
         Between({-0.3f, -0.3f, -0.1f, 0}, {0.3f, 0.3f, 0.1f, 0.05f}, random));
  auto second = Between({0, 0.5f, -0.1f, 1}, {0, 3, 0.3f, 6}, random);
  second[0] = AtlasLayer(2, random);
  Floats(out, second);
  const Bytes row = out.Take();
  lanes_.insert(lanes_.end(), row.begin(), row.end());
  ++rows_;
}

Bytes MaterialTable::Take() {
  LaneWriter header;
  header.Uints(rows_, 0, 0, 0);
  Bytes table = header.Take();
  table.insert(table.end(), lanes_.begin(), lanes_.end());
  rows_ = 0;
  lanes_.clear();
  return table;
}

Bytes DetailTable(Random& random) {
  LaneWriter out;
  for (uint32_t row = 0; row < kSceneDetailRows; ++row) {
    Floats(out, Between({0.4f, 0.4f, 0.4f, 0.4f}, {1, 1, 1, 1}, random));
    Floats(out, Between({1, 1, 0, 0}, {6, 6, 1, 1}, random));
    auto looks = Between({0, 0, 0, 8}, {0, 0.5f, 0.8f, 30}, random);
    looks[0] = AtlasLayer(1, random);
    Floats(out, looks);
    Floats(out, Between({-0.1f, 0, 0, 0}, {0.4f, 3, 1, 1}, random));
  }
  return out.Take();
}

Bytes DecalTable(Random& random) {
  std::array<uint32_t, kSceneDecalBlocks> counts;
  LaneWriter out;
  uint32_t first = kSceneDecalBlocks;
  for (uint32_t& count : counts) {
    count = 2 + random.Below(3);
    out.Uints(first, count, 0, 0);
    first += count * kDecalLanes;
  }
  for (const uint32_t count : counts) {
    for (uint32_t i = 0; i < count; ++i) {
      Decal(out, i % 2 == 0, random);
    }
  }
  return out.Take();
}

Bytes LightTable(uint32_t lights, Random& random) {
  LaneWriter out;
  out.Uints(lights, 0, 0, 0);
  for (uint32_t i = 0; i < lights; ++i) {
    Floats(out, Between({-4, 0.5f, -2, 3}, {4, 4, 4, 8}, random));
    const bool spot = random.Half();
    Floats(out, Between({0.5f, 0.5f, 0.5f, 0.9f}, {6, 6, 6, 0.98f}, random));
    Floats(out, Vec3{0, -1, 0}, spot ? random.Between(0.3f, 0.8f) : -2.0f);
  }
  if (lights == 0) {
    out.Floats(0, 0, 0, 0);  // no buffer ends at its header
  }
  return out.Take();
}

Bytes ReflectionTable(Random& random) {
  LaneWriter out;
  for (uint32_t probe = 0; probe < kSceneReflectionProbes; ++probe) {
    // Small to large, as the table is sorted.
    const float size = 2.5f + 3.0f * static_cast<float>(probe);
    const auto center = Between({-1, 0, -1, 0}, {1, 2, 1, 0}, random);
    const Vec3 middle = {center[0], center[1], center[2]};
    Floats(out, middle - Vec3{size, size, size},
           static_cast<float>(random.Below(kReflectionLayers)));
    Floats(out, middle + Vec3{size, size, size}, random.Between(0.5f, 2));
    Floats(out, middle, random.Between(0.5f, 1.5f));
    Floats(out, Between({0.2f, 0.2f, 0.2f, 0}, {1, 1, 1, 0}, random));
  }
  return out.Take();
}

Bytes ProbeTable(Random& random) {
  constexpr std::array<uint32_t, 3> kCells = {4, 3, 4};
  constexpr uint32_t kCellLanes = kCells[0] * kCells[1] * kCells[2];
  constexpr uint32_t kProbes = 12;
  LaneWriter out;
  out.Floats(-5.5f, -2, -5.5f, 2.75f);
  out.Uints(kCells[0], kCells[1], kCells[2], kCellLanes);
  for (uint32_t cell = 0; cell < kCellLanes; ++cell) {
    for (uint32_t i = 0; i < 4; ++i) {
      out.Word(random.OneIn(4) ? kNoProbe : random.Below(kProbes));
    }
  }
  for (uint32_t probe = 0; probe < kProbes; ++probe) {
    Floats(out, Between({-5, -1, -5, 6}, {5, 5, 5, 12}, random));
    for (uint32_t channel = 0; channel < 3; ++channel) {
      Harmonics(out, random);
    }
    for (uint32_t channel = 0; channel < 3; ++channel) {
      Floats(out, Between({-0.1f, -0.1f, -0.1f, -0.1f},
                          {0.1f, 0.1f, 0.1f, 0.1f}, random));
    }
    Floats(out,
           Between({-0.1f, -0.1f, -0.1f, 0.3f}, {0.1f, 0.1f, 0.1f, 1}, random));
  }
  return out.Take();
}

Bytes LatticeTable(Random& random) {
  struct Region {
    Vec3 corner;
    float spacing;
    std::array<uint32_t, 3> nodes;
  };

  constexpr uint32_t kRegionLanes = 3;
  constexpr uint32_t kNodeLanes = 4;
  // Fine before coarse.
  const std::array<Region, kSceneLatticeRegions> regions = {
      {{{-3, -1.5f, -3}, 1.5f, {5, 4, 5}}, {{-8, -4, -8}, 4, {5, 4, 5}}}};
  LaneWriter out;
  uint32_t lane = kSceneLatticeRegions * kRegionLanes;
  uint32_t nodes = 0;
  for (const Region& region : regions) {
    Floats(out, region.corner, region.spacing);
    const auto& size = region.nodes;
    out.Uints(size[0], size[1], size[2], lane);
    out.Floats(random.Between(0.5f, 1.5f), 0.2f, 0, 0);
    const uint32_t count = size[0] * size[1] * size[2];
    lane += count * kNodeLanes;
    nodes += count;
  }
  for (uint32_t node = 0; node < nodes; ++node) {
    for (uint32_t channel = 0; channel < 3; ++channel) {
      Harmonics(out, random);
    }
    const float wall = random.Between(0.5f, 4);
    const float squared = wall * wall + random.Between(0, 1);
    out.Floats(wall, squared, random.OneIn(8) ? 0.0f : 1.0f, 0);
  }
  return out.Take();
}

Bytes WaterTable(const SceneView& view, Random& random) {
  LaneWriter out;
  for (uint32_t body = 0; body < kSceneWaterBodies; ++body) {
    // The first holds part of the scene, the second all of it and the eye.
    const float reach = body == 0 ? 2.0f : 30.0f;
    out.Floats(-reach, -reach, reach, reach);
    const float surface = body == 0 ? 1.2f : WaterSurface(view);
    auto column = Between({0, -4, 0, 0.3f}, {0, -2, 0.15f, 1}, random);
    column[0] = surface;
    Floats(out, column);
    Floats(out,
           Between({0.05f, 0.05f, 0.05f, 1}, {0.5f, 0.3f, 0.2f, 4}, random));
    Floats(out, Between({0.02f, 0.1f, 0.1f, 0}, {0.1f, 0.3f, 0.4f, 0}, random));
  }
  return out.Take();
}

}  // namespace kiln::lab
