// SPDX-License-Identifier: Apache-2.0

// KNOWN_FAULTS 15: a request's values, frozen into the module.

#include "shaders/freeze.h"

#include <bit>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program_file.h"
#include "shaders/reflection.h"
#include "tests/shaders/constant_programs.h"
#include "tests/support/status_matchers.h"

namespace kiln::shaders {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Type = ConstantType;

// Opcodes of all instructions.
std::vector<uint16_t> Opcodes(std::span<const uint32_t> spirv) {
  std::vector<uint16_t> opcodes;
  EXPECT_TRUE(ForEachInstruction(spirv, [&](const Instruction& instruction) {
    opcodes.push_back(instruction.opcode);
  }));
  return opcodes;
}

constexpr uint16_t kFirstSpecConstant = 48;  // OpSpecConstantTrue
constexpr uint16_t kLastSpecConstant = 52;   // OpSpecConstantOp

size_t SpecConstants(std::span<const uint32_t> spirv) {
  size_t count = 0;
  for (const uint16_t opcode : Opcodes(spirv)) {
    count += opcode >= kFirstSpecConstant && opcode <= kLastSpecConstant;
  }
  return count;
}

// What `Result` is once a fragment module with these declarations is frozen.
// Checks that nothing is left to specialize and that the module is valid.
std::optional<uint64_t> Frozen(std::string_view declarations,
                               const std::vector<Constant>& constants) {
  const std::vector<uint32_t> spirv = FragmentModule(fmt::format(
      "{}\nvoid main() {{ color = vec4(float(Result)); }}", declarations));
  const auto frozen = FreezeConstants(spirv, constants, Revalidation::kAlways);
  EXPECT_OK(frozen);
  if (!frozen.ok()) {
    return std::nullopt;
  }
  EXPECT_EQ(SpecConstants(*frozen), 0u) << declarations;
  EXPECT_THAT(SpecializationIds(*frozen), IsEmpty());
  return ValueOf(*frozen, "Result");
}

TEST(FreezeTest, ValueOfEveryTypeIsSetByIdAndByName) {
  struct Case {
    std::string_view glsl;
    std::string_view initial;
    Type type;
    uint64_t value;
  };

  for (const Case& c : std::vector<Case>{
           {"int8_t", "int8_t(1)", Type::kInt8, 0x80},
           {"uint8_t", "uint8_t(1)", Type::kUint8, 0xff},
           {"int16_t", "int16_t(1)", Type::kInt16, 0x8000},
           {"uint16_t", "uint16_t(1)", Type::kUint16, 0xffff},
           {"int", "1", Type::kInt32, 0x80000000},
           {"uint", "1u", Type::kUint32, 0xffffffff},
           {"int64_t", "1l", Type::kInt64, 0x8000000000000000},
           {"uint64_t", "1ul", Type::kUint64, 0xffffffffffffffff},
           {"float16_t", "1.0hf", Type::kFloat16, 0xfbff},
           {"float", "1.0", Type::kFloat32, 0x80000001},
           {"double", "1.0lf", Type::kFloat64, 0x000fffffffffffff},
           {"bool", "true", Type::kBool, 0},
           {"bool", "false", Type::kBool, 1}}) {
    const std::string text = fmt::format(
        "layout(constant_id = 9) const {} Result = {};", c.glsl, c.initial);
    EXPECT_EQ(Frozen(text, {ById(9, c.type, c.value)}), c.value) << c.glsl;
    EXPECT_EQ(Frozen(text, {ByName("Result", c.type, c.value)}), c.value)
        << c.glsl;
  }
}

TEST(FreezeTest, NarrowSignedLiteralIsSignExtendedAndNoOther) {
  const std::vector<uint32_t> spirv = FragmentModule(R"(
layout(constant_id = 0) const int8_t a = int8_t(1);
layout(constant_id = 1) const uint16_t b = uint16_t(1);
layout(constant_id = 2) const int16_t c = int16_t(1);
void main() { color = vec4(float(a) + float(b) + float(c)); })");
  const auto frozen = FreezeConstants(
      spirv, std::vector<Constant>{ById(0, Type::kInt8, 0xfe),
                                   ById(1, Type::kUint16, 0xfffe),
                                   ById(2, Type::kInt16, 0xfffe)});
  ASSERT_OK(frozen);
  std::vector<uint32_t> words;
  ForEachInstruction(*frozen, [&](const Instruction& instruction) {
    constexpr uint16_t kOpConstant = 43;
    if (instruction.opcode == kOpConstant && instruction.words.size() == 4) {
      words.push_back(instruction.word(3));
    }
  });
  EXPECT_THAT(words, Contains(0xfffffffe).Times(2));
  EXPECT_THAT(words, Contains(0x0000fffe).Times(1));
}

// What constant expressions of GLSL give. SPIRV-Tools 2023.1 leaves those
// marked * as they are.
TEST(FreezeTest, ConstantExpressionsAreComputed) {
  constexpr std::string_view kInputs = R"(
layout(constant_id = 0) const int i = 0;
layout(constant_id = 1) const uint u = 0u;
layout(constant_id = 2) const int64_t l = 0l;
layout(constant_id = 3) const uint64_t m = 0ul;
layout(constant_id = 4) const int8_t t = int8_t(0);
layout(constant_id = 5) const uint16_t w = uint16_t(0);
layout(constant_id = 6) const bool b = false;
layout(constant_id = 7) const float f = 0.0;
layout(constant_id = 8) const double d = 0.0lf;
)";
  const std::vector<Constant> values = {
      Int(0, -7),
      Uint(1, 0xfffffff0),
      ById(2, Type::kInt64, static_cast<uint64_t>(int64_t{-1} << 40)),
      ById(3, Type::kUint64, uint64_t{0xf} << 60),
      ById(4, Type::kInt8, 0x80),
      ById(5, Type::kUint16, 0xfff0),
      ById(6, Type::kBool, 1),
      ById(7, Type::kFloat32, std::bit_cast<uint32_t>(1.5F)),
      ById(8, Type::kFloat64, std::bit_cast<uint64_t>(0.1))};
  const auto bits32 = [](int32_t value) {
    return uint64_t{static_cast<uint32_t>(value)};
  };

