// SPDX-License-Identifier: Apache-2.0
//
// Block DebugViews: shows one term in place of the picture, or tints the picture by cascade. It
// keeps every term alive to the very end, which is why it is a block.
#ifndef SCENE_BLOCKS_DEBUG_VIEWS_GLSL
#define SCENE_BLOCKS_DEBUG_VIEWS_GLSL

#include "blocks/sun_shadows.glsl"
#include "core/surface.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/frame.glsl"

// The terms of lighting, as they were summed.
struct Terms {
    vec3 normal;
    vec3 irradiance;
    vec3 reflected;
    vec3 sunlight;
    vec3 local;
    float open;
};

vec3 CascadeTint(float eye_distance) {
    uint cascade = CascadeAt(eye_distance);
    return vec3(cascade == 0u || cascade == 3u ? 1.0 : 0.4,
                cascade == 1u || cascade == 3u ? 1.0 : 0.4,
                cascade == 2u ? 1.0 : 0.4);
}

// Steps of one colour each: black, blue, green, red, white over 0 to 1.
vec3 Heat(float x) {
    return clamp(vec3(x * 4.0 - 2.0, x < 0.75 ? 2.0 - abs(x * 4.0 - 2.0) : x * 4.0 - 3.0,
                      x < 0.75 ? 1.0 - abs(x * 4.0 - 1.0) : x * 4.0 - 3.0), 0.0, 1.0);
}

vec3 DebugView(vec3 colour, Surface s, Footprint at, Terms terms) {
    if (UsesDebugViews && GateDebugViews(frame.switches)) {
        switch (frame.switches.y) {
        case 1u: colour = s.albedo; break;
        case 2u: colour = terms.normal * 0.5 + 0.5; break;
        case 3u: colour = vec3(s.roughness, s.metalness, s.occlusion); break;
        case 4u: colour = s.emissive; break;
        case 5u: colour = terms.irradiance; break;
        case 6u: colour = terms.reflected; break;
        case 7u: colour = terms.sunlight; break;
        case 8u: colour = terms.local; break;
        case 9u: colour = vec3(terms.open); break;
        case 10u: colour = vec3(fract(at.uv), s.alpha); break;
        case 11u: colour = Heat(max(length(at.dx), length(at.dy)) * 64.0); break;
        default: break;
        }
        if ((frame.switches.x & kFrameCascadeTint) != 0u) {
            colour *= CascadeTint(EyeDistance(world_position));
        }
    }
    return colour;
}

#endif
