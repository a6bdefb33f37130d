// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cases of the scene program (shaders/scene/): random materials, frames and
// cameras over a small fixed set of shapes. Every gate is open in some cases
// and closed in others, every block shows when it runs, tables name only what
// they hold, and no picture has an infinity in it.
//
// The parts are in scene_mesh.h, scene_frame.h, scene_tables.h and
// scene_images.h; bench_scenes.h makes the larger scenes that are timed.

#include <array>
#include <cstdint>
#include <vector>

#include "shaders/lab/case_source.h"
#include "shaders/lab/draw_inputs.h"
#include "shaders/lab/random.h"
#include "shaders/lab/scene_frame.h"
#include "shaders/lab/scene_mesh.h"
#include "shaders/lab/scene_tables.h"

namespace kiln::lab {

// One draw: a part, where it stands, and the rest of its push constants
// (shaders/scene/resources/draw.glsl).
struct SceneDraw {
  ScenePart part = ScenePart::kGround;
  Axes axes = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  float scale = 1;
  Vec3 place;
  uint32_t flags = 0;
  uint32_t material_row = 0;
  uint32_t probe_group = 0;
  std::array<float, 4> dissolve{};  // nothing dissolves
  std::array<float, 4> lightmap_rect = {1, 1, 0, 0};
};

// What a scene is made of, before it is bytes.
struct SceneParts {
  SceneView view;
  uint32_t quads = 24;  // of the mesh (scene_mesh.h)
  uint32_t lights = 0;
  std::vector<MaterialGates> materials;  // at least one
  std::vector<SceneDraw> draws;
};

// Requires: draws whose rows exist, or are meant not to.
DrawInputs MakeSceneInputs(const SceneParts& parts, Random& random);

// Two to four draws of different materials, one in eight with a row outside
// the table. The case does not depend on the key but for its size.
class SceneCases : public CaseSource {
 public:
  DrawInputs Make(uint64_t seed, const CaseKey& key) override;
};

}  // namespace kiln::lab