  struct Case {
    std::string_view type;
    std::string_view expression;
    uint64_t value;
  };

  for (const Case& c : std::vector<Case>{
           {"int", "i + 3", bits32(-4)},
           {"int", "i * i - 1", 48},
           {"int", "i / 2", bits32(-3)},
           {"int", "i % 4", bits32(-7 + 8)},  // undefined sign: OpSMod
           {"int", "-i", 7},
           {"int", "~i", 6},
           {"int", "i >> 1", bits32(-4)},
           {"uint", "u >> 4u", 0x0fffffff},
           {"uint", "u << 4u", 0xffffff00},
           {"uint", "u / 16u", 0x0fffffff},
           {"uint", "u % 7u", 0xfffffff0 % 7},
           {"uint", "u + 32u", 16},
           {"uint", "(u & 0xffu) | (u ^ 0xf0u)", 0xfffffff0},
           {"bool", "i < 0", 1},
           {"bool", "uint(i) < 5u", 0},
           {"bool", "b == (u >= 16u)", 1},
           {"bool", "!b", 0},
           {"int", "b ? i : 3", bits32(-7)},
           {"float", "b ? f : 0.0", std::bit_cast<uint32_t>(1.5F)},
           {"int64_t", "l / 3l", static_cast<uint64_t>(-366503875925)},  // *
           {"int64_t", "l >> 36", static_cast<uint64_t>(-16)},           // *
           {"uint64_t", "m >> 60", 0xf},                                 // *
           {"uint64_t", "m | 1ul", (uint64_t{0xf} << 60) | 1},           // *
           {"bool", "(m & (1ul << 63)) != 0ul", 1},                      // *
           {"bool", "l < 0l", 1},                                        // *
           {"int", "int(t) + 1", bits32(-127)},                          // *
           {"int", "int(w)", 0xfff0},                                    // *
           {"uint64_t", "uint64_t(u)", 0xfffffff0},                      // *
           {"int64_t", "int64_t(i)", static_cast<uint64_t>(-7)},         // *
           {"int", "int(l >> 38)", bits32(-4)},                          // *
           {"int8_t", "t - int8_t(1)", 0x7f},                            // *
           {"uint16_t", "w + uint16_t(17)", 1},                          // *
           {"double", "double(f)", std::bit_cast<uint64_t>(1.5)},        // *
           {"float", "float(d)", std::bit_cast<uint32_t>(0.1F)},         // *
           {"float16_t", "float16_t(f)", 0x3e00},                        // *
           {"int", "(ivec3(i, 2, 3) * 2).zyx.y", 4},
           {"int", "(ivec2(i, 2) + ivec2(1, i)).x", bits32(-6)},
           {"int", "mat2x2(1, 2, 3, 4)[1][0] > 2.0 ? i : 0", bits32(-7)},
           {"int", "i / (i + 7)", 0},  // undefined; must not trap
       }) {
    EXPECT_EQ(Frozen(fmt::format("{}const {} Result = {};", kInputs, c.type,
                                 c.expression),
                     values),
              c.value)
        << c.expression;
  }
}

TEST(FreezeTest, ValuesNotGivenAreTheDefaults) {
  EXPECT_EQ(Frozen("layout(constant_id = 0) const int a = 5;\n"
                   "layout(constant_id = 1) const int c = 100;\n"
                   "const int Result = a + c;",
                   {Int(0, 7)}),
            107u);
}

