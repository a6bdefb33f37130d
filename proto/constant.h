// SPDX-License-Identifier: Apache-2.0
#pragma once

// Specialization constants and their values. A value is kept as the bits of
// its type in the low end of 64, the rest zero: integers in two's complement,
// floats as IEEE 754, bool as 0 or 1. Everything that reads, writes, prints or
// compares one is here; nothing else knows what the bits mean.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kiln {

// Every scalar type a specialization constant can have. Persisted: never
// renumbered.
enum class ConstantType : uint8_t {
  kBool = 1,
  kInt32 = 2,
  kUint32 = 3,
  kFloat32 = 4,
  kInt8 = 5,
  kUint8 = 6,
  kInt16 = 7,
  kUint16 = 8,
  kInt64 = 9,
  kUint64 = 10,
  kFloat16 = 11,
  kFloat64 = 12,
};

// `Constant::id` of a constant that is only known by its name.
inline constexpr uint32_t kIdByName = 0xffffffff;

struct Constant {
  uint32_t id = 0;
  uint64_t value = 0;
  ConstantType type = ConstantType::kUint32;
  std::string name{};  // for diagnostics, and to find it by; may be empty

  friend auto operator<=>(const Constant&, const Constant&) = default;
};

// "bool", "int8" to "uint64", "float16" to "float64"; "int", "uint", "float"
// and "double" are understood for the GLSL types of that name.
std::string_view ConstantTypeName(ConstantType type);

// Errors: InvalidArgument that lists the types.
absl::StatusOr<ConstantType> ConstantTypeFromName(std::string_view name);

// False for a number no ConstantType has.
bool IsConstantType(uint8_t number);

// Width in bits; 32 for a bool, which is a VkBool32 to drivers.
uint32_t ConstantBits(ConstantType type);

// Reads "true", "-3", "0x1f", "2.5". Errors: InvalidArgument saying what is
// wrong: not a number, out of the type's range, not finite.
absl::StatusOr<uint64_t> ParseConstant(ConstantType type,
                                       std::string_view text);

// The shortest text that `ParseConstant` reads back as the same bits.
std::string FormatConstant(ConstantType type, uint64_t value);

// Orders two values as numbers. Requires: both pass `CheckConstant`.
std::weak_ordering CompareConstants(ConstantType type, uint64_t a, uint64_t b);

// Errors: InvalidArgument when `value` has bits outside its type, is a bool
// other than 0 and 1, or a float that is not finite.
absl::Status CheckConstant(ConstantType type, uint64_t value);

}  // namespace kiln
