// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which blocks of the scene shader a draw needs, for the engine: the bits of
// its variant key, derived from the very lanes it uploads.
//
// There is one rule, gates.glsl. The .cc compiles that text as C++, the
// shader's blocks run it as GLSL, derive.comp runs it for tools; so do not
// rewrite it, link this library or copy its two files beside gates.glsl.
// Depends on the C++ library alone.
//
//   // When a material row is written, and again when it changes:
//   row.features = OfMaterial({flags, true, row.layers, row.relief});
//   // When a view's frame block is written, from that block as written:
//   view.features = OfFrame({block.switches, block.counts, block.strengths});
//   // For every draw of every view:
//   const uint32_t features = Combine(row.features, view.features);
//
// A cleared bit promises that the block's gate is false for that draw in that
// view, so it must never be derived from anything older or coarser than what
// the GPU will read: a material's bits belong to (draw flags, row), and each
// view (shadow, mirror, capture) has bits of its own.

#include <array>
#include <cstdint>

namespace kiln::scene {

using UintLanes = std::array<uint32_t, 4>;
using FloatLanes = std::array<float, 4>;

// Push constant `draw.flags`.
inline constexpr uint32_t kDrawFirstPerson = 1u << 0;
inline constexpr uint32_t kDrawFlatRelief = 1u << 1;
inline constexpr uint32_t kDrawRefusesDecals = 1u << 2;
inline constexpr uint32_t kDrawHasLightmap = 1u << 3;

// Material lane 3, component x.
inline constexpr uint32_t kMaterialHasHeight = 1u << 0;
inline constexpr uint32_t kMaterialTilesBase = 1u << 1;
inline constexpr uint32_t kMaterialTilesDetail = 1u << 2;
inline constexpr uint32_t kMaterialLightmapped = 1u << 3;
inline constexpr uint32_t kMaterialBaseOnSecondUv = 1u << 4;

// Frame block, `switches.x`.
inline constexpr uint32_t kFrameBakeLoaded = 1u << 0;
inline constexpr uint32_t kFrameIndirect = 1u << 1;
inline constexpr uint32_t kFrameShadows = 1u << 2;
inline constexpr uint32_t kFrameOcclusion = 1u << 3;
inline constexpr uint32_t kFrameCascadeTint = 1u << 4;
inline constexpr uint32_t kFrameCutaway = 1u << 5;
inline constexpr uint32_t kFramePlayerShadows = 1u << 6;
inline constexpr uint32_t kFrameProbesLive = 1u << 7;
inline constexpr uint32_t kFrameBlendPerPixel = 1u << 8;
inline constexpr uint32_t kFrameEyeSubmerged = 1u << 9;

// Every block: the whole shader.
inline constexpr uint32_t kAllFeatures = 0x1ffff;

// What a draw's material gates read.
struct MaterialLanes {
  uint32_t draw_flags = 0;
  // Is the draw's row below the table's `header.x`? The shader draws any other
  // row as row 0, which this derivation does not see: nothing is proven absent.
  bool row_in_table = false;
  UintLanes layers{};   // lane 3 of the row
  FloatLanes relief{};  // lane 4 of the row
};

// What a view's gates read: the first three lanes of its frame block.
struct FrameLanes {
  UintLanes switches{};
  UintLanes counts{};
  FloatLanes strengths{};
};

// The blocks a material needs while every frame switch is on. Thread-safe.
//
// Here and in OfFrame, a float that a driver may read either as zero or as
// more than zero (a denormal, NaN) keeps its bit, whatever the floating-point
// mode of this thread or the flags of this build.
uint32_t OfMaterial(const MaterialLanes& lanes);

// The blocks a view turns on for whatever material wants them. Thread-safe.
uint32_t OfFrame(const FrameLanes& lanes);

// The bits of a draw: `of_material` within what the frame allows, plus the
// frame's own. Thread-safe.
uint32_t Combine(uint32_t of_material, uint32_t of_frame);

}  // namespace kiln::scene
