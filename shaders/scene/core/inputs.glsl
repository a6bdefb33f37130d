// SPDX-License-Identifier: Apache-2.0
//
// What the vertex stage hands to the fragment stage, and the frame of directions made of it.
// Inputs are read where used: an interpolation is cheaper than a register kept alive.
#ifndef SCENE_CORE_INPUTS_GLSL
#define SCENE_CORE_INPUTS_GLSL

layout(location = 0) in vec3 world_position;
layout(location = 1) in vec3 world_normal;
layout(location = 2) in vec4 world_tangent;  // w: handedness
layout(location = 3) in vec4 uv_sets;        // xy first set, zw second (lightmap) set
layout(location = 4) in vec4 vertex_colour;  // a: paints the second layer (BlendMask)

vec3 GeometricNormal() {
    vec3 n = normalize(world_normal);
    return gl_FrontFacing ? n : -n;
}

// Columns: tangent, bitangent, normal.
mat3 TangentFrame() {
    vec3 n = GeometricNormal();
    vec3 t = normalize(world_tangent.xyz - n * dot(n, world_tangent.xyz));
    return mat3(t, cross(n, t) * world_tangent.w, n);
}

#endif
