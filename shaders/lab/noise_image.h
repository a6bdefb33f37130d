// SPDX-License-Identifier: Apache-2.0
#pragma once

// Images of noise: what cases bind where a game would bind its textures.

#include <array>
#include <cstdint>
#include <string>

#include "shaders/lab/draw_inputs.h"
#include "shaders/lab/random.h"

namespace kiln::lab {

// Numbers of one texel: r, g, b, a.
using Texel = std::array<float, 4>;

struct NoiseSpec {
  ImageShape shape = ImageShape::k2D;
  // r8g8b8a8_unorm, r8g8b8a8_snorm, r16g16b16a16_sfloat,
  // r32g32b32a32_sfloat, r32_sfloat or d32_sfloat.
  std::string format = "r8g8b8a8_unorm";
  uint32_t width = 32;  // powers of two, as long as `mips` is set
  uint32_t height = 32;
  uint32_t layers = 1;
  bool mips = true;  // the whole chain
  bool repeat = true;
  bool compare = false;
  // Range of each channel.
  Texel low = {0, 0, 0, 0};
  Texel high = {1, 1, 1, 1};
};

// The half-precision float nearest to zero from `number`; zero where that is
// not a normal number.
uint32_t HalfBits(float number);

// Half of the noise is coarse, so that thresholds cut shapes and not dust, and
// half is white; both tile. Mip levels are box filtered.
ImageInput NoiseImage(const NoiseSpec& spec, Random& random);

}  // namespace kiln::lab
