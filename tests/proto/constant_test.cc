// SPDX-License-Identifier: Apache-2.0
#include "proto/constant.h"

#include <bit>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace kiln {
namespace {

using testing::kInvalid;
using testing::StatusIs;

struct Example {
  const char* type;
  const char* text;
  uint64_t bits;
};

TEST(ConstantTest, EveryTypeReadsAndWritesItsExtremes) {
  const std::vector<Example> examples = {
      {"bool", "true", 1},
      {"bool", "false", 0},
      {"int8", "-128", 0x80},
      {"int8", "127", 0x7f},
      {"uint8", "255", 0xff},
      {"int16", "-32768", 0x8000},
      {"uint16", "65535", 0xffff},
      {"int", "-2147483648", 0x80000000},
      {"uint", "4294967295", 0xffffffff},
      {"int64", "-9223372036854775808", 0x8000000000000000},
      {"int64", "9223372036854775807", 0x7fffffffffffffff},
      {"uint64", "18446744073709551615", 0xffffffffffffffff},
      {"float16", "1", 0x3c00},
      {"float16", "-2.5", 0xc100},
      {"float16", "65504", 0x7bff},
      {"float16", "0", 0},
      {"float", "0.5", 0x3f000000},
      {"float64", "-0.1", std::bit_cast<uint64_t>(-0.1)},
  };
  for (const Example& example : examples) {
    ASSERT_OK_AND_ASSIGN(const ConstantType type,
                         ConstantTypeFromName(example.type));
    EXPECT_EQ(ConstantTypeName(type), example.type);
    ASSERT_OK_AND_ASSIGN(const uint64_t bits,
                         ParseConstant(type, example.text));
    EXPECT_EQ(bits, example.bits) << example.type << " " << example.text;
    EXPECT_EQ(FormatConstant(type, bits), example.text) << example.type;
    EXPECT_OK(CheckConstant(type, bits));
  }
}

TEST(ConstantTest, WhatATypeCannotHoldIsRefused) {
  const std::vector<Example> refused = {
      {"bool", "2", 0},
      {"bool", "yes", 0},
      {"int8", "128", 0},
      {"int8", "-129", 0},
      {"uint8", "256", 0},
      {"uint8", "-1", 0},
      {"uint16", "65536", 0},
      {"int", "2147483648", 0},
      {"uint", "4294967296", 0},
      {"uint64", "18446744073709551616", 0},
      {"int64", "-9223372036854775809", 0},
      {"float16", "65520", 0},
      {"float", "1e39", 0},
      {"float64", "1e400", 0},
      {"float", "nan", 0},
      {"float", "inf", 0},
      {"uint", "", 0},
      {"uint", "4 ", 0},
      {"uint", "4.0", 0},
      {"int", "--3", 0},
      {"int", "-", 0},
      {"uint", "0x", 0},
      {"float", "1.0f", 0},
  };
  for (const Example& example : refused) {
    EXPECT_THAT(
        ParseConstant(*ConstantTypeFromName(example.type), example.text),
        StatusIs(kInvalid))
        << example.type << " '" << example.text << "'";
  }
  EXPECT_THAT(ConstantTypeFromName("half"), StatusIs(kInvalid, "float16"));
}

TEST(ConstantTest, EveryHalfComesBackFromItsText) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const bool finite = (bits & 0x7c00) != 0x7c00;
    EXPECT_EQ(CheckConstant(ConstantType::kFloat16, bits).ok(), finite);
    if (finite) {
      const std::string text = FormatConstant(ConstantType::kFloat16, bits);
      ASSERT_EQ(ParseConstant(ConstantType::kFloat16, text).value_or(99999),
                bits)
          << text;
    }
  }
}

TEST(ConstantTest, ValuesAreOrderedAsNumbersNotAsBits) {
  auto less = [](const char* name, const char* a, const char* b) {
    const ConstantType type = *ConstantTypeFromName(name);
    return CompareConstants(type, *ParseConstant(type, a),
                            *ParseConstant(type, b)) < 0;
  };
  EXPECT_TRUE(less("int8", "-1", "1"));
  EXPECT_TRUE(less("int64", "-9000000000", "3"));
  EXPECT_TRUE(less("float", "-2", "-1"));
  EXPECT_TRUE(less("float16", "-2", "0.5"));
  EXPECT_TRUE(less("uint", "1", "4294967295"));
  EXPECT_TRUE(CompareConstants(ConstantType::kFloat32, 0x80000000, 0) == 0)
      << "-0.0 and 0.0 are one number";
}

TEST(ConstantTest, BitsOutsideTheTypeAreRefused) {
  EXPECT_THAT(CheckConstant(ConstantType::kUint8, 0x100), StatusIs(kInvalid));
  EXPECT_THAT(CheckConstant(ConstantType::kInt32, ~uint64_t{0}),
              StatusIs(kInvalid));
  EXPECT_THAT(CheckConstant(ConstantType::kBool, 2), StatusIs(kInvalid));
  EXPECT_THAT(CheckConstant(ConstantType::kFloat32, 0x7f800000),
              StatusIs(kInvalid));
}

}  // namespace
}  // namespace kiln
