// SPDX-License-Identifier: Apache-2.0
//
// Block Detail: everything a material's detail row adds. Before the base textures are read: which
// UV set they use and how it moves. After: the detail colour and slope, and the two looks that
// are painted by direction, matcap and environment map.
#ifndef SCENE_BLOCKS_DETAIL_GLSL
#define SCENE_BLOCKS_DETAIL_GLSL

#include "blocks/stochastic.glsl"
#include "core/octahedral.glsl"
#include "core/surface.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/frame.glsl"
#include "resources/material.glsl"
#include "resources/tables.glsl"
#include "resources/textures.glsl"

const uint kDetailLanes = 4u;

// Lane 0: tint, strength. Lane 1: UV scale, slope strength, share of the second UV set.
// Lane 2: first atlas layer, matcap strength, environment strength, fade distance in metres.
// Lane 3: roughness shift, environment mip, overlay (0 multiplies, 1 replaces), grime.
vec4 DetailLane(uvec4 layers, uint lane) {
    return detail_lanes[(layers.y - 1u) * kDetailLanes + lane];
}

vec2 AnimateUv(vec2 first, vec2 second) {
    uvec4 layers = MaterialLayers();
    if (UsesDetail && GateDetail(layers)) {
        vec4 motion = MaterialUvMotion();
        float time = frame.eye.w;
        vec2 uv = (layers.x & kMaterialBaseOnSecondUv) != 0u ? second : first;
        float angle = fract(motion.z * time) * 6.2831853;
        vec2 axis = vec2(cos(angle), sin(angle));
        vec2 centred = uv - 0.5;
        uv = vec2(centred.x * axis.x - centred.y * axis.y, centred.x * axis.y + centred.y * axis.x);
        float sway = motion.w * sin(time * 1.7 + world_position.x * 0.9 + world_position.z * 1.3);
        return uv + 0.5 + fract(motion.xy * time) + vec2(sway, -sway * 0.5);
    }
    return first;
}

Footprint DetailFootprint(uvec4 layers, Footprint base) {
    vec4 placement = DetailLane(layers, 1u);
    Footprint second = Footprint(uv_sets.zw, dFdx(uv_sets.zw), dFdy(uv_sets.zw));
    Footprint at = Footprint(mix(base.uv, second.uv, placement.w),
                             mix(base.dx, second.dx, placement.w),
                             mix(base.dy, second.dy, placement.w));
    return Scaled(at, placement.xy);
}

// Matcap: the normal as the eye sees it, on a disc. `view` points to the eye.
vec3 Matcap(vec3 normal, vec3 view) {
    vec3 right = normalize(vec3(view.z, 0.0, -view.x) + vec3(1e-5, 0.0, 0.0));
    vec3 up = cross(view, right);
    vec2 disc = vec2(dot(normal, right), dot(normal, up)) * 0.48 + 0.5;
    return textureLod(matcap_map, disc, 0.0).rgb;
}

void ApplyDetail(inout Surface s, Footprint base) {
    uvec4 layers = MaterialLayers();
    if (UsesDetail && GateDetail(layers)) {
        Footprint at = DetailFootprint(layers, base);
        vec4 looks = DetailLane(layers, 2u);
        float fade = 1.0 - smoothstep(looks.w * 0.5, looks.w + 1e-3, EyeDistance(world_position));

        vec4 tint = DetailLane(layers, 0u);
        vec4 shift = DetailLane(layers, 3u);
        vec4 colour = SampleDetail(looks.x, at);
        float amount = tint.w * fade * colour.a;
        vec3 painted = colour.rgb * tint.rgb;
        s.albedo = mix(s.albedo, mix(s.albedo * painted * 2.0, painted, shift.z), amount);
        vec2 slope = SlopeOf(SampleDetail(looks.x + 1.0, at).rg);
        s.slope += slope * (DetailLane(layers, 1u).z * amount);
        s.roughness = clamp(s.roughness + shift.x * amount, 0.03, 1.0);
        s.occlusion *= 1.0 - shift.w * amount * (1.0 - colour.g);

        vec3 normal = WorldNormal(s.slope);
        vec3 view = normalize(frame.eye.xyz - world_position);
        s.emissive += Matcap(normal, view) * s.albedo * looks.y;
        vec2 mirrored = OctahedralUv(reflect(-view, normal), 0.004);
        s.emissive += textureLod(environment_map, mirrored, shift.y).rgb * looks.z *
                      mix(vec3(0.04), s.albedo, s.metalness);
    }
}

#endif
