// SPDX-License-Identifier: Apache-2.0
//
// Block Lightmap: light baked for this very surface. A pair of atlas layers holds how much and
// from where; the second also gives a highlight, so that baked rooms are not all matt.
#ifndef SCENE_BLOCKS_LIGHTMAP_GLSL
#define SCENE_BLOCKS_LIGHTMAP_GLSL

#include "core/brdf.glsl"
#include "core/inputs.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/draw.glsl"
#include "resources/frame.glsl"
#include "resources/material.glsl"
#include "resources/textures.glsl"

// Replaces `irradiance`; returns the baked highlight.
vec3 ReadLightmap(Lobes lobes, vec3 normal, vec3 view, inout vec3 irradiance) {
    vec3 highlight = vec3(0.0);
    if (UsesLightmap && GateLightmap(draw.flags, MaterialLayers(), frame.switches)) {
        float pair = floor(draw.lightmap_rect.z) * 2.0;
        vec2 uv = uv_sets.zw * draw.lightmap_rect.xy + vec2(fract(draw.lightmap_rect.z),
                                                            draw.lightmap_rect.w);
        vec3 light = textureLod(lightmap_atlas, vec3(uv, pair), 0.0).rgb;
        vec4 from = textureLod(lightmap_atlas, vec3(uv, pair + 1.0), 0.0);
        vec3 direction = normalize(from.xyz * 2.0 - 1.0 + vec3(0.0, 1e-4, 0.0));
        float directed = from.w;
        // Baked for the geometric normal: tilt it to the mapped one.
        float flat_share = max(dot(GeometricNormal(), direction), 0.15);
        float share = max(dot(normal, direction), 0.0) / flat_share;
        irradiance = light * mix(1.0, min(share, 2.0), directed);

        // A baked light has an extent: no highlight is sharper than that.
        Lobes soft = Lobes(lobes.albedo, lobes.metalness, max(lobes.alpha, 0.08));
        float nl = clamp(dot(normal, direction), 0.0, 1.0);
        vec2 response = Highlight(soft, normal, view, direction, nl) * (directed / flat_share);
        highlight = Reflected(soft, response) * light;
    }
    return highlight;
}

#endif
