// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/folding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace kiln::specialise {
namespace {

using shaders::NumericType;
using Kind = NumericType::Kind;
using State = Known::State;

bool IsFloatComparison(spv::Op op) {
  return op >= spv::Op::OpFOrdEqual && op <= spv::Op::OpFUnordGreaterThanEqual;
}

bool IsIntegerComparison(spv::Op op) {
  return op >= spv::Op::OpIEqual && op <= spv::Op::OpSLessThanEqual;
}

bool IsLogical(spv::Op op) {
  return op >= spv::Op::OpLogicalEqual && op <= spv::Op::OpLogicalNot;
}

bool IsIntegerOperation(spv::Op op) {
  switch (op) {
    case spv::Op::OpIAdd:
    case spv::Op::OpISub:
    case spv::Op::OpIMul:
    case spv::Op::OpUDiv:
    case spv::Op::OpSDiv:
    case spv::Op::OpUMod:
    case spv::Op::OpSRem:
    case spv::Op::OpSMod:
    case spv::Op::OpSNegate:
    case spv::Op::OpNot:
    case spv::Op::OpShiftRightLogical:
    case spv::Op::OpShiftRightArithmetic:
    case spv::Op::OpShiftLeftLogical:
    case spv::Op::OpBitwiseOr:
    case spv::Op::OpBitwiseXor:
    case spv::Op::OpBitwiseAnd:
    case spv::Op::OpUConvert:
    case spv::Op::OpSConvert:
      return true;
    default:
      return false;
  }
}

// The number, if all devices see the same one: neither NaN nor infinite, which
// they need not have, nor so small that they may take it for zero.
std::optional<double> ExactNumber(uint64_t bits, uint32_t width) {
  double value = 0;
  switch (width) {
    case 32: {
      const float narrow = std::bit_cast<float>(static_cast<uint32_t>(bits));
      if (narrow != 0 && !std::isnormal(narrow)) {
        return std::nullopt;
      }
      value = narrow;
      break;
    }
    case 64:
      value = std::bit_cast<double>(bits);
      break;
    default: {  // 16
      const uint64_t exponent = bits >> 10 & 0x1F;
      const uint64_t fraction = bits & 0x3FF;
      if (exponent == 0x1F || (exponent == 0 && fraction != 0)) {
        return std::nullopt;
      }
      value = exponent == 0 ? 0
                            : std::ldexp(static_cast<double>(fraction | 0x400),
                                         static_cast<int>(exponent) - 25);
      value = (bits & 0x8000) != 0 ? -value : value;
      break;
    }
  }
  return value == 0 || std::isnormal(value) ? std::optional<double>(value)
                                            : std::nullopt;
}

Known CompareFloats(spv::Op op, const Known& left, const Known& right,
                    uint32_t width) {
  const std::optional<double> a = ExactNumber(left.bits, width);
  const std::optional<double> b = ExactNumber(right.bits, width);
  if (!a || !b) {
    return Known::Varies();
  }
  switch (op) {
    case spv::Op::OpFOrdEqual:
    case spv::Op::OpFUnordEqual:
      return Known::Value(*a == *b);
    case spv::Op::OpFOrdNotEqual:
    case spv::Op::OpFUnordNotEqual:
      return Known::Value(*a != *b);
    case spv::Op::OpFOrdLessThan:
    case spv::Op::OpFUnordLessThan:
      return Known::Value(*a < *b);
    case spv::Op::OpFOrdGreaterThan:
    case spv::Op::OpFUnordGreaterThan:
      return Known::Value(*a > *b);
    case spv::Op::OpFOrdLessThanEqual:
    case spv::Op::OpFUnordLessThanEqual:
      return Known::Value(*a <= *b);
    default:  // OpFOrdGreaterThanEqual, OpFUnordGreaterThanEqual
      return Known::Value(*a >= *b);
  }
}

// True where SPIR-V defines what the operation gives.
bool IsDefined(spv::Op op, std::span<const Known> operands,
               const NumericType& type) {
  switch (op) {
    case spv::Op::OpUDiv:
    case spv::Op::OpUMod:
      return operands[1].bits != 0;
    case spv::Op::OpSDiv:
      return operands[1].bits != 0 &&
             (shaders::SignExtend(operands[1].bits, type.bits) != -1 ||
              operands[0].bits != uint64_t{1} << (type.bits - 1));
    case spv::Op::OpSRem:
    case spv::Op::OpSMod:  // of negative numbers Vulkan leaves it open
      return operands[1].bits != 0 &&
             ((operands[0].bits | operands[1].bits) >> (type.bits - 1)) == 0;
    case spv::Op::OpShiftRightLogical:
    case spv::Op::OpShiftRightArithmetic:
    case spv::Op::OpShiftLeftLogical:
      return operands[1].bits < type.bits;
    default:
      return true;
  }
}

// The result where one operand decides it.
std::optional<Known> Absorb(spv::Op op, std::span<const Known> operands) {
  const auto any = [&](auto test) {
    return std::ranges::any_of(operands, test);
  };
  switch (op) {
    case spv::Op::OpLogicalAnd:
    case spv::Op::OpBitwiseAnd:
    case spv::Op::OpIMul:
      return any([](const Known& k) { return k.IsFalse(); })
                 ? std::optional<Known>(Known::Value(0))
                 : std::nullopt;
    case spv::Op::OpLogicalOr:
      return any([](const Known& k) { return k.IsTrue(); })
                 ? std::optional<Known>(Known::Value(1))
                 : std::nullopt;
    default:
      return std::nullopt;
  }
}

Known FoldSelect(std::span<const Known> operands) {
  if (operands[0].IsValue()) {
    return operands[operands[0].bits != 0 ? 1 : 2];
  }
  return operands[0].state == State::kUnseen ? Known()
                                             : Meet(operands[1], operands[2]);
}

}  // namespace

