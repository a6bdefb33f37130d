// SPDX-License-Identifier: Apache-2.0
//
// Every block's run-time gate, and the bits they add up to. Pure functions of the lanes the
// shader reads (draw flags, two material lanes, three frame lanes): nothing here touches a
// binding, so a tool can include this file alone and derive a draw's bits from the very values
// its gates will read. A bit is clear exactly where its gate is false; dissolve has no gate.
// The text is C++ as well (scene_features.cc): keep to scalars, lanes and plain functions.
#ifndef SCENE_GATES_GLSL
#define SCENE_GATES_GLSL

// draw.flags
const uint kDrawFirstPerson = 1u << 0;    // dissolve only: chop the head the camera sits in
const uint kDrawFlatRelief = 1u << 1;     // too far away for parallax
const uint kDrawRefusesDecals = 1u << 2;
const uint kDrawHasLightmap = 1u << 3;    // draw.lightmap_rect is valid

// layers.x (material lane 3)
const uint kMaterialHasHeight = 1u << 0;
const uint kMaterialTilesBase = 1u << 1;    // stochastic tiling of the base textures
const uint kMaterialTilesDetail = 1u << 2;  // and of the detail textures
const uint kMaterialLightmapped = 1u << 3;
const uint kMaterialBaseOnSecondUv = 1u << 4;

// switches.x (frame block)
const uint kFrameBakeLoaded = 1u << 0;
const uint kFrameIndirect = 1u << 1;
const uint kFrameShadows = 1u << 2;
const uint kFrameOcclusion = 1u << 3;
const uint kFrameCascadeTint = 1u << 4;
const uint kFrameCutaway = 1u << 5;
const uint kFramePlayerShadows = 1u << 6;
const uint kFrameProbesLive = 1u << 7;
const uint kFrameBlendPerPixel = 1u << 8;
const uint kFrameEyeSubmerged = 1u << 9;

// Material half. layers: flags, detail row + 1, decal block + 1, mask channel + 1.
// relief: base height depth, detail height depth, height-blend contrast, march steps.

bool GateDetail(uvec4 layers) { return layers.y != 0u; }

bool GateDecals(uint draw_flags, uvec4 layers) {
    return layers.z != 0u && (draw_flags & kDrawRefusesDecals) == 0u;
}

bool GateBaseHeight(uvec4 layers, vec4 relief) {
    return (layers.x & kMaterialHasHeight) != 0u && relief.x > 0.0;
}

bool GateDetailHeight(uvec4 layers, vec4 relief) { return layers.y != 0u && relief.y > 0.0; }

bool GateHeight(uint draw_flags, uvec4 layers, vec4 relief) {
    return (draw_flags & kDrawFlatRelief) == 0u &&
           (GateBaseHeight(layers, relief) || GateDetailHeight(layers, relief));
}

bool GateStochasticBase(uvec4 layers) { return (layers.x & kMaterialTilesBase) != 0u; }

bool GateStochasticDetail(uvec4 layers) { return (layers.x & kMaterialTilesDetail) != 0u; }

bool GateStochastic(uvec4 layers) {
    return GateStochasticBase(layers) || GateStochasticDetail(layers);
}

bool GateLightmapMaterial(uint draw_flags, uvec4 layers) {
    return (draw_flags & kDrawHasLightmap) != 0u && (layers.x & kMaterialLightmapped) != 0u;
}

bool GateBlendMask(uvec4 layers, vec4 relief) { return layers.w != 0u || relief.z > 0.0; }

// Frame half. switches: flags, debug view, lightmap atlas layers, voxel bricks.
// counts: reflection probes, water columns, lattice regions, shadowed players.
// strengths: sun intensity, cutaway fade strength (z and w gate nothing).

bool GateLightmapFrame(uvec4 switches) { return switches.z != 0u; }

bool GateProbeVolume(uvec4 switches) {
    const uint both = kFrameBakeLoaded | kFrameIndirect;
    return (switches.x & both) == both;
}

