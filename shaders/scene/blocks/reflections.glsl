// SPDX-License-Identifier: Apache-2.0
//
// Block Reflections: what surrounding probes captured, in place of the open sky. A probe's box is
// its room: the mirror ray is followed to the wall, and the wall is looked up as the capture point
// saw it. Probes lie in the table small to large; each takes what those before it left.
#ifndef SCENE_BLOCKS_REFLECTIONS_GLSL
#define SCENE_BLOCKS_REFLECTIONS_GLSL

#include "core/inputs.glsl"
#include "core/octahedral.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/frame.glsl"
#include "resources/tables.glsl"
#include "resources/textures.glsl"

const uint kReflectionLanes = 4u;
const float kReflectionMips = 6.0;

// Lanes: box corner and atlas layer; opposite corner and fade in metres; capture point and scale;
// mean irradiance at capture, used to relight the capture by the light here.
vec3 ProbeRadiance(uint lane, vec3 mirrored, float roughness, vec3 irradiance) {
    vec4 low = reflection_lanes[lane];
    vec4 high = reflection_lanes[lane + 1u];
    vec4 capture = reflection_lanes[lane + 2u];
    vec3 inverse = 1.0 / (abs(mirrored) + 1e-5) * vec3(mirrored.x < 0.0 ? -1.0 : 1.0,
                                                       mirrored.y < 0.0 ? -1.0 : 1.0,
                                                       mirrored.z < 0.0 ? -1.0 : 1.0);
    vec3 walls = max((low.xyz - world_position) * inverse, (high.xyz - world_position) * inverse);
    float reach = max(min(walls.x, min(walls.y, walls.z)), 0.0);
    vec3 seen = world_position + mirrored * reach - capture.xyz;
    // A rough lobe covers many walls: bend back to the unprojected direction.
    seen = mix(normalize(seen), mirrored, roughness * roughness);

    // Further walls are blurred less for the same roughness.
    float spread = roughness * clamp(reach / (length(seen) + reach), 0.25, 1.0);
    float mip = sqrt(spread * roughness) * kReflectionMips;
    vec3 radiance = textureLod(reflection_atlas, vec3(OctahedralUv(seen, 0.01), low.w), mip).rgb;
    vec3 relit = clamp(irradiance / max(reflection_lanes[lane + 3u].rgb, 1e-3), 0.25, 4.0);
    return radiance * capture.w * mix(vec3(1.0), relit, roughness);
}

float ProbeShare(uint lane) {
    vec4 low = reflection_lanes[lane];
    vec4 high = reflection_lanes[lane + 1u];
    vec3 depth = min(world_position - low.xyz, high.xyz - world_position);
    return clamp(min(depth.x, min(depth.y, depth.z)) / high.w, 0.0, 1.0);
}

void ReadReflections(vec3 mirrored, float roughness, vec3 irradiance, inout vec3 radiance) {
    if (UsesReflections && GateReflections(frame.counts)) {
        vec3 sum = vec3(0.0);
        float left = 1.0;
        for (uint i = 0u; i < frame.counts.x && left > 0.01; ++i) {
            uint lane = i * kReflectionLanes;
            float share = ProbeShare(lane) * left;
            if (share > 0.0) {
                sum += ProbeRadiance(lane, mirrored, roughness, irradiance) * share;
                left -= share;
            }
        }
        radiance = radiance * left + sum;
    }
}

#endif
