// SPDX-License-Identifier: Apache-2.0
//
// Where the base textures are read, before parallax. Which UV set and how it moves belong to the
// Detail block (blocks/detail.glsl); what is left is scale and offset.
#ifndef SCENE_CORE_UV_GLSL
#define SCENE_CORE_UV_GLSL

#include "blocks/detail.glsl"
#include "core/surface.glsl"
#include "resources/material.glsl"

Footprint BaseFootprint() {
    vec4 placement = MaterialUv();
    vec2 uv = AnimateUv(uv_sets.xy, uv_sets.zw) * placement.xy + placement.zw;
    return Footprint(uv, dFdx(uv), dFdy(uv));
}

#endif
