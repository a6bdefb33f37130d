// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a draw left in its attachments, as the bytes that were there.

#include <cstdint>
#include <string>
#include <vector>

#include "proto/bytes.h"

namespace kiln::lab {

// One attachment: row by row, within a row pixel by pixel, within a pixel
// sample by sample, each as `format` lays it out. A depth attachment is read as
// r32_sfloat, whatever it is stored as: equal depths stay equal, others differ.
struct PictureLayer {
  std::string format;
  uint32_t texel_bytes = 0;
  Bytes texels;
};

// Thread-compatible value.
struct Picture {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t samples = 1;
  std::vector<PictureLayer> layers;  // the colours in order, then the depth
  bool has_depth = false;            // the last layer is the depth
};

}  // namespace kiln::lab
