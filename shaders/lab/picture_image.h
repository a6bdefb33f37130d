// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pictures as 8-bit images for people: whole.png, variant.png, diff.png.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shaders/lab/picture.h"

namespace kiln::lab {

// One layer, the mean of its samples, as RGB of 8 bits. Colours of float
// formats are tone-mapped; a depth is grey from its least to its greatest. A
// NaN or infinity is magenta.
absl::StatusOr<std::vector<uint8_t>> ImageOf(const Picture& picture,
                                             size_t layer);

// Where the pictures' bytes are equal, a dark grey `whole`; where they differ
// yellow to red, the more the larger the difference, from a first step that is
// plain to see. Requires: pictures of one shape.
absl::StatusOr<std::vector<uint8_t>> DifferenceImage(const Picture& whole,
                                                     const Picture& variant,
                                                     size_t layer);

// Writes whole.png, variant.png and diff.png of one layer into `folder`, which
// is made if need be. Errors: Unavailable when it cannot. Blocks: disk.
absl::Status WriteDifference(const std::filesystem::path& folder,
                             const Picture& whole, const Picture& variant,
                             size_t layer);

}  // namespace kiln::lab
