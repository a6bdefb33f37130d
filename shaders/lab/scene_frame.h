// SPDX-License-Identifier: Apache-2.0
#pragma once

// One view of the scene: camera, switches, and the frame block made of them
// (shaders/scene/resources/frame.glsl).

#include <cstdint>

#include "proto/bytes.h"
#include "shaders/lab/random.h"
#include "shaders/lab/vectors.h"
#include "shaders/scene/scene_features.h"

namespace kiln::lab {

// How many of each the scene's tables hold (scene_tables.h, scene_images.h):
// what a frame's counts may name.
inline constexpr uint32_t kSceneReflectionProbes = 3;
inline constexpr uint32_t kSceneWaterBodies = 2;
inline constexpr uint32_t kSceneLatticeRegions = 2;
inline constexpr uint32_t kSceneProbeGroups = 2;
inline constexpr uint32_t kSceneLightmapLayers = 4;
inline constexpr uint32_t kSceneVoxelSide = 16;

// Thread-compatible value.
struct SceneView {
  uint32_t width = 96;
  uint32_t height = 64;
  Vec3 eye;
  Vec3 target;
  float tangent = 0.6f;  // of half the upright angle of view
  scene::FrameLanes lanes;
};

// In front of the scene's wall, above its ground, looking at the middle: the
// scene fills most of the picture.
SceneView RandomView(uint32_t width, uint32_t height, Random& random);

// Every switch by itself on in half of the cases, every count zero in half.
scene::FrameLanes RandomFrameLanes(Random& random);

// Height of the water surface around the eye: above it when the view's
// switches say that it is submerged.
float WaterSurface(const SceneView& view);

// The bytes of the block. What `view` does not say is random, within what
// shows: a sun above the ground, players on it, a focus behind what is drawn.
Bytes FrameBlock(const SceneView& view, Random& random);

}  // namespace kiln::lab
