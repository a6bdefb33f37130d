// SPDX-License-Identifier: Apache-2.0
//
// What a pipeline draws: the two axes of the key that the shader text itself must know.
// The blend axis is pipeline state only and has no constant.
#ifndef SCENE_KINDS_GLSL
#define SCENE_KINDS_GLSL

const uint kKindOpaque = 0u;
const uint kKindBlended = 1u;
const uint kKindDepth = 2u;  // coverage-capture depth: decides which samples exist, shades nothing

const uint kBackdropNone = 0u;
const uint kBackdropSky = 1u;  // distant scenery at the far plane, behind all the air

layout(constant_id = 0) const uint Kind = kKindOpaque;
layout(constant_id = 1) const uint Backdrop = kBackdropNone;

#endif
