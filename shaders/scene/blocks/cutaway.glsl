// SPDX-License-Identifier: Apache-2.0
//
// Block Cutaway: opens a cone of sight through whatever stands between a third-person camera and
// its focus. Coverage only, so depth and colour agree on the hole.
#ifndef SCENE_BLOCKS_CUTAWAY_GLSL
#define SCENE_BLOCKS_CUTAWAY_GLSL

#include "core/inputs.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/frame.glsl"

// 1 = not cut away.
float CutawayOpacity() {
    float opacity = 1.0;
    if (UsesCutaway && GateCutaway(frame.switches, frame.strengths)) {
        vec3 axis = frame.focus.xyz - frame.eye.xyz;
        vec3 arm = world_position - frame.eye.xyz;
        float along = dot(arm, axis) / max(dot(axis, axis), 1e-4);
        // The cone narrows to half its radius at the eye and stops short of the focus.
        float radius = frame.focus.w * mix(0.5, 1.0, clamp(along, 0.0, 1.0));
        float off = length(arm - axis * along);
        float hole = 1.0 - smoothstep(radius * 0.7, radius, off);
        hole *= smoothstep(0.0, 0.05, along) * (1.0 - smoothstep(0.85, 0.95, along));
        // Keep a rim that faces the camera, so that a cut wall still reads as a wall.
        float rim = 1.0 - abs(dot(normalize(arm), GeometricNormal()));
        opacity = 1.0 - frame.strengths.y * hole * (1.0 - 0.5 * rim * rim);
    }
    return opacity;
}

#endif
