// SPDX-License-Identifier: Apache-2.0
//
// What one draw brings along, as push constants (96 bytes).
#ifndef SCENE_RESOURCES_DRAW_GLSL
#define SCENE_RESOURCES_DRAW_GLSL

layout(push_constant) uniform DrawBlock {
    vec4 model[3];       // rows of the model matrix; rotation, uniform scale, translation
    uint flags;          // kDraw... of gates.glsl
    uint material_row;   // 0xffffffff, or any row past the table: shaded as row 0
    uint probe_group;    // slab of the baked volume this draw reads (rooms, streets)
    uint unused;
    vec4 dissolve;       // fade 0 to 1, proximity near and far in metres, head radius in metres
    vec4 lightmap_rect;  // xy scale, zw offset into the atlas; the layer is floor(z)
} draw;

#endif
