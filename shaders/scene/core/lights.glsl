// SPDX-License-Identifier: Apache-2.0
//
// Direct light: the sun, and the local lights. Whatever stands between the sun and this point is
// the caller's `sunlight`.
#ifndef SCENE_CORE_LIGHTS_GLSL
#define SCENE_CORE_LIGHTS_GLSL

#include "core/brdf.glsl"
#include "resources/frame.glsl"
#include "resources/tables.glsl"

const uint kLightLanes = 3u;

vec3 SunLight(Lobes lobes, vec3 normal, vec3 view, vec3 sunlight) {
    vec3 irradiance = frame.sun_colour.rgb * frame.strengths.x * sunlight;
    return Reflected(lobes, Response(lobes, normal, view, frame.sun.xyz)) * irradiance;
}

// Lanes of a light: position and radius; colour and cosine of the cone's inner edge; axis and
// cosine of its outer edge (-2: a point light).
//
// The point is taken as seen from the eye, by direction and distance: both are alive anyway, and a
// world position would be three registers more around the loop.
void AddLocalLights(Lobes lobes, vec3 normal, vec3 view, float eye_distance, inout vec3 colour) {
    for (uint i = 0u; i < light_header.x; ++i) {
        vec4 place = light_lanes[i * kLightLanes];
        vec3 to_light = place.xyz - frame.eye.xyz + view * eye_distance;
        float d2 = dot(to_light, to_light);
        float reach = 1.0 - d2 / (place.w * place.w);
        if (reach > 0.0) {
            vec3 direction = to_light * inversesqrt(d2 + 1e-6);
            vec4 light = light_lanes[i * kLightLanes + 1u];
            vec4 cone = light_lanes[i * kLightLanes + 2u];
            float spot = smoothstep(cone.w, light.w, dot(direction, -cone.xyz));
            float falloff = (cone.w < -1.5 ? 1.0 : spot) * reach * reach / (d2 + 0.01);
            vec2 response = Response(lobes, normal, view, direction) * falloff;
            colour += Reflected(lobes, response) * light.rgb;
        }
    }
}

#endif
