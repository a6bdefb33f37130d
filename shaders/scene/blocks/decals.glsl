// SPDX-License-Identifier: Apache-2.0
//
// Block Decals: the list of boxes a material's decal block names, each projecting two layers of
// the atlas (colour, slope) down its own z axis. Later ones lie on top.
#ifndef SCENE_BLOCKS_DECALS_GLSL
#define SCENE_BLOCKS_DECALS_GLSL

#include "core/surface.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/draw.glsl"
#include "resources/material.glsl"
#include "resources/tables.glsl"
#include "resources/textures.glsl"

const uint kDecalLanes = 5u;

// Lanes 0 to 2: rows of world to box, the box being -1 to 1. Lane 3: tint, opacity.
// Lane 4: first atlas layer, slope strength, roughness, how steeply edges fade.
vec4 DecalLane(uint decal, uint lane) { return uintBitsToFloat(decal_lanes[decal + lane]); }

vec3 InDecal(uint decal, vec4 v) {
    return vec3(dot(DecalLane(decal, 0u), v), dot(DecalLane(decal, 1u), v),
                dot(DecalLane(decal, 2u), v));
}

void ApplyDecal(inout Surface s, uint decal, vec3 step_x, vec3 step_y) {
    vec3 p = InDecal(decal, vec4(world_position, 1.0));
    float inside = 1.0 - max(abs(p.x), max(abs(p.y), abs(p.z)));
    float facing = normalize(InDecal(decal, vec4(GeometricNormal(), 0.0))).z;
    if (inside > 0.0 && facing > 0.1) {
        vec2 uv = p.xy * 0.5 + 0.5;
        vec2 dx = InDecal(decal, vec4(step_x, 0.0)).xy * 0.5;
        vec2 dy = InDecal(decal, vec4(step_y, 0.0)).xy * 0.5;
        vec4 looks = DecalLane(decal, 4u);
        vec4 tint = DecalLane(decal, 3u);
        vec4 colour = textureGrad(layer_atlas, vec3(uv, looks.x), dx, dy);
        float amount = colour.a * tint.a * clamp(inside * looks.w, 0.0, 1.0) *
                       smoothstep(0.1, 0.4, facing);
        s.albedo = mix(s.albedo, colour.rgb * tint.rgb, amount);
        s.roughness = mix(s.roughness, looks.z, amount);
        s.metalness *= 1.0 - amount;

        // The slope is along the box's axes; the surface keeps its along the tangent frame's.
        vec2 slope = SlopeOf(textureGrad(layer_atlas, vec3(uv, looks.x + 1.0), dx, dy).rg);
        vec3 lean = normalize(DecalLane(decal, 0u).xyz) * slope.x +
                    normalize(DecalLane(decal, 1u).xyz) * slope.y;
        s.slope += (lean * TangentFrame()).xy * (looks.y * amount);
    }
}

void ApplyDecals(inout Surface s) {
    uvec4 layers = MaterialLayers();
    if (UsesDecals && GateDecals(draw.flags, layers)) {
        vec3 step_x = dFdx(world_position);
        vec3 step_y = dFdy(world_position);
        uvec4 block = decal_lanes[layers.z - 1u];
        for (uint i = 0u; i < block.y; ++i) {
            ApplyDecal(s, block.x + i * kDecalLanes, step_x, step_y);
        }
    }
}

#endif
