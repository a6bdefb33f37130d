// SPDX-License-Identifier: Apache-2.0
//
// Every image, as fixed combined samplers: 19 in all. No cube arrays and no bindless access;
// directions are stored octahedrally (core/octahedral.glsl).
#ifndef SCENE_RESOURCES_TEXTURES_GLSL
#define SCENE_RESOURCES_TEXTURES_GLSL

layout(set = 0, binding = 9) uniform sampler2D base_map;      // colour, coverage
layout(set = 0, binding = 10) uniform sampler2D normal_map;   // rg
layout(set = 0, binding = 11) uniform sampler2D surface_map;  // occlusion, rough, metal, glow
layout(set = 0, binding = 12) uniform sampler2D height_map;   // r, 1 = at the surface
layout(set = 0, binding = 13) uniform sampler2D detail_height_map;
layout(set = 0, binding = 14) uniform sampler2D blend_mask_map;  // one mask a channel
layout(set = 0, binding = 15) uniform sampler2D matcap_map;
layout(set = 0, binding = 16) uniform sampler2D environment_map;  // octahedral
layout(set = 0, binding = 17) uniform sampler2DArray layer_atlas;  // detail, second, decals
layout(set = 0, binding = 18) uniform sampler2DArray lightmap_atlas;  // light, direction
layout(set = 0, binding = 19) uniform sampler2DArray reflection_atlas;  // a probe a layer
layout(set = 0, binding = 20) uniform sampler2DArrayShadow cascade_map;
layout(set = 0, binding = 21) uniform sampler3D irradiance_maps[3];  // r, g, b: constant, x, y, z
layout(set = 0, binding = 22) uniform sampler3D voxel_map;     // radiance, opacity
layout(set = 0, binding = 23) uniform sampler2D occlusion_map;  // half size: open sky, eye distance
layout(set = 0, binding = 24) uniform sampler2D caustic_map;
layout(set = 0, binding = 25) uniform sampler2D sky_map;  // octahedral, blurred by mip

#endif
