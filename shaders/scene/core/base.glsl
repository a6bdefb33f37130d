// SPDX-License-Identifier: Apache-2.0
//
// The first layer of every surface: three textures and the material's factors.
#ifndef SCENE_CORE_BASE_GLSL
#define SCENE_CORE_BASE_GLSL

#include "blocks/stochastic.glsl"
#include "core/surface.glsl"
#include "resources/material.glsl"
#include "resources/textures.glsl"

Surface BaseSurface(Footprint at) {
    Surface s;
    vec4 colour = SampleBase(base_map, at) * MaterialTint();
    s.albedo = colour.rgb * vertex_colour.rgb;
    s.alpha = colour.a;

    vec4 factors = MaterialSurface();
    s.slope = SlopeOf(SampleBase(normal_map, at).rg) * factors.z;

    vec4 texel = SampleBase(surface_map, at);
    vec4 glow = MaterialEmissive();
    s.roughness = texel.g * factors.x;
    s.metalness = texel.b * factors.y;
    s.occlusion = mix(1.0, texel.r, glow.a);
    s.emissive = glow.rgb * texel.a;
    return s;
}

#endif
