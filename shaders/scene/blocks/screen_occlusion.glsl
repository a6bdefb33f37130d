// SPDX-License-Identifier: Apache-2.0
//
// Block ScreenOcclusion: brings the half-size occlusion image up to full size. Sixteen of its
// texels vote, each by how near it lies on screen and in distance from the eye, so that nothing
// bleeds over an edge.
#ifndef SCENE_BLOCKS_SCREEN_OCCLUSION_GLSL
#define SCENE_BLOCKS_SCREEN_OCCLUSION_GLSL

#include "core/inputs.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/frame.glsl"
#include "resources/textures.glsl"

// Adds the two by two texels around `corner`, `offset` texels from the pixel, to (sum, weight).
vec2 Votes(vec2 corner, vec2 offset, float eye_distance) {
    vec4 open = textureGather(occlusion_map, corner, 0);
    vec4 at = textureGather(occlusion_map, corner, 1);
    vec4 dx = offset.x + vec4(-0.5, 0.5, 0.5, -0.5);
    vec4 dy = offset.y + vec4(0.5, 0.5, -0.5, -0.5);
    vec4 apart = abs(at - eye_distance) * (16.0 / eye_distance);
    vec4 weight = exp2(-(dx * dx + dy * dy) * 0.7) / (1.0 + apart * apart);
    return vec2(dot(open, weight), dot(weight, vec4(1.0)));
}

float ScreenOcclusion() {
    float open = 1.0;
    if (UsesScreenOcclusion && GateScreenOcclusion(frame.switches)) {
        vec2 uv = gl_FragCoord.xy * frame.viewport.xy;
        vec2 texel = frame.viewport.zw;
        vec2 centre = floor(uv / texel + 0.5);
        vec2 offset = centre - uv / texel;
        float eye_distance = max(EyeDistance(world_position), 0.05);
        vec2 votes = Votes((centre + vec2(-1.0, -1.0)) * texel, offset - 1.0, eye_distance);
        votes += Votes((centre + vec2(1.0, -1.0)) * texel, offset + vec2(1.0, -1.0), eye_distance);
        votes += Votes((centre + vec2(-1.0, 1.0)) * texel, offset + vec2(-1.0, 1.0), eye_distance);
        votes += Votes((centre + vec2(1.0, 1.0)) * texel, offset + 1.0, eye_distance);
        open = pow(clamp(votes.x / max(votes.y, 1e-4), 0.0, 1.0), frame.strengths.w);
    }
    return open;
}

#endif
