#version 460
// SPDX-License-Identifier: Apache-2.0
//
// Places a draw's vertices. The same text serves every kind, and the position is invariant, so a
// depth pass and the colour pass after it agree to the last bit. A sky backdrop lands on the far
// plane (reverse Z: zero) wherever it is.
#extension GL_GOOGLE_include_directive : require

#include "kinds.glsl"
#include "resources/draw.glsl"
#include "resources/frame.glsl"

layout(location = 0) in vec3 position;
layout(location = 1) in vec4 normal;
layout(location = 2) in vec4 tangent;  // w: handedness
layout(location = 3) in vec2 first_uv;
layout(location = 4) in vec2 second_uv;
layout(location = 5) in vec4 colour;

layout(location = 0) out vec3 world_position;
layout(location = 1) out vec3 world_normal;
layout(location = 2) out vec4 world_tangent;
layout(location = 3) out vec4 uv_sets;
layout(location = 4) out vec4 vertex_colour;

invariant gl_Position;

vec3 ToWorld(vec4 v) {
    return vec3(dot(draw.model[0], v), dot(draw.model[1], v), dot(draw.model[2], v));
}

void main() {
    world_position = ToWorld(vec4(position, 1.0));
    world_normal = ToWorld(vec4(normal.xyz, 0.0));
    world_tangent = vec4(ToWorld(vec4(tangent.xyz, 0.0)), tangent.w);
    uv_sets = vec4(first_uv, second_uv);
    vertex_colour = colour;

    gl_Position = frame.world_to_clip * vec4(world_position, 1.0);
    if (Backdrop == kBackdropSky) {
        gl_Position.z = 0.0;
    }
}
