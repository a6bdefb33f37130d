// SPDX-License-Identifier: Apache-2.0
//
// Block ProbeVolume: baked irradiance in a box, first-order harmonics in three volume textures.
// Groups (inside, outside, this house, that one) are slabs stacked along z, so light never leaks
// from one to another; a draw names its group.
#ifndef SCENE_BLOCKS_PROBE_VOLUME_GLSL
#define SCENE_BLOCKS_PROBE_VOLUME_GLSL

#include "core/harmonics.glsl"
#include "core/inputs.glsl"
#include "features.glsl"
#include "gates.glsl"
#include "resources/draw.glsl"
#include "resources/frame.glsl"
#include "resources/textures.glsl"

// Fades out over the outermost sixteenth of the box.
void ReadProbeVolume(vec3 normal, inout vec3 irradiance) {
    if (UsesProbeVolume && GateProbeVolume(frame.switches)) {
        vec3 lifted = world_position + normal * frame.irradiance_scale.w;
        vec3 p = (lifted - frame.irradiance_origin.xyz) * frame.irradiance_scale.xyz;
        vec3 depth = min(p, 1.0 - p);
        float share = clamp(min(depth.x, min(depth.y, depth.z)) * 16.0, 0.0, 1.0);

        // Stay half a texel inside the slab.
        float slab = frame.irradiance_origin.w;
        float edge = 0.5 / float(textureSize(irradiance_maps[0], 0).z);
        float z = (float(draw.probe_group) + clamp(p.z, 0.0, 1.0)) * slab;
        float first = float(draw.probe_group) * slab;
        vec3 at = vec3(p.xy, clamp(z, first + edge, first + slab - edge));
        vec4 r = textureLod(irradiance_maps[0], at, 0.0);
        vec4 g = textureLod(irradiance_maps[1], at, 0.0);
        vec4 b = textureLod(irradiance_maps[2], at, 0.0);
        vec3 baked = Irradiance(r, g, b, normal) * frame.strengths.z;
        irradiance = mix(irradiance, baked, share);
    }
}

#endif
