// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the cases of a proof come from: one source per program, which makes the
// inputs of a draw from a seed. scene_cases.h knows the scene shader and makes
// materials, frames and cameras; generic_cases.h fills the bindings of any
// other program by reflection.

#include <cstdint>
#include <string>

#include "shaders/lab/draw_inputs.h"

namespace kiln::lab {

// What is decided before a case is made: the axes of its key, and the size of
// its picture in pixels.
struct CaseKey {
  std::string kind;
  std::string backdrop;
  std::string blend;
  uint32_t width = 96;
  uint32_t height = 64;
};

// Thread-compatible.
class CaseSource {
 public:
  CaseSource() = default;
  CaseSource(const CaseSource&) = delete;  // used through a pointer
  CaseSource& operator=(const CaseSource&) = delete;
  virtual ~CaseSource() = default;

  // Deterministic: the same seed and key give the same bytes on every machine.
  virtual DrawInputs Make(uint64_t seed, const CaseKey& key) = 0;
};

}  // namespace kiln::lab
