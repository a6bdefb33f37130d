// SPDX-License-Identifier: Apache-2.0

// KNOWN_FAULTS 34: which specialization constants a module has, and which of
// them change nothing.

#include "shaders/reflection.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program_file.h"
#include "tests/shaders/constant_programs.h"
#include "tests/support/status_matchers.h"

namespace kiln::shaders {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Whether each constant is used, by id.
std::map<uint32_t, bool> UsedIds(std::span<const uint32_t> spirv) {
  std::map<uint32_t, bool> used;
  const auto constants = ReflectConstants(spirv);
  EXPECT_OK(constants);
  if (constants.ok()) {
    for (const ReflectedConstant& constant : *constants) {
      used[constant.id] = constant.used;
    }
  }
  return used;
}

using Used = std::map<uint32_t, bool>;

TEST(ReflectionTest, EveryScalarTypeHasItsNameTypeAndDefault) {
  const std::vector<uint32_t> spirv = FragmentModule(R"(
layout(constant_id = 11) const double Wide = -2.25lf;
layout(constant_id = 0) const bool Yes = true;
layout(constant_id = 1) const int8_t Tiny = int8_t(-3);
layout(constant_id = 2) const uint8_t Byte = uint8_t(200);
layout(constant_id = 3) const int16_t Short = int16_t(-32768);
layout(constant_id = 4) const uint16_t Word = uint16_t(65535);
layout(constant_id = 5) const int Signed = -5;
layout(constant_id = 6) const uint Unsigned = 0xffffffffu;
layout(constant_id = 7) const int64_t Long = -5l;
layout(constant_id = 8) const uint64_t Mask = 0x8000000000000001ul;
layout(constant_id = 9) const float16_t Half = 1.5hf;
layout(constant_id = 10) const float Single = -0.5;
void main() {
  color = vec4(float(Wide) + float(Tiny) + float(Byte) + float(Short) +
               float(Word) + float(Signed) + float(Unsigned) + float(Long) +
               float(Mask) + float(Half) + Single + (Yes ? 1.0 : 0.0));
})");
  const auto constants = ReflectConstants(spirv);
  ASSERT_OK(constants);
  EXPECT_THAT(
      *constants,
      ElementsAre(
          ReflectedConstant{0, "Yes", ConstantType::kBool, 1, true},
          ReflectedConstant{1, "Tiny", ConstantType::kInt8, 0xfd, true},
          ReflectedConstant{2, "Byte", ConstantType::kUint8, 200, true},
          ReflectedConstant{3, "Short", ConstantType::kInt16, 0x8000, true},
          ReflectedConstant{4, "Word", ConstantType::kUint16, 0xffff, true},
          ReflectedConstant{5, "Signed", ConstantType::kInt32, 0xfffffffb,
                            true},
          ReflectedConstant{6, "Unsigned", ConstantType::kUint32, 0xffffffff,
                            true},
          ReflectedConstant{7, "Long", ConstantType::kInt64, uint64_t{0} - 5,
                            true},
          ReflectedConstant{8, "Mask", ConstantType::kUint64,
                            0x8000000000000001, true},
          ReflectedConstant{9, "Half", ConstantType::kFloat16, 0x3e00, true},
          ReflectedConstant{10, "Single", ConstantType::kFloat32, 0xbf000000,
                            true},
          ReflectedConstant{11, "Wide", ConstantType::kFloat64,
                            std::bit_cast<uint64_t>(-2.25), true}));
}

TEST(ReflectionTest, ConstantThatNothingReadsIsUnused) {
  EXPECT_EQ(UsedIds(FragmentModule(R"(
layout(constant_id = 0) const bool useFog = false;
layout(constant_id = 1) const int neverRead = 7;
layout(constant_id = 2) const float onlyWhenFog = 0.5;
void main() { color = useFog ? vec4(onlyWhenFog) : vec4(0); })")),
            (Used{{0, true}, {1, false}, {2, true}}));
}

TEST(ReflectionTest, ConstantReadByDeadCodeOnlyIsUnused) {
  EXPECT_EQ(UsedIds(FragmentModule(R"(
layout(constant_id = 0) const int inUncalled = 1;
layout(constant_id = 1) const int inDeadLocal = 2;
layout(constant_id = 2) const int inUnreadConstant = 3;
layout(constant_id = 3) const int inReadConstant = 4;
layout(constant_id = 4) const bool inBranch = true;
const int unread = inUnreadConstant * 2;
const int readLater = inReadConstant * 2;
float Uncalled() { return float(inUncalled); }
void main() {
  float dead = float(inDeadLocal);
  color = vec4(readLater);
  if (inBranch) { color.x = 0.0; }
})")),
            (Used{{0, false}, {1, false}, {2, false}, {3, true}, {4, true}}));
}

TEST(ReflectionTest, ConstantThatOnlySizesSomethingIsUsed) {
  EXPECT_EQ(UsedIds(ComputeModule(R"(
layout(local_size_x_id = 5, local_size_y = 2) in;
layout(constant_id = 1) const int n = 4;
layout(constant_id = 2) const int m = 4;
layout(constant_id = 3) const int unused = 4;
shared float tile[m * 2];)",
                                  R"(
  float p[n];
  p[gl_LocalInvocationIndex] = result[0];
  tile[gl_LocalInvocationIndex] = p[0];
  barrier();
  result[1] = p[1] + tile[1];)")),
            (Used{{1, true}, {2, true}, {3, false}, {5, true}}));
}

TEST(ReflectionTest, WorkgroupSizeAndConstantOfOneIdAreOneWithTheName) {
  const std::vector<uint32_t> spirv = ComputeModule(
      "layout(local_size_x = 64, local_size_x_id = 5) in;\n"
      "layout(constant_id = 5) const uint Size = 64;",
      "result[0] = float(Size + gl_WorkGroupSize.x);");
  const auto constants = ReflectConstants(spirv);
  ASSERT_OK(constants);
  EXPECT_THAT(*constants, ElementsAre(ReflectedConstant{
                              5, "Size", ConstantType::kUint32, 64, true}));
}

TEST(ReflectionTest, WorkgroupSizeIdsAreThoseOfTheDeclaration) {
  const auto some = WorkgroupSizeIds(ComputeModule(
      "layout(local_size_x_id = 7, local_size_y = 4, local_size_z_id = 0) in;",
      "result[0] = 1.0;"));
  ASSERT_OK(some);
  EXPECT_THAT(*some, ElementsAre(7, std::nullopt, 0));
  const auto none = WorkgroupSizeIds(
      ComputeModule("layout(local_size_x = 64) in;", "result[0] = 1.0;"));
  ASSERT_OK(none);
  EXPECT_THAT(*none, ElementsAre(std::nullopt, std::nullopt, std::nullopt));
}

// SPIRV-Cross aborts at this one: it takes the shuffle's literals for ids.
TEST(ReflectionTest, ConstantBehindASwizzleThatSizesAnArrayIsUsed) {
  EXPECT_EQ(UsedIds(FragmentModule(R"(
layout(constant_id = 0) const int n = 2;
const ivec2 sizes = ivec2(n, n + 1).yx;
void main() {
  float a[sizes.x];
  a[0] = gl_FragCoord.x;
  color = vec4(a[0]);
})")),
            (Used{{0, true}}));
}

TEST(ReflectionTest, OneIdWithTwoTypesIsRefusedWithBoth) {
  std::vector<uint32_t> spirv = FragmentModule(R"(
layout(constant_id = 3) const int count = 1;
layout(constant_id = 4) const float scale = 1.0;
void main() { color = vec4(float(count) * scale); })");
  ReplaceSpecId(spirv, 4, 3);
  EXPECT_THAT(
      ReflectConstants(spirv),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("constant_id 3 has two types"),
                     HasSubstr("int `count`"), HasSubstr("float `scale`"))));
}

TEST(ReflectionTest, OneIdWithTwoNamesIsRefusedWithBoth) {
  std::vector<uint32_t> spirv = FragmentModule(R"(
layout(constant_id = 3) const int count = 1;
layout(constant_id = 4) const int other = 1;
void main() { color = vec4(count * other); })");
  ReplaceSpecId(spirv, 4, 3);
  EXPECT_THAT(ReflectConstants(spirv),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "constant_id 3 has two names: `count` and `other`"));
}

TEST(ReflectionTest, WordsThatAreNoModuleAreRefused) {
  EXPECT_THAT(ReflectConstants({}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  const std::vector<uint32_t> noise(64, kSpirvMagic);
  EXPECT_THAT(ReflectConstants(noise),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ReflectionTest, SceneUsesEachOfItsConstants) {
  const auto scene =
      LoadProgramFile(KILN_SOURCE_DIR "/shaders/scene/scene.program.toml");
  ASSERT_OK(scene);
  EXPECT_EQ(UsedIds(ModuleOf(*scene, Stage::kFragment)),
            (Used{{0, true}, {1, true}, {2, true}}));
}

}  // namespace
}  // namespace kiln::shaders
