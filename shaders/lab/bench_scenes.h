// SPDX-License-Identifier: Apache-2.0
#pragma once

// Three scenes of the scene program to time a frame with, for kind opaque.
// About a hundred draws each, of the same shapes in the same places; what
// differs is how much of the shader their materials and frame ask for. Nothing
// is random from run to run.

#include <cstdint>

#include "shaders/lab/draw_inputs.h"

namespace kiln::lab {

enum class BenchLevel : uint8_t {
  kLight = 0,  // plain materials under the sun: no block at all
  kMiddle,     // half of the materials with detail; shadows, reflections
  kHeavy,      // all blocks but debug views and the cutaway
};

inline constexpr uint32_t kBenchLevels = 3;

// "light", "middle", "heavy".
const char* BenchLevelName(BenchLevel level);

DrawInputs BenchScene(BenchLevel level, uint32_t width, uint32_t height);

}  // namespace kiln::lab
