// SPDX-License-Identifier: Apache-2.0
//
// Spherical harmonics as the probe blocks store them: coefficients already convolved with the
// cosine lobe and scaled, so that irradiance is a plain dot product with the basis.
#ifndef SCENE_CORE_HARMONICS_GLSL
#define SCENE_CORE_HARMONICS_GLSL

// First order, a vec4 a channel: constant, x, y, z.
vec3 Irradiance(vec4 r, vec4 g, vec4 b, vec3 normal) {
    vec4 basis = vec4(1.0, normal);
    return max(vec3(dot(r, basis), dot(g, basis), dot(b, basis)), 0.0);
}

// The five functions of second order but the last, which is BasisLast.
vec4 BasisSecond(vec3 n) { return vec4(n.x * n.y, n.y * n.z, n.z * n.x, 3.0 * n.z * n.z - 1.0); }

float BasisLast(vec3 n) { return n.x * n.x - n.y * n.y; }

#endif
