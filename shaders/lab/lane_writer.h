// SPDX-License-Identifier: Apache-2.0
#pragma once

// Buffers the way shaders of the scene read them: lanes of four 32-bit words,
// one after the other. A lane is 16 bytes in std140 and std430 alike, so there
// is no padding to get wrong.

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "proto/bytes.h"

namespace kiln::lab {

// Thread-compatible.
class LaneWriter {
 public:
  void Uints(uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
    for (const uint32_t word : {x, y, z, w}) {
      Word(word);
    }
  }

  void Floats(float x, float y, float z, float w) {
    for (const float number : {x, y, z, w}) {
      Word(std::bit_cast<uint32_t>(number));
    }
  }

  void Word(uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes_.push_back(static_cast<std::byte>(word >> shift));
    }
  }

  // Lanes written so far: the index of the next one.
  uint32_t lanes() const { return static_cast<uint32_t>(bytes_.size() / 16); }

  Bytes Take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

}  // namespace kiln::lab
