// SPDX-License-Identifier: Apache-2.0
//
// Block ProbeBlend: irradiance from live probes, blended per pixel. The cell around the point
// names up to four probes; their second-order harmonics are mixed first and evaluated once, so
// that negative lobes cancel between probes before the clamp and not after it.
#ifndef SCENE_BLOCKS_PROBE_BLEND_GLSL
#define SCENE_BLOCKS_PROBE_BLEND_GLSL

#include "core/harmonics.glsl"
#include "core/inputs.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/frame.glsl"
#include "resources/tables.glsl"

const uint kProbeLanes = 8u;
const uint kNoProbe = 0xffffffffu;

// Second-order harmonics of three channels: 27 numbers, and the weight that went into them.
struct ProbeMix {
    vec4 r;
    vec4 g;
    vec4 b;
    vec4 second_r;
    vec4 second_g;
    vec4 second_b;
    vec3 last;
    float weight;
};

// Probe lanes: place and radius; r, g, b; second r, g, b; last rgb and validity.
vec4 ProbeLane(uint lane) { return uintBitsToFloat(probe_lanes[lane]); }

void MixProbe(inout ProbeMix m, uint probe, vec3 normal) {
    if (probe != kNoProbe) {
        uint lane = probe_grid_size.w + probe * kProbeLanes;
        vec4 place = ProbeLane(lane);
        vec4 last = ProbeLane(lane + 7u);
        vec3 arm = place.xyz - world_position;
        float away = length(arm);
        float near = 1.0 - smoothstep(0.0, place.w, away);
        float front = dot(arm, normal) / max(away, 1e-3) * 0.45 + 0.55;
        float weight = near * front * last.w;
        m.r += ProbeLane(lane + 1u) * weight;
        m.g += ProbeLane(lane + 2u) * weight;
        m.b += ProbeLane(lane + 3u) * weight;
        m.second_r += ProbeLane(lane + 4u) * weight;
        m.second_g += ProbeLane(lane + 5u) * weight;
        m.second_b += ProbeLane(lane + 6u) * weight;
        m.last += last.rgb * weight;
        m.weight += weight;
    }
}

vec3 EvaluateMix(ProbeMix m, vec3 normal) {
    vec4 first = vec4(1.0, normal);
    vec4 second = BasisSecond(normal);
    vec3 sum = vec3(dot(m.r, first), dot(m.g, first), dot(m.b, first));
    sum += vec3(dot(m.second_r, second), dot(m.second_g, second), dot(m.second_b, second));
    sum += m.last * BasisLast(normal);
    return max(sum, 0.0) / max(m.weight, 1e-4);
}

void ReadProbeBlend(vec3 normal, inout vec3 irradiance) {
    if (UsesProbeBlend && GateProbeBlend(frame.switches)) {
        vec3 p = (world_position - probe_grid_origin.xyz) / probe_grid_origin.w;
        uvec3 cells = probe_grid_size.xyz;
        if (all(greaterThanEqual(p, vec3(0.0))) && all(lessThan(p, vec3(cells)))) {
            uvec3 at = uvec3(p);
            uvec4 cell = probe_lanes[(at.z * cells.y + at.y) * cells.x + at.x];
            vec4 none = vec4(0.0);
            ProbeMix m = ProbeMix(none, none, none, none, none, none, vec3(0.0), 0.0);
            MixProbe(m, cell.x, normal);
            MixProbe(m, cell.y, normal);
            MixProbe(m, cell.z, normal);
            MixProbe(m, cell.w, normal);
            vec3 blended = EvaluateMix(m, normal) * frame.strengths.z;
            irradiance = mix(irradiance, blended, clamp(m.weight * 4.0, 0.0, 1.0));
        }
    }
}

#endif
