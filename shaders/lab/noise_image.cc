// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/noise_image.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

namespace kiln::lab {
namespace {

constexpr uint32_t kCoarseSide = 8;

// One mip level as numbers.
struct Level {
  uint32_t width = 1;
  uint32_t height = 1;
  uint32_t layers = 1;
  std::vector<Texel> texels;

  const Texel& At(uint32_t x, uint32_t y, uint32_t layer) const {
    return texels[(size_t{layer} * height + y) * width + x];
  }
};

Texel RandomTexel(Random& random) {
  Texel texel;
  for (float& number : texel) {
    number = random.Unit();
  }
  return texel;
}

// Bilinear and tiling, at (x, y) in 0 to 1.
float Smooth(const std::vector<Texel>& coarse, float x, float y, int channel) {
  const float across = x * kCoarseSide;
  const float down = y * kCoarseSide;
  const auto column = static_cast<uint32_t>(across);
  const auto row = static_cast<uint32_t>(down);
  const float right = across - static_cast<float>(column);
  const float lower = down - static_cast<float>(row);
  const auto at = [&](uint32_t c, uint32_t r) {
    return coarse[(r % kCoarseSide) * kCoarseSide + c % kCoarseSide][channel];
  };
  const float top = at(column, row) * (1 - right) + at(column + 1, row) * right;
  const float bottom =
      at(column, row + 1) * (1 - right) + at(column + 1, row + 1) * right;
  return top * (1 - lower) + bottom * lower;
}

Level FinestLevel(const NoiseSpec& spec, Random& random) {
  Level level{spec.width, spec.height, spec.layers, {}};
  level.texels.reserve(size_t{spec.width} * spec.height * spec.layers);
  for (uint32_t layer = 0; layer < spec.layers; ++layer) {
    std::vector<Texel> coarse(kCoarseSide * kCoarseSide);
    std::ranges::generate(coarse, [&] { return RandomTexel(random); });
    for (uint32_t y = 0; y < spec.height; ++y) {
      for (uint32_t x = 0; x < spec.width; ++x) {
        Texel texel = RandomTexel(random);
        for (int channel = 0; channel < 4; ++channel) {
          const float smooth = Smooth(
              coarse, static_cast<float>(x) / static_cast<float>(spec.width),
              static_cast<float>(y) / static_cast<float>(spec.height), channel);
          const float unit = 0.5f * smooth + 0.5f * texel[channel];
          texel[channel] = spec.low[channel] +
                           (spec.high[channel] - spec.low[channel]) * unit;
        }
        level.texels.push_back(texel);
      }
    }
  }
  return level;
}

Texel Average(const Level& fine, uint32_t x, uint32_t y, uint32_t layer,
              uint32_t depth) {
  Texel sum{};
  for (uint32_t i = 0; i < 4 * depth; ++i) {
    const Texel& texel =
        fine.At(std::min(2 * x + (i & 1), fine.width - 1),
                std::min(2 * y + (i >> 1 & 1), fine.height - 1),
                layer * depth + (i >> 2));
    for (int channel = 0; channel < 4; ++channel) {
      sum[channel] += texel[channel] / static_cast<float>(4 * depth);
    }
  }
  return sum;
}

Level NextLevel(const Level& fine, bool volume) {
  const uint32_t depth = volume && fine.layers > 1 ? 2 : 1;
  Level level{std::max(fine.width / 2, 1u),
              std::max(fine.height / 2, 1u),
              fine.layers / depth,
              {}};
  for (uint32_t layer = 0; layer < level.layers; ++layer) {
    for (uint32_t y = 0; y < level.height; ++y) {
      for (uint32_t x = 0; x < level.width; ++x) {
        level.texels.push_back(Average(fine, x, y, layer, depth));
      }
    }
  }
  return level;
}

void Append(Bytes& bytes, uint32_t word, int width) {
  for (int shift = 0; shift < width; shift += 8) {
    bytes.push_back(static_cast<std::byte>(word >> shift));
  }
}

void Encode(const std::string& format, const Texel& texel, Bytes& bytes) {
  if (format == "d32_sfloat" || format == "r32_sfloat") {
    Append(bytes, std::bit_cast<uint32_t>(texel[0]), 32);
    return;
  }
  for (const float number : texel) {
    if (format == "r32g32b32a32_sfloat") {
      Append(bytes, std::bit_cast<uint32_t>(number), 32);
    } else if (format == "r16g16b16a16_sfloat") {
      Append(bytes, HalfBits(number), 16);
    } else if (format == "r8g8b8a8_snorm") {
      Append(bytes, static_cast<uint32_t>(std::lround(number * 127.0f)), 8);
    } else {
      Append(bytes, static_cast<uint32_t>(std::lround(number * 255.0f)), 8);
    }
  }
}

}  // namespace

uint32_t HalfBits(float number) {
  const auto bits = std::bit_cast<uint32_t>(number);
  const uint32_t exponent = bits >> 23 & 0xff;
  if (exponent < 113 || exponent > 142) {
    return 0;
  }
  return (bits >> 16 & 0x8000) | (exponent - 112) << 10 | (bits >> 13 & 0x3ff);
}

ImageInput NoiseImage(const NoiseSpec& spec, Random& random) {
  ImageInput image{.shape = spec.shape,
                   .format = spec.format,
                   .width = spec.width,
                   .height = spec.height,
                   .layers = spec.layers,
                   .mips = 0,
                   .repeat = spec.repeat,
                   .compare = spec.compare,
                   .texels = {}};
  const bool volume = spec.shape == ImageShape::k3D;
  Level level = FinestLevel(spec, random);
  for (;;) {
    ++image.mips;
    for (const Texel& texel : level.texels) {
      Encode(spec.format, texel, image.texels);
    }
    const bool last =
        level.width == 1 && level.height == 1 && (!volume || level.layers == 1);
    if (!spec.mips || last) {
      return image;
    }
    level = NextLevel(level, volume);
  }
}

}  // namespace kiln::lab
