// SPDX-License-Identifier: Apache-2.0
//
// Which samples exist: alpha test, draw dissolve and the cutaway. All kinds share it, the depth
// kind consists of it. Dissolve (fade, proximity, head chop) is in every variant and has no bit.
#ifndef SCENE_CORE_COVERAGE_GLSL
#define SCENE_CORE_COVERAGE_GLSL

#include "blocks/cutaway.glsl"
#include "core/inputs.glsl"
#include "core/noise.glsl"
#include "gates.glsl"
#include "resources/draw.glsl"
#include "resources/frame.glsl"
#include "resources/material.glsl"

// 1 = wholly there. Proximity thins out what comes too near the eye.
float DissolveOpacity() {
    vec4 dissolve = draw.dissolve;
    float near = smoothstep(dissolve.y, max(dissolve.z, dissolve.y + 1e-3),
                            EyeDistance(world_position));
    float opacity = (1.0 - dissolve.x) * near;
    bool chopped = (draw.flags & kDrawFirstPerson) != 0u &&
                   distance(frame.head.xyz, world_position) < dissolve.w;
    return chopped ? 0.0 : opacity;
}

bool Covered(float alpha) {
    float opacity = min(DissolveOpacity(), CutawayOpacity());
    return alpha >= MaterialSurface().w && opacity > ScreenDoor();
}

#endif
