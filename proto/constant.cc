// SPDX-License-Identifier: Apache-2.0
#include "proto/constant.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln {
namespace {

enum class Family : uint8_t { kBool, kSigned, kUnsigned, kFloat };

struct TypeRow {
  ConstantType type;
  std::string_view name;
  Family family;
  uint32_t bits;
};

constexpr std::array kTypes = {
    TypeRow{ConstantType::kBool, "bool", Family::kBool, 32},
    TypeRow{ConstantType::kInt8, "int8", Family::kSigned, 8},
    TypeRow{ConstantType::kUint8, "uint8", Family::kUnsigned, 8},
    TypeRow{ConstantType::kInt16, "int16", Family::kSigned, 16},
    TypeRow{ConstantType::kUint16, "uint16", Family::kUnsigned, 16},
    TypeRow{ConstantType::kInt32, "int", Family::kSigned, 32},
    TypeRow{ConstantType::kUint32, "uint", Family::kUnsigned, 32},
    TypeRow{ConstantType::kInt64, "int64", Family::kSigned, 64},
    TypeRow{ConstantType::kUint64, "uint64", Family::kUnsigned, 64},
    TypeRow{ConstantType::kFloat16, "float16", Family::kFloat, 16},
    TypeRow{ConstantType::kFloat32, "float", Family::kFloat, 32},
    TypeRow{ConstantType::kFloat64, "float64", Family::kFloat, 64},
    // Other names of types above.
    TypeRow{ConstantType::kInt32, "int32", Family::kSigned, 32},
    TypeRow{ConstantType::kUint32, "uint32", Family::kUnsigned, 32},
    TypeRow{ConstantType::kFloat32, "float32", Family::kFloat, 32},
    TypeRow{ConstantType::kFloat64, "double", Family::kFloat, 64},
};

const TypeRow& RowOf(ConstantType type) {
  const auto* found = std::ranges::find(kTypes, type, &TypeRow::type);
  return found == kTypes.end() ? kTypes.front() : *found;
}

uint64_t LowBits(uint32_t bits) {
  return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

int64_t SignExtended(uint64_t value, uint32_t bits) {
  const uint32_t unused = 64 - bits;
  return static_cast<int64_t>(value << unused) >> unused;
}

// IEEE 754 binary16. Every half is a float, so this direction is exact.
double HalfToDouble(uint16_t half) {
  const int exponent = (half >> 10) & 0x1f;
  const double fraction = half & 0x3ff;
  const double sign = (half & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 0x1f) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  return exponent == 0 ? sign * std::ldexp(fraction, -24)
                       : sign * std::ldexp(1024 + fraction, exponent - 15 - 10);
}

// Rounded to nearest even. Returns nullopt past the largest half, 65504.
std::optional<uint16_t> DoubleToHalf(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (size == 0) {
    return sign;
  }
  int exponent = 0;
  std::frexp(size, &exponent);  // size = 0.5..1 * 2^exponent
  exponent = std::max(exponent - 1, -14);
  // In units of the last place at this exponent, 0 to 2048.
  const double units = std::nearbyint(std::ldexp(size, 10 - exponent));
  const auto bits = static_cast<uint32_t>(units) +
                    (static_cast<uint32_t>(exponent + 14) << 10);
  if (!(size < 65520) || bits >= 0x7c00) {
    return std::nullopt;
  }
  return static_cast<uint16_t>(sign | bits);
}

double ToDouble(const TypeRow& row, uint64_t value) {
  switch (row.bits) {
    case 16:
      return HalfToDouble(static_cast<uint16_t>(value));
    case 32:
      return std::bit_cast<float>(static_cast<uint32_t>(value));
    default:
      return std::bit_cast<double>(value);
  }
}

absl::Status NotA(const TypeRow& row, std::string_view text) {
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is not a value of type {}", Shorten(text, 100), row.name));
}

absl::StatusOr<uint64_t> ParseInteger(const TypeRow& row,
                                      std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  std::string_view digits = text.substr(negative ? 1 : 0);
  const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  digits.remove_prefix(hex ? 2 : 0);
  uint64_t size = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] =
      std::from_chars(digits.data(), end, size, hex ? 16 : 10);
  if (error == std::errc::invalid_argument || rest != end) {
    return NotA(row, text);
  }
  const bool is_signed = row.family == Family::kSigned;
  const uint64_t most = LowBits(row.bits) >> (is_signed ? 1 : 0);
  const uint64_t least = is_signed ? most + 1 : 0;  // as a size
  if (error != std::errc() || size > (negative ? least : most)) {
    return absl::InvalidArgumentError(fmt::format(
        "{} is out of the range of type {}, {}{} to {}", Shorten(text, 100),
        row.name, is_signed ? "-" : "", least, most));
  }
  return (negative ? ~size + 1 : size) & LowBits(row.bits);
}

absl::StatusOr<uint64_t> ParseFloat(const TypeRow& row, std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::invalid_argument || rest != end) {
    return NotA(row, text);
  }
  const absl::Status out_of_range = absl::InvalidArgumentError(fmt::format(
      "{} is out of the range of type {}", Shorten(text, 100), row.name));
  if (error != std::errc() || !std::isfinite(value)) {
    return out_of_range;
  }
  if (row.bits == 64) {
    return std::bit_cast<uint64_t>(value);
  }
  if (row.bits == 16) {
    const std::optional<uint16_t> half = DoubleToHalf(value);
    return half ? absl::StatusOr<uint64_t>(*half) : out_of_range;
  }
  float single = 0;  // parsed again: one rounding, not two
  if (std::from_chars(text.data(), end, single).ec != std::errc()) {
    return out_of_range;
  }
  return std::bit_cast<uint32_t>(single);
}

}  // namespace

