// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/png_file.h"

#include <png.h>

#include <fmt/format.h>

#include "proto/text.h"

namespace kiln::lab {

absl::Status WritePng(const std::filesystem::path& file, uint32_t width,
                      uint32_t height, std::span<const uint8_t> rgb) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = PNG_FORMAT_RGB;
  if (png_image_write_to_file(&image, file.c_str(), 0, rgb.data(), 0,
                              nullptr) == 0) {
    return absl::UnavailableError(fmt::format(
        "{}: {}", ToValidUtf8(file.string()), ToValidUtf8(image.message)));
  }
  return absl::OkStatus();
}

}  // namespace kiln::lab
