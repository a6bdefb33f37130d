// SPDX-License-Identifier: Apache-2.0
#pragma once

// Writes PNG files of 8-bit RGB.

#include <cstdint>
#include <filesystem>
#include <span>

#include "absl/status/status.h"

namespace kiln::lab {

// Requires: `rgb` has width * height * 3 bytes, row by row from the top.
// Errors: Unavailable with libpng's reason when the file cannot be written.
// Blocks: disk.
absl::Status WritePng(const std::filesystem::path& file, uint32_t width,
                      uint32_t height, std::span<const uint8_t> rgb);

}  // namespace kiln::lab
