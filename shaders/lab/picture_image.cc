// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/picture_image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/lab/png_file.h"
#include "shaders/lab/texel_format.h"

namespace kiln::lab {
namespace {

using Rgb = std::array<double, 3>;

uint8_t ToByte(double value) {
  return static_cast<uint8_t>(std::lround(std::clamp(value, 0.0, 1.0) * 255));
}

double ToneMapped(double value) {
  const double positive = std::max(value, 0.0);
  return std::pow(positive / (1 + positive), 1 / 2.2);
}

bool IsFinite(const Rgb& value) {
  return std::ranges::all_of(value, [](double v) { return std::isfinite(v); });
}

ByteView SampleAt(const Picture& picture, size_t layer, size_t sample) {
  const PictureLayer& from = picture.layers[layer];
  return ByteView(from.texels)
      .subspan(sample * from.texel_bytes, from.texel_bytes);
}

// The mean of each pixel's samples.
absl::StatusOr<std::vector<Rgb>> MeanColors(const Picture& picture,
                                            size_t layer) {
  KILN_ASSIGN_OR_RETURN(const TexelFormat format,
                        ParseTexelFormat(picture.layers[layer].format));
  const bool one_channel = format.channels.size() == 1;
  std::vector<Rgb> pixels(size_t{picture.width} * picture.height);
  for (size_t i = 0; i < pixels.size() * picture.samples; ++i) {
    const auto texel = ReadTexel(format, SampleAt(picture, layer, i));
    Rgb& pixel = pixels[i / picture.samples];
    for (size_t c = 0; c < pixel.size(); ++c) {
      pixel[c] += texel[one_channel ? 0 : c] / picture.samples;
    }
  }
  return pixels;
}

// Stretches the finite depths over what can be seen.
void StretchDepth(std::vector<Rgb>& pixels) {
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (const Rgb& pixel : pixels) {
    if (IsFinite(pixel)) {
      least = std::min(least, pixel[0]);
      most = std::max(most, pixel[0]);
    }
  }
  const double range = most > least ? most - least : 1;
  for (Rgb& pixel : pixels) {
    pixel.fill((pixel[0] - least) / range);
  }
}

bool IsDepthLayer(const Picture& picture, size_t layer) {
  return picture.has_depth && layer + 1 == picture.layers.size();
}

bool SameBytes(const Picture& a, const Picture& b, size_t layer, size_t pixel) {
  for (size_t s = pixel * a.samples; s < (pixel + 1) * a.samples; ++s) {
    if (!std::ranges::equal(SampleAt(a, layer, s), SampleAt(b, layer, s))) {
      return false;
    }
  }
  return true;
}

double Distance(const Rgb& a, const Rgb& b) {
  double most = 0;
  for (size_t c = 0; c < a.size(); ++c) {
    const double distance = std::abs(a[c] - b[c]);
    most = std::isfinite(distance) ? std::max(most, distance) : 1;
  }
  return most;
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> ImageOf(const Picture& picture,
                                             size_t layer) {
  KILN_ASSIGN_OR_RETURN(std::vector<Rgb> pixels, MeanColors(picture, layer));
  const bool is_depth = IsDepthLayer(picture, layer);
  if (is_depth) {
    StretchDepth(pixels);
  }
  const bool is_float =
      picture.layers[layer].format.find("float") != std::string::npos;
  std::vector<uint8_t> image;
  image.reserve(pixels.size() * 3);
  for (const Rgb& pixel : pixels) {
    if (!IsFinite(pixel)) {
      image.insert(image.end(), {255, 0, 255});
      continue;
    }
    for (const double value : pixel) {
      image.push_back(
          ToByte(is_float && !is_depth ? ToneMapped(value) : value));
    }
  }
  return image;
}

absl::StatusOr<std::vector<uint8_t>> DifferenceImage(const Picture& whole,
                                                     const Picture& variant,
                                                     size_t layer) {
  constexpr int kDarker = 4;
  constexpr double kAmplification = 8;
  KILN_ASSIGN_OR_RETURN(std::vector<uint8_t> image, ImageOf(whole, layer));
  KILN_ASSIGN_OR_RETURN(const std::vector<Rgb> a, MeanColors(whole, layer));
  KILN_ASSIGN_OR_RETURN(const std::vector<Rgb> b, MeanColors(variant, layer));
  for (size_t i = 0; i < a.size(); ++i) {
    uint8_t* const out = &image[i * 3];
    if (SameBytes(whole, variant, layer, i)) {
      const int grey = (out[0] + out[1] + out[2]) / 3 / kDarker;
      std::fill_n(out, 3, static_cast<uint8_t>(grey));
    } else {
      const double amount = Distance(a[i], b[i]) * kAmplification;
      out[0] = 255;
      out[1] = ToByte(1 - amount);
      out[2] = 0;
    }
  }
  return image;
}

absl::Status WriteDifference(const std::filesystem::path& folder,
                             const Picture& whole, const Picture& variant,
                             size_t layer) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::UnavailableError(
        fmt::format("{}: {}", ToValidUtf8(folder.string()), error.message()));
  }
  KILN_ASSIGN_OR_RETURN(const auto whole_image, ImageOf(whole, layer));
  KILN_ASSIGN_OR_RETURN(const auto variant_image, ImageOf(variant, layer));
  KILN_ASSIGN_OR_RETURN(const auto difference,
                        DifferenceImage(whole, variant, layer));
  KILN_RETURN_IF_ERROR(
      WritePng(folder / "whole.png", whole.width, whole.height, whole_image));
  KILN_RETURN_IF_ERROR(WritePng(folder / "variant.png", variant.width,
                                variant.height, variant_image));
  return WritePng(folder / "diff.png", whole.width, whole.height, difference);
}

}  // namespace kiln::lab
