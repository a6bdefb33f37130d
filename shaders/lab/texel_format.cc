// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/texel_format.h"

#include <bit>
#include <cctype>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/text.h"

namespace kiln::lab {
namespace {

constexpr std::string_view kChannelNames = "rgbadxse";

absl::Status Unsupported(std::string_view name) {
  return absl::InvalidArgumentError(
      fmt::format("format {} is no plain uncompressed format",
                  Shorten(name, limits::kNameBytes)));
}

// Takes "r16g16" off the front of `name`. Returns: its channels, without
// offsets; none if `name` starts otherwise.
std::vector<TexelChannel> TakeChannels(std::string_view& name) {
  std::vector<TexelChannel> channels;
  size_t at = 0;
  while (at + 1 < name.size() && kChannelNames.find(name[at]) != name.npos &&
         std::isdigit(static_cast<unsigned char>(name[at + 1])) != 0) {
    TexelChannel channel{name[at], 0, 0};
    for (++at; at < name.size() &&
               std::isdigit(static_cast<unsigned char>(name[at])) != 0;
         ++at) {
      channel.bits = channel.bits * 10 + static_cast<uint32_t>(name[at] - '0');
    }
    channels.push_back(channel);
  }
  name.remove_prefix(at);
  return channels;
}

NumberForm FormOf(std::string_view rest) {
  if (rest.starts_with("_unorm")) {
    return NumberForm::kUnorm;
  }
  if (rest.starts_with("_snorm")) {
    return NumberForm::kSnorm;
  }
  if (rest.starts_with("_uint")) {
    return NumberForm::kUint;
  }
  if (rest.starts_with("_sint")) {
    return NumberForm::kSint;
  }
  if (rest.starts_with("_sfloat") || rest.starts_with("_ufloat")) {
    return NumberForm::kFloat;
  }
  return rest.starts_with("_srgb") ? NumberForm::kSrgb : NumberForm::kOpaque;
}

// The depth of a format with stencil is copied as a word of its own.
TexelFormat DepthFormat(uint32_t bits, NumberForm form) {
  return {bits == 16 ? 2u : 4u, form, {{'d', 0, bits}}};
}

uint64_t BitsAt(ByteView texel, uint32_t offset, uint32_t count) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t bit = offset + i;
    const auto byte = std::to_integer<uint32_t>(texel[bit / 8]);
    value |= static_cast<uint64_t>((byte >> (bit % 8)) & 1u) << i;
  }
  return value;
}

// An IEEE-like number of 5 exponent bits: half floats, and the unsigned ones of
// 10 and 11 bits.
double SmallFloat(uint64_t bits, uint32_t count) {
  constexpr uint32_t kExponentBits = 5;
  constexpr int kBias = 15;
  const bool has_sign = count == 16;
  const uint32_t mantissa_bits = count - kExponentBits - (has_sign ? 1 : 0);
  const uint64_t mantissa = bits & ((uint64_t{1} << mantissa_bits) - 1);
  const auto exponent = static_cast<int>((bits >> mantissa_bits) & 0x1F);
  const double sign = has_sign && (bits >> 15) != 0 ? -1 : 1;
  const double fraction = std::ldexp(static_cast<double>(mantissa),
                                     -static_cast<int>(mantissa_bits));
  if (exponent == 0x1F) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  return exponent == 0 ? sign * std::ldexp(fraction, 1 - kBias)
                       : sign * std::ldexp(1 + fraction, exponent - kBias);
}

double Float(uint64_t bits, uint32_t count) {
  if (count == 64) {
    return std::bit_cast<double>(bits);
  }
  return count == 32 ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                     : SmallFloat(bits, count);
}

double Signed(uint64_t bits, uint32_t count) {
  const uint32_t unused = 64 - count;
  return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
}

double Number(const TexelFormat& format, const TexelChannel& channel,
              uint64_t bits) {
  const double most = std::ldexp(1.0, static_cast<int>(channel.bits)) - 1;
  switch (format.form) {
    case NumberForm::kUnorm:
      return static_cast<double>(bits) / most;
    case NumberForm::kSnorm:
      return std::fmax(Signed(bits, channel.bits) / ((most - 1) / 2), -1.0);
    case NumberForm::kSint:
      return Signed(bits, channel.bits);
    case NumberForm::kFloat:
      return Float(bits, channel.bits);
    case NumberForm::kSrgb: {
      const double value = static_cast<double>(bits) / most;
      if (channel.name == 'a') {
        return value;
      }
      return value <= 0.04045 ? value / 12.92
                              : std::pow((value + 0.055) / 1.055, 2.4);
    }
    case NumberForm::kUint:
    case NumberForm::kOpaque:
      break;
  }
  return static_cast<double>(bits);
}

}  // namespace

absl::StatusOr<TexelFormat> ParseTexelFormat(std::string_view name) {
  std::string_view rest = name;
  if (rest.starts_with("x8_d24")) {
    return DepthFormat(24, NumberForm::kUnorm);
  }
  TexelFormat format;
  format.channels = TakeChannels(rest);
  format.form = FormOf(rest);
  if (format.channels.empty() || rest.find("block") != rest.npos ||
      rest.find("plane") != rest.npos || rest.find("4pack") != rest.npos) {
    return Unsupported(name);
  }
  if (format.channels[0].name == 'd') {
    return DepthFormat(format.channels[0].bits, format.form);
  }
  if (format.channels[0].name == 'e') {
    format.form = NumberForm::kOpaque;  // one exponent for three channels
  }
  uint32_t total = 0;
  for (TexelChannel& channel : format.channels) {
    channel.offset = total;
    total += channel.bits;
  }
  if (total == 0 || total % 8 != 0) {
    return Unsupported(name);
  }
  // The first channel of a packed format has the highest bits.
  if (rest.find("_pack") != rest.npos) {
    for (TexelChannel& channel : format.channels) {
      channel.offset = total - channel.offset - channel.bits;
    }
  }
  format.bytes = total / 8;
  return format;
}

std::array<double, 4> ReadTexel(const TexelFormat& format, ByteView texel) {
  constexpr std::string_view kOrder = "rgba";
  std::array<double, 4> value = {0, 0, 0, 1};
  for (const TexelChannel& channel : format.channels) {
    const size_t place = channel.name == 'd' ? 0 : kOrder.find(channel.name);
    if (place != kOrder.npos) {
      value[place] =
          Number(format, channel, BitsAt(texel, channel.offset, channel.bits));
    }
  }
  return value;
}

}  // namespace kiln::lab
