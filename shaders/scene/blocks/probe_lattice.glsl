// SPDX-License-Identifier: Apache-2.0
//
// Block ProbeLattice: irradiance from nodes on nested grids. Walks the regions, fine to coarse,
// to the first that holds the point, then blends the eight nodes around it, each by distance,
// by whether it lies in front of the surface, and by how likely it sees the point at all.
#ifndef SCENE_BLOCKS_PROBE_LATTICE_GLSL
#define SCENE_BLOCKS_PROBE_LATTICE_GLSL

#include "core/harmonics.glsl"
#include "core/inputs.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/frame.glsl"
#include "resources/tables.glsl"

const uint kRegionLanes = 3u;
const uint kNodeLanes = 4u;

// Region lanes: corner, spacing in metres; nodes along each axis, lane of the first; fade in
// cells, normal offset in cells. Node lanes: harmonics of r, g, b; mean distance to walls, mean
// squared distance, validity.
vec4 LatticeLane(uint lane) { return uintBitsToFloat(lattice_lanes[lane]); }

// Depth of `p`, in cells, inside a region of `nodes`; negative outside.
float DepthInside(vec3 p, vec3 nodes) {
    vec3 depth = min(p, nodes - 1.0 - p);
    return min(depth.x, min(depth.y, depth.z));
}

// The first region around the point, or `regions`.
uint FindRegion(vec3 position, uint regions) {
    for (uint i = 0u; i < regions; ++i) {
        vec4 corner = LatticeLane(i * kRegionLanes);
        uvec4 nodes = lattice_lanes[i * kRegionLanes + 1u];
        if (DepthInside((position - corner.xyz) / corner.w, vec3(nodes.xyz)) > 0.0) {
            return i;
        }
    }
    return regions;
}

// How far a node at `to_node` (in metres) may be trusted with light on a surface facing `normal`.
float NodeTrust(vec3 to_node, vec3 normal, vec4 walls) {
    float away = length(to_node);
    float front = dot(to_node, normal) / max(away, 1e-3) * 0.5 + 0.5;
    float variance = max(walls.y - walls.x * walls.x, 0.01);
    float beyond = max(away - walls.x, 0.0);
    float seen = variance / (variance + beyond * beyond);
    return (front * front + 0.05) * seen * seen * walls.z + 1e-4;
}

// `p`: the point, in cells from the region's corner.
vec3 BlendNodes(uint region, vec3 p, vec3 normal) {
    vec4 corner = LatticeLane(region * kRegionLanes);
    uvec4 nodes = lattice_lanes[region * kRegionLanes + 1u];
    uvec3 cell = min(uvec3(p), nodes.xyz - 2u);
    vec3 part = p - vec3(cell);

    vec4 r = vec4(0.0);
    vec4 g = vec4(0.0);
    vec4 b = vec4(0.0);
    float total = 0.0;
    for (uint i = 0u; i < 8u; ++i) {
        uvec3 step_to = uvec3(i, i >> 1, i >> 2) & 1u;
        uvec3 at = cell + step_to;
        uint lane = nodes.w + ((at.z * nodes.y + at.y) * nodes.x + at.x) * kNodeLanes;
        vec3 near = mix(1.0 - part, part, vec3(step_to));
        vec3 to_node = (vec3(at) - p) * corner.w;
        float weight = NodeTrust(to_node, normal, LatticeLane(lane + 3u));
        weight *= near.x * near.y * near.z;
        r += LatticeLane(lane) * weight;
        g += LatticeLane(lane + 1u) * weight;
        b += LatticeLane(lane + 2u) * weight;
        total += weight;
    }
    return Irradiance(r, g, b, normal) / total;
}

void ReadProbeLattice(vec3 normal, inout vec3 irradiance) {
    if (UsesProbeLattice && GateProbeLattice(frame.counts)) {
        uint region = FindRegion(world_position, frame.counts.z);
        if (region < frame.counts.z) {
            vec4 corner = LatticeLane(region * kRegionLanes);
            uvec4 nodes = lattice_lanes[region * kRegionLanes + 1u];
            vec4 edges = LatticeLane(region * kRegionLanes + 2u);
            vec3 lifted = world_position + normal * (edges.y * corner.w);
            vec3 p = (lifted - corner.xyz) / corner.w;
            float inside = clamp(DepthInside(p, vec3(nodes.xyz)) / edges.x, 0.0, 1.0);
            p = clamp(p, vec3(0.0), vec3(nodes.xyz) - 1.0);
            vec3 blended = BlendNodes(region, p, normal);
            irradiance = mix(irradiance, blended * frame.strengths.z, inside);
        }
    }
}

#endif
