// SPDX-License-Identifier: Apache-2.0
#include "shaders/scene/scene_features.h"

#include <bit>

namespace kiln::scene {
namespace {

// gates.glsl as C++: as much of GLSL as it uses.
namespace rule {

using uint = uint32_t;

struct uvec4 {  // NOLINT(readability-identifier-naming): GLSL's name
  uint x, y, z, w;
};

// A float that gates only compare with zero. Compared as bits: an engine that
// flushes denormals or compiles with -ffast-math gets the same answer, and one
// a driver may give differently (denormals, NaN) counts as above zero.
struct Lane {
  uint bits;

  bool operator>(double zero) const {
    const uint magnitude = bits & 0x7fffffffu;
    const bool negative = (bits >> 31) != 0u;
    const bool is_nan = magnitude > 0x7f800000u;
    return zero == 0.0 && (is_nan || (!negative && magnitude != 0u));
  }
};

struct vec4 {  // NOLINT(readability-identifier-naming): GLSL's name
  Lane x, y, z, w;
};

// What only the blocks call is unused here.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "shaders/scene/gates.glsl"
#pragma GCC diagnostic pop

}  // namespace rule

static_assert(kDrawFirstPerson == rule::kDrawFirstPerson);
static_assert(kDrawFlatRelief == rule::kDrawFlatRelief);
static_assert(kDrawRefusesDecals == rule::kDrawRefusesDecals);
static_assert(kDrawHasLightmap == rule::kDrawHasLightmap);

static_assert(kMaterialHasHeight == rule::kMaterialHasHeight);
static_assert(kMaterialTilesBase == rule::kMaterialTilesBase);
static_assert(kMaterialTilesDetail == rule::kMaterialTilesDetail);
static_assert(kMaterialLightmapped == rule::kMaterialLightmapped);
static_assert(kMaterialBaseOnSecondUv == rule::kMaterialBaseOnSecondUv);

static_assert(kFrameBakeLoaded == rule::kFrameBakeLoaded);
static_assert(kFrameIndirect == rule::kFrameIndirect);
static_assert(kFrameShadows == rule::kFrameShadows);
static_assert(kFrameOcclusion == rule::kFrameOcclusion);
static_assert(kFrameCascadeTint == rule::kFrameCascadeTint);
static_assert(kFrameCutaway == rule::kFrameCutaway);
static_assert(kFramePlayerShadows == rule::kFramePlayerShadows);
static_assert(kFrameProbesLive == rule::kFrameProbesLive);
static_assert(kFrameBlendPerPixel == rule::kFrameBlendPerPixel);
static_assert(kFrameEyeSubmerged == rule::kFrameEyeSubmerged);

// The three masks cut the bits into those of the material, of the frame, and
// of both, none twice.
static_assert((rule::kMaterialOnlyBits | rule::kSharedBits |
               rule::kFrameOnlyBits) == kAllFeatures);
static_assert((rule::kMaterialOnlyBits & rule::kSharedBits) == 0);
static_assert((rule::kMaterialOnlyBits & rule::kFrameOnlyBits) == 0);
static_assert((rule::kSharedBits & rule::kFrameOnlyBits) == 0);

rule::uvec4 ToRule(const UintLanes& lanes) {
  return {lanes[0], lanes[1], lanes[2], lanes[3]};
}

rule::vec4 ToRule(const FloatLanes& lanes) {
  return {{std::bit_cast<uint32_t>(lanes[0])},
          {std::bit_cast<uint32_t>(lanes[1])},
          {std::bit_cast<uint32_t>(lanes[2])},
          {std::bit_cast<uint32_t>(lanes[3])}};
}

}  // namespace

uint32_t OfMaterial(const MaterialLanes& lanes) {
  return rule::OfMaterial(lanes.row_in_table, lanes.draw_flags,
                          ToRule(lanes.layers), ToRule(lanes.relief));
}

uint32_t OfFrame(const FrameLanes& lanes) {
  return rule::OfFrame(ToRule(lanes.switches), ToRule(lanes.counts),
                       ToRule(lanes.strengths));
}

uint32_t Combine(uint32_t of_material, uint32_t of_frame) {
  return rule::Combine(of_material, of_frame);
}

}  // namespace kiln::scene
