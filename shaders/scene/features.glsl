// SPDX-License-Identifier: Apache-2.0
//
// The blocks a variant may leave out: one bit of `Features` each, in the order of the schema
// (scene.program.toml). A boolean only says that the block is compiled in; whether it runs is
// the business of its gate (gates.glsl), and every use is the two ANDed, inside a function.
// Keep each line one comparison: `&&` between specialization constants at file scope makes
// invalid SPIR-V with the glslang we ship.
#ifndef SCENE_FEATURES_GLSL
#define SCENE_FEATURES_GLSL

layout(constant_id = 2) const uint Features = 0x1ffffu;

const bool UsesDetail = (Features & (1u << 0)) != 0u;
const bool UsesDecals = (Features & (1u << 1)) != 0u;
const bool UsesHeight = (Features & (1u << 2)) != 0u;
const bool UsesStochastic = (Features & (1u << 3)) != 0u;
const bool UsesLightmap = (Features & (1u << 4)) != 0u;
const bool UsesBlendMask = (Features & (1u << 5)) != 0u;
const bool UsesProbeVolume = (Features & (1u << 6)) != 0u;
const bool UsesReflections = (Features & (1u << 7)) != 0u;
const bool UsesVoxelLight = (Features & (1u << 8)) != 0u;
const bool UsesWater = (Features & (1u << 9)) != 0u;
const bool UsesSunShadows = (Features & (1u << 10)) != 0u;
const bool UsesScreenOcclusion = (Features & (1u << 11)) != 0u;
const bool UsesDebugViews = (Features & (1u << 12)) != 0u;
const bool UsesCutaway = (Features & (1u << 13)) != 0u;
const bool UsesPlayerShadow = (Features & (1u << 14)) != 0u;
const bool UsesProbeBlend = (Features & (1u << 15)) != 0u;
const bool UsesProbeLattice = (Features & (1u << 16)) != 0u;

#endif
