// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compares two pictures byte for byte. Bytes decide, so NaN equals the same
// NaN, and 0 differs from -0. A tolerance is for a driver that is known to
// round differently where code differs; there is none unless it is asked for.

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "shaders/lab/picture.h"

namespace kiln::lab {

// How far the channels of a sample may lie apart with one driver.
struct Tolerance {
  std::string driver;         // a VkDriverId: "mesa_llvmpipe"
  double max_difference = 0;  // in the channel's own unit; 1 is full unorm
};

// Errors: InvalidArgument unless `text` is DRIVER=VALUE, with a driver that
// Vulkan knows and a finite value above 0.
absl::StatusOr<Tolerance> ParseTolerance(const std::string& text);

struct PictureDifference {
  bool bytes_equal = true;
  uint64_t pixels = 0;  // with a sample that differs by more than tolerated
  // Of any channel of any sample; infinite where only one is NaN. 0 with
  // `bytes_equal` false: other bytes for the same number.
  double max_difference = 0;
  // The pixels lie in columns left to right and rows top to bottom, inclusive.
  uint32_t left = 0;
  uint32_t top = 0;
  uint32_t right = 0;
  uint32_t bottom = 0;
  size_t layer = 0;  // the first layer that differs

  bool same() const { return pixels == 0; }
};

// Errors: InvalidArgument when the pictures have not the same shape.
absl::StatusOr<PictureDifference> ComparePictures(
    const Picture& a, const Picture& b,
    const std::optional<Tolerance>& tolerance = std::nullopt);

}  // namespace kiln::lab