Known Meet(const Known& a, const Known& b) {
  if (a.state == State::kUnseen || a == b) {
    return b;
  }
  return b.state == State::kUnseen ? a : Known::Varies();
}

bool CanFold(spv::Op op, const NumericType& result,
             const NumericType& operand) {
  if (op == spv::Op::OpSelect) {
    return operand.kind == Kind::kBool;  // not a vector of them
  }
  if (op == spv::Op::OpCopyObject) {
    return true;
  }
  if (IsLogical(op)) {
    return result.kind == Kind::kBool && operand.kind == Kind::kBool;
  }
  if (IsIntegerComparison(op) || IsIntegerOperation(op)) {
    return operand.kind == Kind::kInt;
  }
  return IsFloatComparison(op) && operand.kind == Kind::kFloat;
}

Known Fold(spv::Op op, const NumericType& result, const NumericType& operand,
           std::span<const Known> operands) {
  if (op == spv::Op::OpSelect) {
    return FoldSelect(operands);
  }
  if (op == spv::Op::OpCopyObject) {
    return operands[0];
  }
  if (const std::optional<Known> absorbed = Absorb(op, operands)) {
    return *absorbed;
  }
  State worst = State::kValue;
  for (const Known& known : operands) {
    if (known.state == State::kUnseen) {
      return Known();
    }
    worst = std::max(worst, known.state);
  }
  if (worst == State::kVaries || !IsDefined(op, operands, operand)) {
    return Known::Varies();
  }
  if (IsFloatComparison(op)) {
    return CompareFloats(op, operands[0], operands[1], operand.bits);
  }
  std::vector<shaders::NumericValue> values;
  for (const Known& known : operands) {
    values.push_back({operand, {known.bits}});
  }
  const std::optional<shaders::Lanes> lanes =
      shaders::Compute(static_cast<uint32_t>(op), result, values, {});
  return lanes && lanes->size() == 1 ? Known::Value((*lanes)[0])
                                     : Known::Varies();
}

std::optional<size_t> CopiedOperand(spv::Op op,
                                    std::span<const Known> operands) {
  // What changes nothing: `true` of an and, `false` of an or.
  const auto is_idle = [&](size_t operand) {
    return operands[operand].IsValue() &&
           (operands[operand].bits != 0) == (op == spv::Op::OpLogicalAnd);
  };
  switch (op) {
    case spv::Op::OpSelect:
      return operands[0].IsValue()
                 ? std::optional<size_t>(operands[0].bits != 0 ? 1 : 2)
                 : std::nullopt;
    case spv::Op::OpCopyObject:
      return 0;
    case spv::Op::OpLogicalAnd:
    case spv::Op::OpLogicalOr:
      return is_idle(0)   ? std::optional<size_t>(1)
             : is_idle(1) ? std::optional<size_t>(0)
                          : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace kiln::specialise