bool GateReflections(uvec4 counts) { return counts.x != 0u; }

bool GateVoxelLight(uvec4 switches) { return switches.w != 0u; }

bool GateWater(uvec4 switches, uvec4 counts) {
    return (switches.x & kFrameEyeSubmerged) != 0u || counts.y != 0u;
}

bool GateSunShadows(uvec4 switches, vec4 strengths) {
    return (switches.x & kFrameShadows) != 0u && strengths.x > 0.0;
}

bool GateScreenOcclusion(uvec4 switches) { return (switches.x & kFrameOcclusion) != 0u; }

bool GateDebugViews(uvec4 switches) {
    return switches.y != 0u || (switches.x & kFrameCascadeTint) != 0u;
}

bool GateCutaway(uvec4 switches, vec4 strengths) {
    return (switches.x & kFrameCutaway) != 0u && strengths.y > 0.0;
}

bool GatePlayerShadow(uvec4 switches, uvec4 counts) {
    return (switches.x & kFramePlayerShadows) != 0u && counts.w != 0u;
}

bool GateProbeBlend(uvec4 switches) {
    const uint both = kFrameProbesLive | kFrameBlendPerPixel;
    return (switches.x & both) == both;
}

bool GateProbeLattice(uvec4 counts) { return counts.z != 0u; }

// Both halves.
bool GateLightmap(uint draw_flags, uvec4 layers, uvec4 switches) {
    return GateLightmapMaterial(draw_flags, layers) && GateLightmapFrame(switches);
}

// The bits, numbered as in features.glsl.
const uint kMaterialOnlyBits = 0x0002fu;
const uint kSharedBits = 0x00010u;  // Lightmap
const uint kFrameOnlyBits = 0x1ffc0u;

// A row outside the table proves nothing absent: the whole material half stays.
uint OfMaterial(bool row_in_table, uint draw_flags, uvec4 layers, vec4 relief) {
    if (!row_in_table) {
        return kMaterialOnlyBits | kSharedBits;
    }
    uint bits = GateDetail(layers) ? 1u << 0 : 0u;
    bits |= GateDecals(draw_flags, layers) ? 1u << 1 : 0u;
    bits |= GateHeight(draw_flags, layers, relief) ? 1u << 2 : 0u;
    bits |= GateStochastic(layers) ? 1u << 3 : 0u;
    bits |= GateLightmapMaterial(draw_flags, layers) ? 1u << 4 : 0u;
    bits |= GateBlendMask(layers, relief) ? 1u << 5 : 0u;
    return bits;
}

uint OfFrame(uvec4 switches, uvec4 counts, vec4 strengths) {
    uint bits = GateLightmapFrame(switches) ? 1u << 4 : 0u;
    bits |= GateProbeVolume(switches) ? 1u << 6 : 0u;
    bits |= GateReflections(counts) ? 1u << 7 : 0u;
    bits |= GateVoxelLight(switches) ? 1u << 8 : 0u;
    bits |= GateWater(switches, counts) ? 1u << 9 : 0u;
    bits |= GateSunShadows(switches, strengths) ? 1u << 10 : 0u;
    bits |= GateScreenOcclusion(switches) ? 1u << 11 : 0u;
    bits |= GateDebugViews(switches) ? 1u << 12 : 0u;
    bits |= GateCutaway(switches, strengths) ? 1u << 13 : 0u;
    bits |= GatePlayerShadow(switches, counts) ? 1u << 14 : 0u;
    bits |= GateProbeBlend(switches) ? 1u << 15 : 0u;
    bits |= GateProbeLattice(counts) ? 1u << 16 : 0u;
    return bits;
}

// A material's bits within what its frame allows, plus the frame's own.
uint Combine(uint of_material, uint of_frame) {
    return (of_material & (kMaterialOnlyBits | of_frame)) | (of_frame & kFrameOnlyBits);
}

#endif
