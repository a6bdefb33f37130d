// SPDX-License-Identifier: Apache-2.0
//
// Directions on a square: the sphere projected on an octahedron, its lower half folded outwards.
#ifndef SCENE_CORE_OCTAHEDRAL_GLSL
#define SCENE_CORE_OCTAHEDRAL_GLSL

// Y is up. `border` keeps linear filtering inside the square at the given fraction of its side.
vec2 OctahedralUv(vec3 direction, float border) {
    vec3 d = direction / (abs(direction.x) + abs(direction.y) + abs(direction.z));
    vec2 p = d.xz;
    if (d.y < 0.0) {
        p = (1.0 - abs(p.yx)) * vec2(p.x < 0.0 ? -1.0 : 1.0, p.y < 0.0 ? -1.0 : 1.0);
    }
    return p * (0.5 - border) + 0.5;
}

#endif
