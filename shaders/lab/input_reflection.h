// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a program's modules read besides vertices: blocks, number by number, and
// images, by shape. For filling them with values (generic_cases.h); what the
// program says of its descriptors stays the program's.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "shaders/lab/draw_inputs.h"

namespace kiln::lab {

// Elements that an array without a size gets.
inline constexpr uint32_t kRuntimeElements = 64;

enum class FieldUse : uint8_t {
  kFloat,
  kInteger,
  kDiagonal,     // of a matrix
  kOffDiagonal,  // of a matrix
  kLastRow,      // of a 4x4 matrix, but for its corner: perspective
  kCorner,       // of a 4x4 matrix
};

// One number of a block.
struct BlockField {
  uint32_t offset = 0;
  uint32_t bytes = 4;  // 1, 2, 4 or 8
  FieldUse use = FieldUse::kFloat;
};

struct ReflectedBlock {
  uint32_t set = 0;  // of push constants: 0, as is `binding`
  uint32_t binding = 0;
  uint32_t bytes = 0;
  // Of each of the kRuntimeElements at the end of a block whose last member is
  // an array without a size; else 0.
  uint32_t element_bytes = 0;
  std::vector<BlockField> fields;
};

struct ReflectedImage {
  uint32_t set = 0;
  uint32_t binding = 0;
  ImageShape shape = ImageShape::k2D;
  bool compare = false;
  std::string format;  // of a storage image that declares one; else empty
};

// Thread-compatible value.
struct InputReflection {
  std::vector<ReflectedBlock> blocks;
  std::vector<ReflectedImage> images;
  std::optional<ReflectedBlock> push_constants;
};

// Adds what one module declares to `reflection`. Of two declarations of one
// place, the larger block or the first image stays. Array sizes that depend on
// specialization constants are taken at their defaults.
// Requires: a validated module. Errors: Unimplemented for what no case can be
// made of (cube images, texel buffers, pointers, ...), naming it.
absl::Status ReflectInputs(std::span<const uint32_t> spirv,
                           InputReflection& reflection);

}  // namespace kiln::lab
