// SPDX-License-Identifier: Apache-2.0
//
// The sky, as a light source for reflections and as the air between a surface and the eye.
#ifndef SCENE_CORE_SKY_GLSL
#define SCENE_CORE_SKY_GLSL

#include "core/octahedral.glsl"
#include "kinds.glsl"
#include "resources/frame.glsl"
#include "resources/textures.glsl"

const float kSkyMips = 7.0;

vec3 SkyRadiance(vec3 direction, float roughness) {
    return textureLod(sky_map, OctahedralUv(direction, 0.004), roughness * kSkyMips).rgb;
}

// Scenery in front of the sky fades into the fog's colour over its distance. A backdrop stands
// behind all the air there is: it fades into the sky itself, most of it towards the horizon.
vec3 AerialPerspective(vec3 colour, vec3 view, float eye_distance) {
    if (Backdrop == kBackdropSky) {
        float rise = max(-view.y, 0.0);
        float air = exp2(-6.0 * rise) * (1.0 - exp2(-frame.fog.w * 4096.0));
        return mix(colour, SkyRadiance(-view, 0.3), air);
    }
    return mix(frame.fog.rgb, colour, exp2(-frame.fog.w * eye_distance));
}

#endif
