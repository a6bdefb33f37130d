// SPDX-License-Identifier: Apache-2.0
//
// Block Stochastic: tiles a texture without visible repeats. The plane is cut into triangles;
// each corner reads the texture at its own random offset, and the three are blended by
// barycentric weights, sharpened so that features are not averaged away.
#ifndef SCENE_BLOCKS_STOCHASTIC_GLSL
#define SCENE_BLOCKS_STOCHASTIC_GLSL

#include "core/noise.glsl"
#include "core/surface.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/material.glsl"
#include "resources/textures.glsl"

struct Tiling {
    vec2 uv0;
    vec2 uv1;
    vec2 uv2;
    vec3 weights;
};

// Recomputed for every texture: cheaper than nine registers held from the first to the last.
Tiling TilingAt(vec2 uv) {
    // Triangles with sides of about a quarter of the texture.
    vec2 p = uv * 3.4641016;
    vec2 skewed = vec2(p.x - p.y * 0.57735027, p.y * 1.15470054);
    ivec2 cell = ivec2(floor(skewed));
    vec2 f = skewed - floor(skewed);
    // Lower triangle: corners (0,0) (1,0) (0,1). Upper: (1,1) (0,1) (1,0), seen from (1,1).
    bool upper = f.x + f.y > 1.0;
    ivec2 far = upper ? ivec2(1) : ivec2(0);
    vec2 inner = upper ? 1.0 - f.yx : f;

    Tiling t;
    t.uv0 = uv + Hash2(cell + far);
    t.uv1 = uv + Hash2(cell + ivec2(1, 0));
    t.uv2 = uv + Hash2(cell + ivec2(0, 1));
    vec3 w = vec3(1.0 - inner.x - inner.y, inner);
    w = pow(max(w, 1e-4), vec3(MaterialBlend().w));
    t.weights = w / (w.x + w.y + w.z);
    return t;
}

// A base texture at `at`.
vec4 SampleBase(sampler2D map, Footprint at) {
    if (UsesStochastic && GateStochasticBase(MaterialLayers())) {
        Tiling t = TilingAt(at.uv);
        return textureGrad(map, t.uv0, at.dx, at.dy) * t.weights.x +
               textureGrad(map, t.uv1, at.dx, at.dy) * t.weights.y +
               textureGrad(map, t.uv2, at.dx, at.dy) * t.weights.z;
    }
    return textureGrad(map, at.uv, at.dx, at.dy);
}

// A detail layer of the atlas at `at`.
vec4 SampleDetail(float layer, Footprint at) {
    if (UsesStochastic && GateStochasticDetail(MaterialLayers())) {
        Tiling t = TilingAt(at.uv);
        return textureGrad(layer_atlas, vec3(t.uv0, layer), at.dx, at.dy) * t.weights.x +
               textureGrad(layer_atlas, vec3(t.uv1, layer), at.dx, at.dy) * t.weights.y +
               textureGrad(layer_atlas, vec3(t.uv2, layer), at.dx, at.dy) * t.weights.z;
    }
    return textureGrad(layer_atlas, vec3(at.uv, layer), at.dx, at.dy);
}

#endif
