#version 460
// SPDX-License-Identifier: Apache-2.0
//
// The bits of one draw, for tools: run it with the very buffers and push constants the draw is
// recorded with, and it answers through the same functions as the draw's gates (gates.glsl).
// Engines derive the same on the CPU (scene_features.h).
#extension GL_GOOGLE_include_directive : require

#include "gates.glsl"
#include "resources/draw.glsl"
#include "resources/frame.glsl"
#include "resources/material.glsl"

layout(local_size_x = 1) in;

// Bits 0 to 31 of the key's features, then 32 to 63.
layout(set = 1, binding = 0, std430) writeonly buffer Derived { uint features[2]; };

void main() {
    bool row_in_table = draw.material_row < material_table.header.x;
    uint of_material = OfMaterial(row_in_table, draw.flags, MaterialLayers(), MaterialRelief());
    uint of_frame = OfFrame(frame.switches, frame.counts, frame.strengths);
    features[0] = Combine(of_material, of_frame);
    features[1] = 0u;
}
