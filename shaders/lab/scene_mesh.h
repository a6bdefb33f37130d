// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the scene's cases draw: four curved parts in one vertex and one index
// buffer, with the vertices of scene.program.toml (48 bytes). Curved, because
// on flat ground every normal is the same and a block that turns with the
// normal would look like one that does not.

#include <array>
#include <cstdint>
#include <vector>

#include "proto/bytes.h"
#include "shaders/lab/random.h"

namespace kiln::lab {

inline constexpr uint32_t kSceneVertexBytes = 48;

enum class ScenePart : uint8_t {
  kGround = 0,  // bumpy, 12 by 12 metres around the origin, facing up
  kWall,        // bumpy, 10 by 6 metres, facing +z, its foot at the origin
  kBall,        // radius 1, around the origin
  kRing,        // a torus around the z axis, outer radius 1.3
};

inline constexpr uint32_t kSceneParts = 4;

struct MeshPart {
  uint32_t first_index = 0;
  uint32_t index_count = 0;
};

// Thread-compatible value.
struct SceneMesh {
  Bytes vertices;
  std::vector<uint32_t> indices;  // triangles, counter-clockwise from outside
  std::array<MeshPart, kSceneParts> parts;  // by ScenePart
};

// Bumps, texture placement and colours are random. `quads`: along each side of
// each part. Requires: at least 2.
SceneMesh MakeSceneMesh(uint32_t quads, Random& random);

}  // namespace kiln::lab
