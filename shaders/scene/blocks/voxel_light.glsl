// SPDX-License-Identifier: Apache-2.0
//
// Block VoxelLight: light that bounced in the voxel field around the eye. Five cones over the
// hemisphere give irradiance and how open the point is; one along the mirror direction gives what
// a rough surface reflects of things nearby.
#ifndef SCENE_BLOCKS_VOXEL_LIGHT_GLSL
#define SCENE_BLOCKS_VOXEL_LIGHT_GLSL

#include "core/inputs.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/frame.glsl"
#include "resources/textures.glsl"

const int kConeSteps = 9;

// Radiance and opacity gathered along a cone; `spread` is its diameter per unit of length.
vec4 TraceCone(vec3 from, vec3 direction, float spread) {
    float cell = frame.voxel_origin.w;
    vec4 gathered = vec4(0.0);
    float along = cell * 1.5;
    for (int i = 0; i < kConeSteps; ++i) {
        float width = max(cell, spread * along);
        vec3 p = (from + direction * along - frame.voxel_origin.xyz) * frame.voxel_scale.xyz;
        if (gathered.a > 0.98 || any(greaterThan(abs(p - 0.5), vec3(0.5)))) {
            break;
        }
        float mip = min(log2(width / cell), frame.voxel_scale.w);
        vec4 voxel = textureLod(voxel_map, p, mip);
        gathered += vec4(voxel.rgb * voxel.a, voxel.a) * (1.0 - gathered.a);
        along += width * 0.8;
    }
    return gathered;
}

void ReadVoxelIrradiance(vec3 normal, inout vec3 irradiance) {
    if (UsesVoxelLight && GateVoxelLight(frame.switches)) {
        vec3 from = world_position + normal * frame.voxel_origin.w;
        vec3 side = normalize(abs(normal.y) < 0.9 ? vec3(normal.z, 0.0, -normal.x)
                                                  : vec3(0.0, -normal.z, normal.y));
        // One cone up the normal, four leaning by 57 degrees, a quarter turn apart.
        vec4 light = TraceCone(from, normal, 1.1) * 0.3;
        for (int i = 0; i < 4; ++i) {
            light += TraceCone(from, normal * 0.55 + side * 0.83, 1.1) * 0.175;
            side = cross(normal, side);
        }
        irradiance = irradiance * (1.0 - light.a) + light.rgb * frame.strengths.z;
    }
}

void ReadVoxelReflection(vec3 normal, vec3 mirrored, float roughness, inout vec3 radiance) {
    if (UsesVoxelLight && GateVoxelLight(frame.switches)) {
        vec3 from = world_position + normal * frame.voxel_origin.w;
        vec4 light = TraceCone(from, mirrored, mix(0.15, 1.1, roughness));
        // Voxels are too coarse for a clear mirror.
        light *= smoothstep(0.15, 0.5, roughness);
        radiance = radiance * (1.0 - light.a) + light.rgb;
    }
}

#endif
