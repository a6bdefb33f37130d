// SPDX-License-Identifier: Apache-2.0
#pragma once

// SplitMix64: the only source of chance in cases. A seed gives the same case
// with every standard library, whose distributions differ among each other.

#include <cstdint>

namespace kiln::lab {

// Thread-compatible.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }

  uint32_t Bits() { return static_cast<uint32_t>(Next() >> 32); }

  // 0 to `count` - 1. Requires: `count` > 0.
  uint32_t Below(uint32_t count) {
    return static_cast<uint32_t>((uint64_t{Bits()} * count) >> 32);
  }

  // 0 in half of the cases, else 1 to `most`. Requires: `most` > 0.
  uint32_t ZeroOr(uint32_t most) { return Half() ? 0 : 1 + Below(most); }

  bool Half() { return (Next() >> 63) != 0; }

  bool OneIn(uint32_t count) { return Below(count) == 0; }

  // In [0, 1), a multiple of 2^-24.
  float Unit() { return static_cast<float>(Next() >> 40) * 0x1p-24f; }

  float Between(float low, float high) { return low + (high - low) * Unit(); }

 private:
  uint64_t state_;
};

}  // namespace kiln::lab
