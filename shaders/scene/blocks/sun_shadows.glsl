// SPDX-License-Identifier: Apache-2.0
//
// Block SunShadows: cascaded shadow maps under a 5x5 tent. Nine gathers compare the 6x6 texels
// the tent can touch; the fractional position weighs only the outermost rows and columns. Near
// the end of a cascade the next one is blended in.
#ifndef SCENE_BLOCKS_SUN_SHADOWS_GLSL
#define SCENE_BLOCKS_SUN_SHADOWS_GLSL

#include "core/inputs.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/frame.glsl"
#include "resources/textures.glsl"

// kCascades when past the last.
uint CascadeAt(float eye_distance) {
    return uint(dot(vec4(greaterThan(vec4(eye_distance), frame.cascade_far)), vec4(1.0)));
}

// Two by two texels whose common corner is `corner`, weighed by column `x` and row `y`.
float Gathered(vec2 corner, float layer, float reference, vec2 x, vec2 y) {
    vec4 lit = textureGather(cascade_map, vec3(corner, layer), reference);
    return dot(lit, vec4(x.x * y.y, x.y * y.y, x.y * y.x, x.x * y.x));
}

float CascadeVisibility(uint cascade, vec3 normal) {
    float slant = 1.0 - clamp(dot(normal, frame.sun.xyz), 0.0, 1.0);
    vec3 lifted = world_position + normal * (frame.cascade_texel[cascade] * (0.6 + 2.4 * slant));
    vec3 p = (frame.cascades[cascade] * vec4(lifted, 1.0)).xyz;

    vec2 size = vec2(textureSize(cascade_map, 0).xy);
    vec2 texel = 1.0 / size;
    vec2 whole = floor(p.xy * size - 0.5);
    vec2 part = p.xy * size - 0.5 - whole;
    vec2 c = (whole + 1.0) * texel;
    vec2 d = 2.0 * texel;
    float layer = float(cascade);

    vec2 left = vec2(1.0 - part.x, 1.0);
    vec2 right = vec2(1.0, part.x);
    vec2 top = vec2(1.0 - part.y, 1.0);
    vec2 bottom = vec2(1.0, part.y);
    vec2 full = vec2(1.0);
    float lit = Gathered(c + vec2(-d.x, -d.y), layer, p.z, left, top);
    lit += Gathered(c + vec2(0.0, -d.y), layer, p.z, full, top);
    lit += Gathered(c + vec2(d.x, -d.y), layer, p.z, right, top);
    lit += Gathered(c + vec2(-d.x, 0.0), layer, p.z, left, full);
    lit += Gathered(c, layer, p.z, full, full);
    lit += Gathered(c + vec2(d.x, 0.0), layer, p.z, right, full);
    lit += Gathered(c + vec2(-d.x, d.y), layer, p.z, left, bottom);
    lit += Gathered(c + vec2(0.0, d.y), layer, p.z, full, bottom);
    lit += Gathered(c + vec2(d.x, d.y), layer, p.z, right, bottom);
    return lit * (1.0 / 25.0);
}

float SunVisibility() {
    float visibility = 1.0;
    if (UsesSunShadows && GateSunShadows(frame.switches, frame.strengths)) {
        float eye_distance = EyeDistance(world_position);
        uint cascade = CascadeAt(eye_distance);
        if (cascade < kCascades) {
            vec3 normal = GeometricNormal();
            visibility = CascadeVisibility(cascade, normal);
            float end = frame.cascade_far[cascade];
            float blend = smoothstep(end * 0.9, end, eye_distance);
            if (blend > 0.0) {
                bool last = cascade + 1u == kCascades;
                float beyond = last ? 1.0 : CascadeVisibility(cascade + 1u, normal);
                visibility = mix(visibility, beyond, blend);
            }
        }
    }
    return visibility;
}

#endif
