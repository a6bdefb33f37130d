// SPDX-License-Identifier: Apache-2.0
#pragma once

// The scene's images (shaders/scene/resources/textures.glsl), small and made of
// noise whose range suits what each stands for.

#include <cstdint>
#include <vector>

#include "shaders/lab/draw_inputs.h"
#include "shaders/lab/random.h"

namespace kiln::lab {

// Set 0, bindings 9 to 25. `width` and `height`: of the picture, whose
// occlusion image has half that size.
std::vector<BoundInput> SceneImages(uint32_t width, uint32_t height,
                                    Random& random);

}  // namespace kiln::lab
