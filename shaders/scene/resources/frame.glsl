// SPDX-License-Identifier: Apache-2.0
//
// The frame block: what is the same for every draw of one view. Each view writes its own, and
// the first three lanes are exactly what the frame's gates read (gates.glsl).
#ifndef SCENE_RESOURCES_FRAME_GLSL
#define SCENE_RESOURCES_FRAME_GLSL

const uint kCascades = 4u;
const uint kPlayersMax = 4u;

layout(set = 0, binding = 0, std140) uniform FrameBlock {
    uvec4 switches;    // flags (kFrame...), debug view, lightmap atlas layers, voxel bricks
    uvec4 counts;      // reflection probes, water columns, lattice regions, shadowed players
    vec4 strengths;    // sun intensity, cutaway fade strength, indirect scale, occlusion power
    vec4 eye;          // xyz in world space, w seconds since the level started
    vec4 viewport;     // xy 1 / pixels, zw 1 / texels of the occlusion image
    vec4 sun;          // xyz towards the sun, unit length; w unused
    vec4 sun_colour;   // rgb; w unused
    vec4 ambient;      // rgb where no probe source says otherwise; w unused
    vec4 fog;          // rgb, w density per metre
    vec4 focus;        // cutaway: xyz what must stay visible, w radius in metres
    vec4 head;         // first person: xyz the head the camera sits in; w unused
    vec4 water;        // x water height at the eye, y 1 / caustic period, zw flow, metres a second
    vec4 cascade_far;  // distance from the eye where each cascade ends
    vec4 cascade_texel;     // world size of a texel of each cascade
    vec4 irradiance_origin; // xyz corner of the baked volume, w 1 / groups stacked in it
    vec4 irradiance_scale;  // xyz 1 / size, w normal offset in metres
    vec4 voxel_origin;      // xyz corner of the voxel light field, w cell size in metres
    vec4 voxel_scale;       // xyz 1 / size, w last mip
    vec4 players[kPlayersMax];  // xyz feet, w radius in metres
    mat4 cascades[kCascades];   // world to texture space of each cascade
    mat4 world_to_clip;         // reverse Z: near 1, far 0
} frame;

float EyeDistance(vec3 position) { return distance(frame.eye.xyz, position); }

#endif
