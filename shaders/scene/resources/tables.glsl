// SPDX-License-Identifier: Apache-2.0
//
// The read-only tables beside the material table. All are plain lanes: a block reads the lane
// it needs, when it needs it, and no loop carries a struct read from here.
#ifndef SCENE_RESOURCES_TABLES_GLSL
#define SCENE_RESOURCES_TABLES_GLSL

// Detail rows of four lanes, found through a material's layers.y - 1.
layout(set = 0, binding = 2, std430) readonly buffer DetailTable { vec4 detail_lanes[]; };

// Decal blocks: lane b is (first lane, decals, -, -) of block b; a decal is five lanes.
layout(set = 0, binding = 3, std430) readonly buffer DecalTable { uvec4 decal_lanes[]; };

// Local lights of three lanes.
layout(set = 0, binding = 4, std430) readonly buffer LightTable {
    uvec4 light_header;  // x lights
    vec4 light_lanes[];
};

// Reflection probes of four lanes; their number is frame.counts.x.
layout(set = 0, binding = 5, std430) readonly buffer ReflectionTable { vec4 reflection_lanes[]; };

// A grid of cells, each naming up to four probes, then the probes of eight lanes.
layout(set = 0, binding = 6, std430) readonly buffer ProbeTable {
    vec4 probe_grid_origin;   // xyz corner, w cell size in metres
    uvec4 probe_grid_size;    // xyz cells, w lane of the first probe
    uvec4 probe_lanes[];
};

// Lattice regions of three lanes, coarse ones last, then the nodes of four lanes.
layout(set = 0, binding = 7, std430) readonly buffer LatticeTable { uvec4 lattice_lanes[]; };

// Water bodies of four lanes; their number is frame.counts.y.
layout(set = 0, binding = 8, std430) readonly buffer WaterTable { vec4 water_lanes[]; };

#endif
