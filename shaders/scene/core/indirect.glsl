// SPDX-License-Identifier: Apache-2.0
//
// Light from all around, in the order in which better sources override poorer ones.
#ifndef SCENE_CORE_INDIRECT_GLSL
#define SCENE_CORE_INDIRECT_GLSL

#include "blocks/probe_blend.glsl"
#include "blocks/probe_lattice.glsl"
#include "blocks/probe_volume.glsl"
#include "blocks/reflections.glsl"
#include "blocks/voxel_light.glsl"
#include "core/sky.glsl"
#include "resources/frame.glsl"

vec3 SurroundingIrradiance(vec3 normal) {
    vec3 irradiance = frame.ambient.rgb;
    ReadProbeVolume(normal, irradiance);
    ReadProbeLattice(normal, irradiance);
    ReadProbeBlend(normal, irradiance);
    ReadVoxelIrradiance(normal, irradiance);
    return irradiance;
}

vec3 MirroredRadiance(vec3 normal, vec3 view, float roughness, vec3 irradiance) {
    vec3 mirrored = reflect(-view, normal);
    vec3 radiance = SkyRadiance(mirrored, roughness);
    ReadReflections(mirrored, roughness, irradiance, radiance);
    ReadVoxelReflection(normal, mirrored, roughness, radiance);
    return radiance;
}

#endif
