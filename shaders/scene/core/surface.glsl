// SPDX-License-Identifier: Apache-2.0
//
// The point being shaded, between "which texels" and "which light". Normals are kept as slopes
// (two registers, and layers simply add up) until lighting asks for a direction.
#ifndef SCENE_CORE_SURFACE_GLSL
#define SCENE_CORE_SURFACE_GLSL

#include "core/inputs.glsl"

struct Surface {
    vec3 albedo;
    float alpha;
    vec2 slope;
    float roughness;
    float metalness;
    float occlusion;
    vec3 emissive;
};

// A texture coordinate with its footprint. Every sample takes explicit gradients, so a displaced
// coordinate keeps the footprint of the undisplaced one and no sample depends on its branch.
struct Footprint {
    vec2 uv;
    vec2 dx;
    vec2 dy;
};

Footprint Scaled(Footprint f, vec2 scale) {
    return Footprint(f.uv * scale, f.dx * scale, f.dy * scale);
}

// Two-channel normal map to slope.
vec2 SlopeOf(vec2 rg) {
    vec2 n = rg * 2.0 - 1.0;
    return n * inversesqrt(max(1.0 - dot(n, n), 0.02));
}

vec3 WorldNormal(vec2 slope) { return normalize(TangentFrame() * vec3(slope, 1.0)); }

#endif
