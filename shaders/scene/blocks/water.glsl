// SPDX-License-Identifier: Apache-2.0
//
// Block Water: what lies under a water surface. Daylight dies with the depth of the column above
// the point, waves focus it into caustics, and an eye under water sees through fog. A body is a
// box from its floor to its surface; the first that holds the point counts.
#ifndef SCENE_BLOCKS_WATER_GLSL
#define SCENE_BLOCKS_WATER_GLSL

#include "core/inputs.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/frame.glsl"
#include "resources/tables.glsl"
#include "resources/textures.glsl"

const uint kWaterLanes = 4u;

// Lanes: low x, low z, high x, high z; surface, floor, wave height, caustic strength; extinction
// per metre, wave length; scattered colour.
uint FindWater(vec3 position) {
    for (uint i = 0u; i < frame.counts.y; ++i) {
        vec4 area = water_lanes[i * kWaterLanes];
        vec4 column = water_lanes[i * kWaterLanes + 1u];
        vec2 depth = min(position.xz - area.xy, area.zw - position.xz);
        if (min(depth.x, depth.y) > 0.0 && position.y < column.x && position.y > column.y) {
            return i;
        }
    }
    return frame.counts.y;
}

// Height of the waves over `at`: four trains, each turned against the last.
float WaveHeight(vec2 at, float wave_length) {
    float k = 6.2831853 / max(wave_length, 0.1);
    float time = frame.eye.w;
    float h = sin(dot(at, vec2(0.92, 0.39)) * k + time * 1.1);
    h += 0.6 * sin(dot(at, vec2(-0.51, 0.86)) * k * 1.7 + time * 1.5);
    h += 0.4 * sin(dot(at, vec2(0.23, -0.97)) * k * 2.9 + time * 2.3);
    h += 0.2 * sin(dot(at, vec2(-0.99, -0.14)) * k * 4.3 + time * 2.9);
    return h;
}

// Bright lines where the surface acts as a lens. Two drifting layers; red, green and blue are
// refracted a little apart.
vec3 Caustics(vec2 at, float depth) {
    vec2 drift = frame.water.zw * frame.eye.w;
    vec2 first = (at + drift) * frame.water.y;
    vec2 second = (vec2(at.y, -at.x) * 1.37 - drift * 0.8) * frame.water.y;
    vec2 apart = vec2(0.004, 0.003) * min(depth, 4.0);
    float mip = log2(1.0 + depth * 0.5);
    vec3 a = vec3(textureLod(caustic_map, first - apart, mip).r,
                  textureLod(caustic_map, first, mip).r,
                  textureLod(caustic_map, first + apart, mip).r);
    vec3 b = vec3(textureLod(caustic_map, second - apart, mip).r,
                  textureLod(caustic_map, second, mip).r,
                  textureLod(caustic_map, second + apart, mip).r);
    return min(a, b) * 2.0;
}

// Share of daylight that reaches this point.
vec3 WaterDaylight() {
    vec3 daylight = vec3(1.0);
    if (UsesWater && GateWater(frame.switches, frame.counts)) {
        uint body = FindWater(world_position);
        if (body < frame.counts.y) {
            vec4 column = water_lanes[body * kWaterLanes + 1u];
            vec4 medium = water_lanes[body * kWaterLanes + 2u];
            // Sunlight bends towards the vertical as it enters.
            vec3 sun = frame.sun.xyz;
            float slant = sqrt(1.0 - (1.0 - sun.y * sun.y) * 0.5653);
            vec2 entry = world_position.xz + sun.xz * (column.x - world_position.y) * 0.75 / slant;
            float surface = column.x + column.z * WaveHeight(entry, medium.w);
            float depth = max(surface - world_position.y, 0.0);
            daylight = exp2(-medium.rgb * (depth / slant));
            float focus = column.w * smoothstep(0.0, 0.4, depth) * exp2(-0.2 * depth);
            daylight *= mix(vec3(1.0), 0.4 + Caustics(entry, depth), focus);
        }
    }
    return daylight;
}

// What the water between this point and the eye leaves of `colour`.
vec3 UnderwaterFog(vec3 colour) {
    if (UsesWater && GateWater(frame.switches, frame.counts)) {
        bool submerged = (frame.switches.x & kFrameEyeSubmerged) != 0u;
        uint body = FindWater(submerged ? frame.eye.xyz : world_position);
        if (body < frame.counts.y) {
            vec3 ray = world_position - frame.eye.xyz;
            float surface = submerged ? frame.water.x : water_lanes[body * kWaterLanes + 1u].x;
            // The part of the ray that lies below the surface.
            float above = submerged ? world_position.y - surface : frame.eye.y - surface;
            float rise = max(abs(ray.y), 1e-3);
            float wet = length(ray) * (1.0 - clamp(above / rise, 0.0, 1.0));
            vec3 clear = exp2(-water_lanes[body * kWaterLanes + 2u].rgb * wet);
            vec3 scattered = water_lanes[body * kWaterLanes + 3u].rgb;
            float sunwards = 0.5 + 0.5 * dot(ray, frame.sun.xyz) / (length(ray) + 1e-3);
            scattered *= 0.6 + 0.8 * sunwards * sunwards;
            colour = mix(scattered, colour, clear);
        }
    }
    return colour;
}

#endif
