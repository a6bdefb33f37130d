// SPDX-License-Identifier: Apache-2.0
//
// Block Height: relief by parallax. Marches the view ray through the height fields (base, detail,
// or both) to find which texel the eye really sees, then from there towards the sun to see
// whether the relief shades itself. Moves the coordinate only: the gradients stay as they were.
#ifndef SCENE_BLOCKS_HEIGHT_GLSL
#define SCENE_BLOCKS_HEIGHT_GLSL

#include "blocks/detail.glsl"
#include "core/surface.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "kinds.glsl"
#include "resources/draw.glsl"
#include "resources/frame.glsl"
#include "resources/material.glsl"
#include "resources/textures.glsl"

const int kReliefSunSteps = 10;
const int kReliefHalvings = 5;

// Depth below the surface at base coordinate `at.uv`, in units of the base texture.
float ReliefDepth(Footprint at) {
    uvec4 layers = MaterialLayers();
    vec4 relief = MaterialRelief();
    float depth = 0.0;
    if (GateBaseHeight(layers, relief)) {
        depth += (1.0 - textureGrad(height_map, at.uv, at.dx, at.dy).r) * relief.x;
    }
    if (GateDetailHeight(layers, relief)) {
        Footprint detail = Scaled(at, DetailLane(layers, 1u).xy);
        float height = textureGrad(detail_height_map, detail.uv, detail.dx, detail.dy).r;
        depth += (1.0 - height) * relief.y;
    }
    return depth;
}

// Depth of the hit; moves `at` there. `slide` is the shift of the coordinate per unit of depth.
float MarchInwards(inout Footprint at, vec2 slide, float range, float steps) {
    float stride = range / steps;
    vec2 start = at.uv;
    float depth = 0.0;
    float field = ReliefDepth(at);
    while (depth < field && depth < range) {
        depth += stride;
        at.uv = start + slide * depth;
        field = ReliefDepth(at);
    }
    // The hit lies in the last stride: halve it.
    float above = depth - stride;
    float below = depth;
    for (int i = 0; i < kReliefHalvings; ++i) {
        depth = 0.5 * (above + below);
        at.uv = start + slide * depth;
        bool outside = depth < ReliefDepth(at);
        above = outside ? depth : above;
        below = outside ? below : depth;
    }
    return depth;
}

// Share of the sun that clears the relief between `depth` and the surface.
float MarchSunwards(Footprint at, vec2 slide, float depth) {
    float clear = 1.0;
    vec2 start = at.uv;
    for (int i = 1; i <= kReliefSunSteps; ++i) {
        float climbed = float(i) / float(kReliefSunSteps + 1);
        at.uv = start + slide * (depth * climbed);
        float buried = depth * (1.0 - climbed) - ReliefDepth(at);
        clear = min(clear, 1.0 - clamp(buried * 24.0 / (depth * climbed + 1e-4), 0.0, 1.0));
    }
    return clear;
}

// Moves `at` to the texel the eye sees. Returns the share of the sun the relief lets through.
float ApplyRelief(inout Footprint at) {
    uvec4 layers = MaterialLayers();
    vec4 relief = MaterialRelief();
    float sunlight = 1.0;
    if (UsesHeight && GateHeight(draw.flags, layers, relief)) {
        mat3 axes = TangentFrame();
        vec3 view = normalize(frame.eye.xyz - world_position) * axes;
        float facing = max(view.z, 0.12);
        float range = (GateBaseHeight(layers, relief) ? relief.x : 0.0) +
                      (GateDetailHeight(layers, relief) ? relief.y : 0.0);
        float steps = clamp(relief.w / facing, 4.0, 48.0);
        float depth = MarchInwards(at, -view.xy / facing, range, steps);
        if (Kind != kKindDepth) {
            vec3 sun = frame.sun.xyz * axes;
            if (sun.z > 0.02) {
                sunlight = MarchSunwards(at, sun.xy / sun.z, depth);
            }
        }
    }
    return sunlight;
}

#endif
