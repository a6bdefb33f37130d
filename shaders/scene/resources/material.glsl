// SPDX-License-Identifier: Apache-2.0
//
// The material table: rows of lanes, one row a draw. Read a lane where it is used and not
// before: the row index is uniform, so a late read is a scalar load, and an early one is four
// registers held for nothing.
#ifndef SCENE_RESOURCES_MATERIAL_GLSL
#define SCENE_RESOURCES_MATERIAL_GLSL

#include "resources/draw.glsl"

const uint kMaterialLanes = 8u;

layout(set = 0, binding = 1, std430) readonly buffer MaterialTable {
    uvec4 header;  // x rows; row 0 always exists
    uvec4 lanes[];
} material_table;

uvec4 MaterialLane(uint lane) {
    uint row = draw.material_row < material_table.header.x ? draw.material_row : 0u;
    return material_table.lanes[row * kMaterialLanes + lane];
}

vec4 MaterialTint() { return uintBitsToFloat(MaterialLane(0u)); }

// Roughness, metalness, normal strength, alpha cutoff (0: no alpha test).
vec4 MaterialSurface() { return uintBitsToFloat(MaterialLane(1u)); }

// Emissive rgb, occlusion strength.
vec4 MaterialEmissive() { return uintBitsToFloat(MaterialLane(2u)); }

// Gate lanes: see gates.glsl.
uvec4 MaterialLayers() { return MaterialLane(3u); }

vec4 MaterialRelief() { return uintBitsToFloat(MaterialLane(4u)); }

// UV scale and offset.
vec4 MaterialUv() { return uintBitsToFloat(MaterialLane(5u)); }

// Scroll per second, turns per second, sway amplitude. Read by the Detail block only.
vec4 MaterialUvMotion() { return uintBitsToFloat(MaterialLane(6u)); }

// Second layer: first layer of the atlas, UV scale, mask bias, tiling contrast of Stochastic.
vec4 MaterialBlend() { return uintBitsToFloat(MaterialLane(7u)); }

#endif