TEST(FreezeTest, IntegerOfAnotherTypeIsTakenWhereItsNumberFits) {
  constexpr std::string_view kText =
      "layout(constant_id = 0) const int64_t Result = 5l;";
  EXPECT_EQ(Frozen(kText, {Int(0, -2)}), uint64_t{0} - 2);
  EXPECT_EQ(Frozen(kText, {Uint(0, 4000000000)}), 4000000000u);
}

// The status of freezing one `int n`, `uint u`, `bool b` and `float f`.
absl::Status Refusal(const std::vector<Constant>& constants) {
  return FreezeConstants(FragmentModule(R"(
layout(constant_id = 0) const int n = 5;
layout(constant_id = 1) const uint u = 5;
layout(constant_id = 2) const bool b = true;
layout(constant_id = 3) const float f = 5;
void main() { color = vec4(n + float(u) + f + (b ? 1 : 0)); })"),
                         constants)
      .status();
}

TEST(FreezeTest, UnknownIdOrNameIsRefused) {
  EXPECT_THAT(Refusal({Int(99, 1)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "no specialization constant with constant_id 99"));
  EXPECT_THAT(
      Refusal({ById(98, Type::kInt32, 1, "samples")}),
      StatusIs(absl::StatusCode::kInvalidArgument, "constant_id 98, samples"));
  EXPECT_THAT(Refusal({ByName("m", Type::kInt32, 1)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "no specialization constant 'm'"));
  EXPECT_THAT(Refusal({ByName("", Type::kInt32, 1)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "no specialization constant ''"));
}

TEST(FreezeTest, ValueThatDoesNotFitItsTypeIsRefusedWithBoth) {
  EXPECT_THAT(Refusal({ById(0, Type::kUint32, 0xffffffff, "n")}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("constant n = 4294967295"),
                             HasSubstr("2147483647"))));
  EXPECT_THAT(Refusal({Int(1, -1)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("constant u = -1"),
                             HasSubstr("out of the range"))));
  EXPECT_THAT(Refusal({Uint(2, 2)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "'2'"));
  EXPECT_THAT(Refusal({Uint(3, 1)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the module declares it float, the value is uint"));
  EXPECT_THAT(Refusal({ById(3, Type::kFloat64, 0)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the module declares it float"));
  EXPECT_THAT(Refusal({ById(0, Type::kBool, 1)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the module declares it int, the value is bool"));
  EXPECT_THAT(Refusal({ById(1, Type::kUint32, uint64_t{1} << 32)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "more bits"));
}

TEST(FreezeTest, ConstantGivenTwiceIsRefused) {
  EXPECT_THAT(Refusal({Int(0, 1), Int(0, 1)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "constant_id 0 is given twice"));
  EXPECT_THAT(Refusal({Int(0, 1), ByName("n", Type::kInt32, 2)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "given twice"));
}

TEST(FreezeTest, NameOfTwoConstantsIsRefusedWithTheirIds) {
  // One at file scope, one that a macro would make: names are only debug data.
  std::vector<uint32_t> spirv = FragmentModule(R"(
layout(constant_id = 4) const int n = 5;
layout(constant_id = 6) const int m = 5;
void main() { color = vec4(n * m); })");
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    constexpr uint16_t kOpName = 5;
    if (instruction.opcode == kOpName && LiteralText(instruction, 2) == "m") {
      spirv[static_cast<size_t>(&instruction.words[2] - spirv.data())] = 'n';
    }
  });
  EXPECT_THAT(FreezeConstants(
                  spirv, std::vector<Constant>{ByName("n", Type::kInt32, 1)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "ids 4, 6"));
  EXPECT_OK(FreezeConstants(spirv, std::vector<Constant>{Int(4, 1)}));
}

TEST(FreezeTest, WorkgroupAndWhatIsSizedByItFollowTheValue) {
  const std::vector<uint32_t> spirv = ComputeModule(
      "layout(local_size_x_id = 5, local_size_y = 2) in;\n"
      "layout(constant_id = 5) const uint Size = 1;\n"
      "const uint Result = gl_WorkGroupSize.x * gl_WorkGroupSize.y;\n"
      "shared float tile[Result];",
      "tile[gl_LocalInvocationIndex] = 1.0; barrier();\n"
      "result[0] = tile[0] + float(Result) + float(Size);");
  const auto frozen = FreezeConstants(spirv, std::vector<Constant>{Uint(5, 48)},
                                      Revalidation::kAlways);
  ASSERT_OK(frozen);
  EXPECT_EQ(SpecConstants(*frozen), 0u);
  EXPECT_EQ(ValueOf(*frozen, "Result"), 96u);
  EXPECT_EQ(ValueOf(*frozen, "Size"), 48u);
  const auto ids = WorkgroupSizeIds(*frozen);
  ASSERT_OK(ids);
  EXPECT_EQ((*ids)[0], std::nullopt);
}

TEST(FreezeTest, InvalidModuleIsRefusedWithTheValuesThatMadeIt) {
  // The offset of `tail` is that behind four rows, whatever `rows` is.
  const std::vector<uint32_t> spirv = ComputeModule(
      "layout(constant_id = 2) const int rows = 4;\n"
      "layout(std430, binding = 1) buffer Input { float row[rows]; float tail; "
      "};",
      "result[0] = row[0] + tail;");
  EXPECT_OK(FreezeConstants(spirv, {}));
  EXPECT_OK(FreezeConstants(spirv, std::vector<Constant>{Int(2, 3)}));
  EXPECT_THAT(FreezeConstants(spirv, std::vector<Constant>{Int(2, 5)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("with constant rows = 5 the module is "
                                       "invalid"),
                             HasSubstr("overlaps"))));
  EXPECT_OK(FreezeConstants(spirv, std::vector<Constant>{Int(2, 5)},
                            Revalidation::kNever));
}

TEST(FreezeTest, SizesThatNoDeviceHasAreRefusedByName) {
  const std::vector<uint32_t> spirv = ComputeModule(
      "layout(constant_id = 0) const int n = 16;",
      "float p[n]; p[int(result[1])] = 2.0; result[0] = p[int(result[2])];");
  EXPECT_THAT(FreezeConstants(spirv, std::vector<Constant>{Int(0, -1)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "constant n = -1: array `p` would have -1 elements"));
}

TEST(FreezeTest, WordsThatAreNoModuleAreRefused) {
  EXPECT_THAT(FreezeConstants({}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "no SPIR-V"));
  std::vector<uint32_t> cut = FragmentModule("void main() {}");
  cut.pop_back();
  cut.back() = 9u << 16;
  EXPECT_THAT(FreezeConstants(cut, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "no SPIR-V"));
}

TEST(FreezeTest, DamagedModuleIsReadToItsEndAndNoFurther) {
  const std::vector<uint32_t> spirv = ComputeModule(
      "layout(local_size_x_id = 5) in;\n"
      "layout(constant_id = 0) const int n = 4;\n"
      "const ivec3 v = ivec3(n, 2, n) * 2;\n"
      "struct Cell { float items[n]; };\nshared Cell cells[v.y];",
      "cells[0].items[0] = 1.0; barrier(); result[0] = cells[1].items[v.z];");
  std::mt19937 random(15);  // NOLINT: the same damage in every run
  size_t refused = 0;
  for (int run = 0; run < 20000; ++run) {
    std::vector<uint32_t> damaged = spirv;
    for (int edit = 0; edit < 3; ++edit) {
      const size_t at =
          kSpirvHeaderWords + random() % (damaged.size() - kSpirvHeaderWords);
      switch (random() % 3) {
        case 0:
          damaged[at] ^= 1U << (random() % 32);
          break;
        case 1:
          damaged[at] = random() % 120;  // mostly another id
          break;
        default:
          damaged[at] = damaged[random() % damaged.size()];
          break;
      }
    }
    refused += !FreezeConstants(damaged, {}, Revalidation::kNever).ok();
  }
  EXPECT_GT(refused, 0u);
}

TEST(FreezeTest, FrozenSceneIsValidAndKeepsItsNames) {
  const auto scene =
      LoadProgramFile(KILN_SOURCE_DIR "/shaders/scene/scene.program.toml");
  ASSERT_OK(scene);
  const std::vector<uint32_t> spirv = ModuleOf(*scene, Stage::kFragment);
  for (const uint32_t features : {0U, 1U << 4, 0x1ffffU}) {
    const auto frozen = FreezeConstants(
        spirv, std::vector<Constant>{Uint(0, 1), Uint(1, 1), Uint(2, features)},
        Revalidation::kAlways);
    ASSERT_OK(frozen);
    EXPECT_EQ(SpecConstants(*frozen), 0u);
    EXPECT_EQ(ValueOf(*frozen, "UsesLightmap"), features >> 4 & 1);
    EXPECT_EQ(ValueOf(*frozen, "Features"), features);
  }
}

TEST(FreezeTest, FreezingAFrozenModuleChangesNothing) {
  const std::vector<uint32_t> spirv = FragmentModule(R"(
layout(constant_id = 0) const int n = 5;
const ivec2 Pair = ivec2(n, 2) * 3;
void main() { color = vec4(Pair, Pair); })");
  const auto once = FreezeConstants(spirv, {});
  ASSERT_OK(once);
  EXPECT_NE(*once, spirv);
  const auto twice = FreezeConstants(*once, {});
  ASSERT_OK(twice);
  EXPECT_EQ(*twice, *once);
}

}  // namespace
}  // namespace kiln::shaders
