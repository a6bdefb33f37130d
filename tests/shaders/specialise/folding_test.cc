// SPDX-License-Identifier: Apache-2.0

#include "shaders/specialise/folding.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "shaders/constant_arithmetic.h"

namespace kiln::specialise {
namespace {

using shaders::NumericType;
using spv::Op;
using Kind = NumericType::Kind;

constexpr NumericType kBool = {Kind::kBool, 1, false};

Known FoldTwo(Op op, const NumericType& result, const NumericType& type,
              uint64_t a, uint64_t b) {
  EXPECT_TRUE(CanFold(op, result, type));
  return Fold(op, result, type, std::vector{Known::Value(a), Known::Value(b)});
}

TEST(FoldingTest, IntegersOfEveryWidthAndSignWrapAndCompareAsTheyShould) {
  for (const uint32_t bits : {8u, 16u, 32u, 64u}) {
    for (const bool is_signed : {false, true}) {
      SCOPED_TRACE(fmt::format("{} bits, signed {}", bits, is_signed));
      const NumericType type = {Kind::kInt, bits, is_signed};
      const uint64_t ones =
          bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
      const uint64_t least = uint64_t{1} << (bits - 1);
      const auto number = [&](Op op, uint64_t a, uint64_t b) {
        return FoldTwo(op, type, type, a, b);
      };
      const auto test = [&](Op op, uint64_t a, uint64_t b) {
        return FoldTwo(op, kBool, type, a, b);
      };
      EXPECT_EQ(number(Op::OpIAdd, ones, 2), Known::Value(1));
      EXPECT_EQ(number(Op::OpISub, 1, 2), Known::Value(ones));
      EXPECT_EQ(number(Op::OpIMul, least, 2), Known::Value(0));
      EXPECT_EQ(number(Op::OpUDiv, ones, 2), Known::Value(ones >> 1));
      EXPECT_EQ(number(Op::OpUMod, 7, 4), Known::Value(3));
      EXPECT_EQ(number(Op::OpSDiv, ones, 1), Known::Value(ones));
      EXPECT_EQ(number(Op::OpSRem, 7, 4), Known::Value(3));
      EXPECT_EQ(number(Op::OpBitwiseAnd, ones, 6), Known::Value(6));
      EXPECT_EQ(number(Op::OpBitwiseOr, 1, 6), Known::Value(7));
      EXPECT_EQ(number(Op::OpBitwiseXor, ones, 1), Known::Value(ones - 1));
      EXPECT_EQ(number(Op::OpShiftLeftLogical, 3, bits - 1),
                Known::Value(least));
      EXPECT_EQ(number(Op::OpShiftRightLogical, least, bits - 1),
                Known::Value(1));
      EXPECT_EQ(number(Op::OpShiftRightArithmetic, least, bits - 1),
                Known::Value(ones));
      EXPECT_EQ(test(Op::OpIEqual, ones, ones), Known::Value(1));
      EXPECT_EQ(test(Op::OpINotEqual, ones, ones), Known::Value(0));
      EXPECT_EQ(test(Op::OpULessThan, 1, ones), Known::Value(1));
      EXPECT_EQ(test(Op::OpUGreaterThanEqual, 1, ones), Known::Value(0));
      EXPECT_EQ(test(Op::OpSLessThan, 1, ones), Known::Value(0));
      EXPECT_EQ(test(Op::OpSGreaterThan, 1, least), Known::Value(1));
      EXPECT_EQ(test(Op::OpSLessThanEqual, least, ones), Known::Value(1));
    }
  }
}

TEST(FoldingTest, WhatSpirvLeavesUndefinedVaries) {
  const NumericType type = {Kind::kInt, 32, true};
  const uint64_t least = 0x80000000;
  const uint64_t ones = 0xffffffff;
  const auto number = [&](Op op, uint64_t a, uint64_t b) {
    return FoldTwo(op, type, type, a, b);
  };
  EXPECT_EQ(number(Op::OpSDiv, 1, 0), Known::Varies());
  EXPECT_EQ(number(Op::OpUDiv, 1, 0), Known::Varies());
  EXPECT_EQ(number(Op::OpUMod, 1, 0), Known::Varies());
  EXPECT_EQ(number(Op::OpSDiv, least, ones), Known::Varies());
  EXPECT_EQ(number(Op::OpSRem, ones, 3), Known::Varies());
  EXPECT_EQ(number(Op::OpSMod, 5, ones), Known::Varies());
  EXPECT_EQ(number(Op::OpShiftLeftLogical, 1, 32), Known::Varies());
}

TEST(FoldingTest, OneOperandMayDecide) {
  const NumericType type = {Kind::kInt, 32, false};
  const Known varies = Known::Varies();
  const Known unseen;
  EXPECT_EQ(Fold(Op::OpLogicalAnd, kBool, kBool,
                 std::vector{varies, Known::Value(0)}),
            Known::Value(0));
  EXPECT_EQ(
      Fold(Op::OpLogicalOr, kBool, kBool, std::vector{Known::Value(1), varies}),
      Known::Value(1));
  EXPECT_EQ(Fold(Op::OpLogicalAnd, kBool, kBool,
                 std::vector{varies, Known::Value(1)}),
            varies);
  EXPECT_EQ(
      Fold(Op::OpBitwiseAnd, type, type, std::vector{varies, Known::Value(0)}),
      Known::Value(0));
  EXPECT_EQ(
      Fold(Op::OpBitwiseOr, type, type, std::vector{varies, Known::Value(0)}),
      varies);
  EXPECT_EQ(Fold(Op::OpLogicalNot, kBool, kBool, std::vector{Known::Value(1)}),
            Known::Value(0));
  EXPECT_EQ(Fold(Op::OpIAdd, type, type, std::vector{unseen, varies}), unseen);
  EXPECT_EQ(Fold(Op::OpSelect, type, kBool,
                 std::vector{Known::Value(0), varies, Known::Value(4)}),
            Known::Value(4));
  EXPECT_EQ(Fold(Op::OpSelect, type, kBool,
                 std::vector{varies, Known::Value(4), Known::Value(4)}),
            Known::Value(4));
  EXPECT_EQ(Fold(Op::OpSelect, type, kBool,
                 std::vector{varies, Known::Value(4), Known::Value(5)}),
            varies);
}

TEST(FoldingTest, FloatsAreComparedOnlyWhereEveryDeviceAgrees) {
  const auto bits32 = [](float value) {
    return uint64_t{std::bit_cast<uint32_t>(value)};
  };
  const auto bits64 = [](double value) {
    return std::bit_cast<uint64_t>(value);
  };
  const NumericType half = {Kind::kFloat, 16, false};
  const NumericType single = {Kind::kFloat, 32, false};
  const NumericType twice = {Kind::kFloat, 64, false};
  EXPECT_EQ(FoldTwo(Op::OpFOrdLessThan, kBool, single, bits32(-1), bits32(2)),
            Known::Value(1));
  EXPECT_EQ(
      FoldTwo(Op::OpFUnordGreaterThan, kBool, single, bits32(0), bits32(0.5F)),
      Known::Value(0));
  EXPECT_EQ(FoldTwo(Op::OpFOrdEqual, kBool, single, bits32(0), bits32(-0.F)),
            Known::Value(1));
  EXPECT_EQ(FoldTwo(Op::OpFOrdNotEqual, kBool, twice, bits64(0.1), bits64(0.2)),
            Known::Value(1));
  EXPECT_EQ(FoldTwo(Op::OpFOrdGreaterThanEqual, kBool, half, 0x3c00, 0xbc00),
            Known::Value(1));
  // Not a number, infinite, or so small that a device may take it for zero.
  for (const uint64_t odd :
       {bits32(std::nanf("")), bits32(std::numeric_limits<float>::infinity()),
        uint64_t{1}}) {
    EXPECT_EQ(FoldTwo(Op::OpFOrdEqual, kBool, single, odd, bits32(1)),
              Known::Varies());
  }
  EXPECT_EQ(FoldTwo(Op::OpFOrdLessThan, kBool, half, 1, 0x3c00),
            Known::Varies());
  EXPECT_EQ(FoldTwo(Op::OpFOrdLessThan, kBool, twice, 1, bits64(1)),
            Known::Varies());
  EXPECT_FALSE(CanFold(Op::OpFAdd, single, single));
  EXPECT_FALSE(CanFold(Op::OpFMul, single, single));
}

TEST(FoldingTest, CopiesAreFoundWhereAnOperandChangesNothing) {
  const Known varies = Known::Varies();
  EXPECT_EQ(
      CopiedOperand(Op::OpLogicalAnd, std::vector{Known::Value(1), varies}),
      1u);
  EXPECT_EQ(
      CopiedOperand(Op::OpLogicalOr, std::vector{varies, Known::Value(0)}), 0u);
  EXPECT_EQ(CopiedOperand(Op::OpLogicalOr, std::vector{varies, varies}),
            std::nullopt);
  EXPECT_EQ(
      CopiedOperand(Op::OpSelect, std::vector{Known::Value(0), varies, varies}),
      2u);
  EXPECT_EQ(CopiedOperand(Op::OpFAdd, std::vector{Known::Value(0), varies}),
            std::nullopt);
}

}  // namespace
}  // namespace kiln::specialise
