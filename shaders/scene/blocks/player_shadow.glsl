// SPDX-License-Identifier: Apache-2.0
//
// Block PlayerShadow: grounds players who stand where no cascade shows them well. Each is a
// capsule; it dims the sun along the way to it and the ambient light around its feet.
#ifndef SCENE_BLOCKS_PLAYER_SHADOW_GLSL
#define SCENE_BLOCKS_PLAYER_SHADOW_GLSL

#include "core/inputs.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/frame.glsl"

const float kPlayerHeight = 1.7;  // metres between the centres of the capsule's caps

// Closest approach of the ray from `from` towards the sun to an upright player's axis.
float SunClearance(vec3 from, vec3 feet) {
    vec3 sun = frame.sun.xyz;
    vec3 w = from - feet;
    float flat_part = max(1.0 - sun.y * sun.y, 1e-4);
    float up = clamp((w.y - sun.y * dot(w, sun)) / flat_part, 0.0, kPlayerHeight);
    float along = max(up * sun.y - dot(w, sun), 0.0);
    return distance(from + sun * along, feet + vec3(0.0, up, 0.0));
}

// x: share of the sun, y: share of the ambient light.
vec2 PlayerShadow() {
    vec2 light = vec2(1.0);
    if (UsesPlayerShadow && GatePlayerShadow(frame.switches, frame.counts)) {
        uint players = min(frame.counts.w, kPlayersMax);
        for (uint i = 0u; i < players; ++i) {
            vec4 player = frame.players[i];
            float clearance = SunClearance(world_position, player.xyz);
            light.x *= smoothstep(player.w * 0.6, player.w * 1.4, clearance);
            vec3 arm = world_position - player.xyz;
            float near = exp2(-dot(arm.xz, arm.xz) / (player.w * player.w));
            float below = 1.0 - smoothstep(0.0, kPlayerHeight, abs(arm.y));
            light.y *= 1.0 - 0.7 * near * below;
        }
    }
    return light;
}

#endif
