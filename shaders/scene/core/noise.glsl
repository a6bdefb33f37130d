// SPDX-License-Identifier: Apache-2.0
//
// Hashes and the screen-door threshold. Integer arithmetic, so every device agrees.
#ifndef SCENE_CORE_NOISE_GLSL
#define SCENE_CORE_NOISE_GLSL

uint Hash(uvec2 p) {
    uint h = p.x * 0x8da6b343u + p.y * 0xd8163841u;
    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    return h ^ (h >> 13);
}

vec2 Hash2(ivec2 p) {
    uint h = Hash(uvec2(p));
    return vec2(h & 0xffffu, h >> 16) * (1.0 / 65536.0);
}

// Low-discrepancy threshold in (0, 1) for this pixel: multiples of the plastic number's inverses.
float ScreenDoor() {
    uvec2 p = uvec2(gl_FragCoord.xy);
    uint t = p.x * 0xc13fa9a9u + p.y * 0x91e10da5u;
    return (float(t >> 8) + 0.5) * (1.0 / 16777216.0);
}

#endif
