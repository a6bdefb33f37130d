// SPDX-License-Identifier: Apache-2.0
#pragma once

// The scene's tables (shaders/scene/resources/tables.glsl and material.glsl)
// with random content. Whatever one of them says of another (a detail row, a
// layer, a lane) exists there, whichever switches a frame turns on.

#include <cstdint>

#include "proto/bytes.h"
#include "shaders/lab/random.h"
#include "shaders/lab/scene_frame.h"

namespace kiln::lab {

inline constexpr uint32_t kSceneMaterialLanes = 8;
inline constexpr uint32_t kSceneDetailRows = 4;
inline constexpr uint32_t kSceneDecalBlocks = 3;
inline constexpr uint32_t kSceneAtlasLayers = 12;

// What decides which blocks a material runs: lanes 3 and 4 of its row.
struct MaterialGates {
  scene::UintLanes layers{};
  scene::FloatLanes relief{};
};

// Each gate by itself open in half of the cases.
MaterialGates RandomMaterialGates(Random& random);

// Thread-compatible. Rows in the order they are added.
class MaterialTable {
 public:
  // Everything that gates nothing is random.
  void Add(const MaterialGates& gates, Random& random);

  uint32_t rows() const { return rows_; }

  // Requires: a row.
  Bytes Take();

 private:
  uint32_t rows_ = 0;
  Bytes lanes_;
};

Bytes DetailTable(Random& random);
Bytes DecalTable(Random& random);
Bytes LightTable(uint32_t lights, Random& random);
Bytes ReflectionTable(Random& random);
Bytes ProbeTable(Random& random);
Bytes LatticeTable(Random& random);

// Bodies of water that hold the eye of `view` when it is submerged.
Bytes WaterTable(const SceneView& view, Random& random);

}  // namespace kiln::lab