std::string_view ConstantTypeName(ConstantType type) {
  return RowOf(type).name;
}

absl::StatusOr<ConstantType> ConstantTypeFromName(std::string_view name) {
  const auto* found = std::ranges::find(kTypes, name, &TypeRow::name);
  if (found == kTypes.end()) {
    return absl::InvalidArgumentError(fmt::format(
        "type '{}' is not bool, int8, int16, int, int64, uint8, uint16, uint, "
        "uint64, float16, float or float64",
        Shorten(name, 100)));
  }
  return found->type;
}

bool IsConstantType(uint8_t number) {
  return number >= static_cast<uint8_t>(ConstantType::kBool) &&
         number <= static_cast<uint8_t>(ConstantType::kFloat64);
}

uint32_t ConstantBits(ConstantType type) {
  return RowOf(type).bits;
}

absl::StatusOr<uint64_t> ParseConstant(ConstantType type,
                                       std::string_view text) {
  const TypeRow& row = RowOf(type);
  switch (row.family) {
    case Family::kBool:
      if (text == "true" || text == "1") {
        return 1;
      }
      return text == "false" || text == "0" ? absl::StatusOr<uint64_t>(0)
                                            : NotA(row, text);
    case Family::kFloat:
      return ParseFloat(row, text);
    default:
      return ParseInteger(row, text);
  }
}

std::string FormatConstant(ConstantType type, uint64_t value) {
  const TypeRow& row = RowOf(type);
  switch (row.family) {
    case Family::kBool:
      return value != 0 ? "true" : "false";
    case Family::kSigned:
      return fmt::format("{}", SignExtended(value, row.bits));
    case Family::kUnsigned:
      return fmt::format("{}", value);
    case Family::kFloat:
      break;
  }
  // The shortest text of a half is that of the float that equals it: a few
  // digits more than needed, and exact.
  return row.bits == 64
             ? fmt::format("{}", ToDouble(row, value))
             : fmt::format("{}", static_cast<float>(ToDouble(row, value)));
}

std::weak_ordering CompareConstants(ConstantType type, uint64_t a, uint64_t b) {
  const TypeRow& row = RowOf(type);
  if (row.family == Family::kSigned) {
    return SignExtended(a, row.bits) <=> SignExtended(b, row.bits);
  }
  if (row.family == Family::kFloat) {
    const double left = ToDouble(row, a);
    const double right = ToDouble(row, b);
    return left < right   ? std::weak_ordering::less
           : left > right ? std::weak_ordering::greater
                          : std::weak_ordering::equivalent;
  }
  return a <=> b;
}

absl::Status CheckConstant(ConstantType type, uint64_t value) {
  const TypeRow& row = RowOf(type);
  if (row.family == Family::kBool && value > 1) {
    return absl::InvalidArgumentError(fmt::format("{} is no bool", value));
  }
  if ((value & ~LowBits(row.bits)) != 0) {
    return absl::InvalidArgumentError(
        fmt::format("{:#x} has more bits than type {}", value, row.name));
  }
  if (row.family == Family::kFloat && !std::isfinite(ToDouble(row, value))) {
    return absl::InvalidArgumentError("the value is not a finite number");
  }
  return absl::OkStatus();
}

}  // namespace kiln
