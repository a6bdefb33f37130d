// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/image_diff.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/lab/texel_format.h"
#include "shaders/pipeline/vulkan_names.h"

namespace kiln::lab {
namespace {

bool SameShape(const Picture& a, const Picture& b) {
  if (a.width != b.width || a.height != b.height || a.samples != b.samples ||
      a.layers.size() != b.layers.size()) {
    return false;
  }
  for (size_t i = 0; i < a.layers.size(); ++i) {
    if (a.layers[i].format != b.layers[i].format ||
        a.layers[i].texels.size() != b.layers[i].texels.size()) {
      return false;
    }
  }
  return true;
}

// The largest difference of a channel between two samples.
double SampleDifference(const TexelFormat& format, ByteView a, ByteView b) {
  const std::array<double, 4> left = ReadTexel(format, a);
  const std::array<double, 4> right = ReadTexel(format, b);
  double most = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    if (std::isnan(left[i]) != std::isnan(right[i])) {
      return std::numeric_limits<double>::infinity();
    }
    if (left[i] != right[i] && !std::isnan(left[i])) {
      most = std::max(most, std::abs(left[i] - right[i]));
    }
  }
  return most;
}

void AddPixel(uint32_t x, uint32_t y, PictureDifference& difference) {
  if (difference.pixels == 0) {
    difference.left = difference.right = x;
    difference.top = difference.bottom = y;
  }
  ++difference.pixels;
  difference.left = std::min(difference.left, x);
  difference.right = std::max(difference.right, x);
  difference.top = std::min(difference.top, y);
  difference.bottom = std::max(difference.bottom, y);
}

// Compares two pictures of one shape, pixel by pixel.
class Comparison {
 public:
  Comparison(const Picture& a, const Picture& b,
             const std::optional<Tolerance>& tolerance)
      : a_(a), b_(b), tolerance_(tolerance) {}

  absl::StatusOr<PictureDifference> Run() {
    for (size_t i = 0; i < a_.layers.size(); ++i) {
      KILN_ASSIGN_OR_RETURN(TexelFormat format,
                            ParseTexelFormat(a_.layers[i].format));
      formats_.push_back(std::move(format));
      if (a_.layers[i].texels != b_.layers[i].texels) {
        differing_.push_back(i);
      }
    }
    if (differing_.empty()) {
      return result_;
    }
    result_.bytes_equal = false;
    result_.layer = a_.layers.size();
    for (uint32_t y = 0; y < a_.height; ++y) {
      for (uint32_t x = 0; x < a_.width; ++x) {
        ComparePixel(x, y);
      }
    }
    result_.layer = result_.same() ? 0 : result_.layer;
    return result_;
  }

 private:
  void ComparePixel(uint32_t x, uint32_t y) {
    bool differs = false;
    const size_t first = (size_t{y} * a_.width + x) * a_.samples;
    for (const size_t i : differing_) {
      if (LayerDiffers(i, first)) {
        differs = true;
        result_.layer = std::min(result_.layer, i);
      }
    }
    if (differs) {
      AddPixel(x, y, result_);
    }
  }

  // `first`: the pixel's first sample.
  bool LayerDiffers(size_t index, size_t first) {
    const size_t bytes = a_.layers[index].texel_bytes;
    const ByteView left = a_.layers[index].texels;
    const ByteView right = b_.layers[index].texels;
    bool differs = false;
    for (size_t sample = first; sample < first + a_.samples; ++sample) {
      const ByteView l = left.subspan(sample * bytes, bytes);
      const ByteView r = right.subspan(sample * bytes, bytes);
      if (std::ranges::equal(l, r)) {
        continue;
      }
      const double difference = SampleDifference(formats_[index], l, r);
      result_.max_difference = std::max(result_.max_difference, difference);
      differs |= !tolerance_ || difference > tolerance_->max_difference;
    }
    return differs;
  }

  const Picture& a_;
  const Picture& b_;
  const std::optional<Tolerance>& tolerance_;
  std::vector<TexelFormat> formats_;
  std::vector<size_t> differing_;  // layers whose bytes are not all equal
  PictureDifference result_;
};

}  // namespace

absl::StatusOr<Tolerance> ParseTolerance(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos) {
    return absl::InvalidArgumentError(
        fmt::format("tolerance '{}' is not DRIVER=VALUE",
                    Shorten(text, limits::kNameBytes)));
  }
  Tolerance tolerance;
  tolerance.driver = text.substr(0, equals);
  KILN_RETURN_IF_ERROR(
      pipeline::ParseVulkanName(pipeline::VulkanEnum::kDriverId,
                                "tolerance driver", tolerance.driver)
          .status());
  const char* const end = text.data() + text.size();
  const auto [rest, error] =
      std::from_chars(text.data() + equals + 1, end, tolerance.max_difference);
  if (error != std::errc() || rest != end ||
      !std::isfinite(tolerance.max_difference) ||
      tolerance.max_difference <= 0) {
    return absl::InvalidArgumentError(
        fmt::format("tolerance '{}': the value is no finite number above 0",
                    Shorten(text, limits::kNameBytes)));
  }
  return tolerance;
}

absl::StatusOr<PictureDifference> ComparePictures(
    const Picture& a, const Picture& b,
    const std::optional<Tolerance>& tolerance) {
  if (!SameShape(a, b)) {
    return absl::InvalidArgumentError(
        "the pictures have not the same size, samples and formats");
  }
  return Comparison(a, b, tolerance).Run();
}

}  // namespace kiln::lab
