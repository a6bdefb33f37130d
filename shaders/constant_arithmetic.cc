// SPDX-License-Identifier: Apache-2.0
#include "shaders/constant_arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include <spirv/unified1/spirv.hpp11>

namespace kiln::shaders {
namespace {

using Kind = NumericType::Kind;

uint64_t LowBits(uint32_t bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

double HalfToDouble(uint64_t half) {
  const uint64_t exponent = (half >> 10) & 0x1F;
  const uint64_t fraction = half & 0x3FF;
  double value = 0;
  if (exponent == 0x1F) {
    value = fraction == 0 ? HUGE_VAL : std::nan("");
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(fraction), -24);
  } else {
    value = std::ldexp(static_cast<double>(fraction | 0x400),
                       static_cast<int>(exponent) - 25);
  }
  return (half & 0x8000) != 0 ? -value : value;
}

// Rounds to the nearest half, ties to even, in one step.
uint64_t DoubleToHalf(double value) {
  const uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(size)) {
    return sign | 0x7E00;
  }
  if (size >= 65520.0) {  // halfway between the largest half and the next
    return sign | 0x7C00;
  }
  if (size < 0x1p-14) {
    return sign | static_cast<uint64_t>(std::nearbyint(std::ldexp(size, 24)));
  }
  const int exponent = std::ilogb(size);
  // 0x400 to 0x800; the latter carries into the exponent by itself.
  const auto units =
      static_cast<uint64_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return sign | ((static_cast<uint64_t>(exponent + 14) << 10) + units);
}

double ToDouble(uint64_t value, uint32_t bits) {
  switch (bits) {
    case 16:
      return HalfToDouble(value);
    case 32:
      return std::bit_cast<float>(static_cast<uint32_t>(value));
    default:
      return std::bit_cast<double>(value);
  }
}

uint64_t FromDouble(double value, uint32_t bits) {
  switch (bits) {
    case 16:
      return DoubleToHalf(value);
    case 32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    default:
      return std::bit_cast<uint64_t>(value);
  }
}

// OpQuantizeToF16 of a 32-bit float: halves without subnormals.
uint64_t Quantize(uint64_t value) {
  const double number = ToDouble(value, 32);
  if (std::fabs(number) < 0x1p-14) {
    return value & 0x80000000;
  }
  return FromDouble(HalfToDouble(DoubleToHalf(number)), 32);
}

std::optional<uint64_t> Unary(spv::Op op, uint64_t a, const NumericType& from,
                              const NumericType& to) {
  switch (op) {
    case spv::Op::OpSConvert:
      return static_cast<uint64_t>(SignExtend(a, from.bits));
    case spv::Op::OpUConvert:
      return a;
    case spv::Op::OpFConvert:
      return FromDouble(ToDouble(a, from.bits), to.bits);
    case spv::Op::OpQuantizeToF16:
      return Quantize(a);
    case spv::Op::OpSNegate:
      return 0 - a;
    case spv::Op::OpNot:
    case spv::Op::OpLogicalNot:
      return ~a;
    default:
      return std::nullopt;
  }
}

// Signed division and its two remainders: of the dividend's sign (OpSRem) and
// of the divisor's (OpSMod).
uint64_t DivideSigned(spv::Op op, int64_t a, int64_t b) {
  if (b == 0) {
    return 0;
  }
  if (b == -1) {  // the smallest integer has no negative: it wraps
    return op == spv::Op::OpSDiv ? 0 - static_cast<uint64_t>(a) : 0;
  }
  int64_t result = op == spv::Op::OpSDiv ? a / b : a % b;
  if (op == spv::Op::OpSMod && result != 0 && (result < 0) != (b < 0)) {
    result += b;
  }
  return static_cast<uint64_t>(result);
}

std::optional<uint64_t> BinaryUnsigned(spv::Op op, uint64_t a, uint64_t b,
                                       uint32_t bits) {
  switch (op) {
    case spv::Op::OpIAdd:
      return a + b;
    case spv::Op::OpISub:
      return a - b;
    case spv::Op::OpIMul:
      return a * b;
    case spv::Op::OpUDiv:
      return b == 0 ? 0 : a / b;
    case spv::Op::OpUMod:
      return b == 0 ? 0 : a % b;
    case spv::Op::OpShiftRightLogical:
      return a >> (b % bits);
    case spv::Op::OpShiftLeftLogical:
      return a << (b % bits);
    case spv::Op::OpBitwiseOr:
    case spv::Op::OpLogicalOr:
      return a | b;
    case spv::Op::OpBitwiseXor:
      return a ^ b;
    case spv::Op::OpBitwiseAnd:
    case spv::Op::OpLogicalAnd:
      return a & b;
    case spv::Op::OpIEqual:
    case spv::Op::OpLogicalEqual:
      return a == b;
    case spv::Op::OpINotEqual:
    case spv::Op::OpLogicalNotEqual:
      return a != b;
    case spv::Op::OpULessThan:
      return a < b;
    case spv::Op::OpULessThanEqual:
      return a <= b;
    case spv::Op::OpUGreaterThan:
      return a > b;
    case spv::Op::OpUGreaterThanEqual:
      return a >= b;
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> BinarySigned(spv::Op op, int64_t a, int64_t b,
                                     uint32_t bits) {
  switch (op) {
    case spv::Op::OpSDiv:
    case spv::Op::OpSRem:
    case spv::Op::OpSMod:
      return DivideSigned(op, a, b);
    case spv::Op::OpShiftRightArithmetic:
      return static_cast<uint64_t>(a >> (static_cast<uint64_t>(b) % bits));
    case spv::Op::OpSLessThan:
      return a < b;
    case spv::Op::OpSLessThanEqual:
      return a <= b;
    case spv::Op::OpSGreaterThan:
      return a > b;
    case spv::Op::OpSGreaterThanEqual:
      return a >= b;
    default:
      return std::nullopt;
  }
}

std::optional<Lanes> Select(std::span<const NumericValue> operands) {
  const auto& [condition, yes, no] =
      std::tie(operands[0].lanes, operands[1].lanes, operands[2].lanes);
  if (condition.size() == 1) {
    return condition[0] != 0 ? yes : no;
  }
  if (condition.size() != yes.size() || yes.size() != no.size()) {
    return std::nullopt;
  }
  Lanes lanes = no;
  for (size_t i = 0; i < lanes.size(); ++i) {
    lanes[i] = condition[i] != 0 ? yes[i] : no[i];
  }
  return lanes;
}

std::optional<Lanes> Shuffle(std::span<const NumericValue> operands,
                             std::span<const uint32_t> literals) {
  Lanes both = operands[0].lanes;
  both.insert(both.end(), operands[1].lanes.begin(), operands[1].lanes.end());
  Lanes lanes;
  for (const uint32_t index : literals) {
    if (index >= both.size() && index != 0xFFFFFFFF) {
      return std::nullopt;
    }
    lanes.push_back(index < both.size() ? both[index] : 0);
  }
  return lanes;
}

std::optional<Lanes> Rearrange(spv::Op op,
                               std::span<const NumericValue> operands,
                               std::span<const uint32_t> literals) {
  if (op == spv::Op::OpVectorShuffle && operands.size() == 2) {
    return Shuffle(operands, literals);
  }
  if (literals.size() != 1) {
    return std::nullopt;
  }
  if (op == spv::Op::OpCompositeExtract && operands.size() == 1 &&
      literals[0] < operands[0].lanes.size()) {
    return Lanes{operands[0].lanes[literals[0]]};
  }
  if (op == spv::Op::OpCompositeInsert && operands.size() == 2 &&
      operands[0].lanes.size() == 1 && literals[0] < operands[1].lanes.size()) {
    Lanes lanes = operands[1].lanes;
    lanes[literals[0]] = operands[0].lanes[0];
    return lanes;
  }
  return std::nullopt;
}

}  // namespace

int64_t SignExtend(uint64_t value, uint32_t bits) {
  const uint32_t unused = 64 - std::min(bits, 64U);
  return static_cast<int64_t>(value << unused) >> unused;
}

std::optional<Lanes> Compute(uint32_t opcode, const NumericType& result,
                             std::span<const NumericValue> operands,
                             std::span<const uint32_t> literals) {
  const auto op = static_cast<spv::Op>(opcode);
  if (op == spv::Op::OpSelect && operands.size() == 3) {
    return Select(operands);
  }
  if (!literals.empty()) {
    return Rearrange(op, operands, literals);
  }
  if (operands.empty() || operands.size() > 2 ||
      operands[0].lanes.size() != operands.back().lanes.size()) {
    return std::nullopt;
  }
  Lanes lanes;
  const uint32_t bits = operands[0].type.bits;
  for (size_t i = 0; i < operands[0].lanes.size(); ++i) {
    const uint64_t a = operands[0].lanes[i];
    std::optional<uint64_t> lane;
    if (operands.size() == 1) {
      lane = Unary(op, a, operands[0].type, result);
    } else {
      const uint64_t b = operands[1].lanes[i];
      lane = BinaryUnsigned(op, a, b, bits);
      if (!lane) {
        lane = BinarySigned(op, SignExtend(a, bits),
                            SignExtend(b, operands[1].type.bits), bits);
      }
    }
    if (!lane) {
      return std::nullopt;
    }
    lanes.push_back(*lane & LowBits(result.bits));
  }
  return lanes;
}

}  // namespace kiln::shaders
