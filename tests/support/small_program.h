// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs that compile in milliseconds, for tests that are not about shaders.

#include <string>

#include "proto/program.h"

namespace kiln::testing {

// The fragment shader of `SmallProgram`: two feature bits, Warm and Noisy.
inline constexpr char kSmallFragment[] = R"(#version 460
layout(constant_id = 2) const uint Features = 0x3u;
const bool UsesWarm = (Features & 1u) != 0u;
const bool UsesNoisy = (Features & 2u) != 0u;
layout(push_constant) uniform Push { vec4 tint; } push;
layout(location = 0) out vec4 color;
void main() {
  color = push.tint;
  if (UsesWarm && push.tint.x > 0.5) { color.r += sin(push.tint.y) * cos(push.tint.z); }
  if (UsesNoisy && push.tint.w > 0.5) { color.g += fract(sin(dot(color.xy, vec2(12.9, 78.2)))); }
}
)";

// Kinds opaque (no other axis), blended (backdrop and blend); backdrops none
// and sky; blends alpha and additive; features Warm (bit 0) and Noisy (bit 1).
// `fragment` replaces the fragment shader.
Program SmallProgram(const std::string& fragment = kSmallFragment);

// A SmallProgram whose fragment module has over 5 MB, more than one message may
// have. The names of its variables make it large, and drivers skip those.
Program LargeProgram();

// A SmallProgram for whose fragment shader a driver that inlines has to do
// 2^levels of work: helpers that call the one before twice (KNOWN_FAULTS 3).
// On RADV 11 levels take about a second, 22 do not end.
Program SlowProgram(int levels);

}  // namespace kiln::testing
