// SPDX-License-Identifier: Apache-2.0
//
// Block BlendMask: a second set of textures over the first, where a painted mask says so, where
// the second one's height field stands above the first one's, or both.
#ifndef SCENE_BLOCKS_BLEND_MASK_GLSL
#define SCENE_BLOCKS_BLEND_MASK_GLSL

#include "core/surface.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/material.glsl"
#include "resources/textures.glsl"

// One channel of a vector, chosen without indexing a local.
float Channel(vec4 v, uint channel) {
    return dot(v, vec4(equal(uvec4(channel), uvec4(0u, 1u, 2u, 3u))));
}

// Share of the second layer; `second_height` is the alpha of its colour layer.
float BlendShare(uvec4 layers, vec4 relief, Footprint at, float second_height) {
    float share = vertex_colour.a;
    if (layers.w != 0u) {
        // Masks are painted over the whole object: the second UV set, not the tiled one.
        vec2 uv = uv_sets.zw;
        share = Channel(textureGrad(blend_mask_map, uv, dFdx(uv), dFdy(uv)), layers.w - 1u);
    }
    share = clamp(share + MaterialBlend().z, 0.0, 1.0);
    if (relief.z > 0.0) {
        float first_height = textureGrad(height_map, at.uv, at.dx, at.dy).r;
        float lead = second_height - first_height + share * 2.0 - 1.0;
        share = clamp(0.5 + lead * relief.z, 0.0, 1.0);
    }
    return share;
}

void BlendSecondLayer(inout Surface s, Footprint base) {
    uvec4 layers = MaterialLayers();
    vec4 relief = MaterialRelief();
    if (UsesBlendMask && GateBlendMask(layers, relief)) {
        vec4 second = MaterialBlend();
        Footprint at = Scaled(base, vec2(second.y));
        vec4 colour = textureGrad(layer_atlas, vec3(at.uv, second.x), at.dx, at.dy);
        float share = BlendShare(layers, relief, base, colour.a);
        s.albedo = mix(s.albedo, colour.rgb, share);

        vec2 rg = textureGrad(layer_atlas, vec3(at.uv, second.x + 1.0), at.dx, at.dy).rg;
        s.slope = mix(s.slope, SlopeOf(rg), share);

        vec4 texel = textureGrad(layer_atlas, vec3(at.uv, second.x + 2.0), at.dx, at.dy);
        s.occlusion = mix(s.occlusion, texel.r, share);
        s.roughness = mix(s.roughness, texel.g, share);
        s.metalness = mix(s.metalness, texel.b, share);
        s.emissive *= 1.0 - share;
    }
}

#endif
