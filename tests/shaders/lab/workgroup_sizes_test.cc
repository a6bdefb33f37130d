// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/workgroup_sizes.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shaders/lab/tune.h"
#include "tests/support/status_matchers.h"

namespace kiln::lab {
namespace {

using ::kiln::testing::kInvalid;
using ::kiln::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr SizeLimits kLimits = {{256, 64, 8}, 256, 4};

// A program of compute with the given overrides as its workgroup size.
Program Kernel(std::vector<Override> overrides) {
  Program program;
  program.name = "kernel";
  program.stages = {{Stage::kCompute, "kernel.comp"}};
  program.kinds = {{{"compute", {}, {}}}};
  program.backdrops = {{"none", {}, {}}};
  program.blends = {{"none", {}, {}}};
  for (const Override& entry : overrides) {
    program.workgroup_size.push_back(entry.name);
  }
  program.overrides = std::move(overrides);
  return program;
}

Override Size(const std::string& name, uint64_t default_value) {
  return {name, std::nullopt, ConstantType::kUint32, default_value};
}

VariantKey Base() {
  VariantKey key;
  key.kind = "compute";
  return key;
}

std::vector<std::string> Texts(const SizeList& list) {
  std::vector<std::string> texts;
  for (const WorkgroupSize& size : list.sizes) {
    texts.push_back(SizeText(size.overrides));
  }
  return texts;
}

TEST(WorkgroupSizesTest, PowersOfTwoAndTheDefaultAreTriedWithinTheLimits) {
  ASSERT_OK_AND_ASSIGN(
      const SizeList list,
      ListSizes(Kernel({Size("GROUP", 48)}), Base(), kLimits, {}));
  EXPECT_THAT(Texts(list),
              ElementsAre("GROUP=4", "GROUP=8", "GROUP=16", "GROUP=32",
                          "GROUP=48", "GROUP=64", "GROUP=128", "GROUP=256"));
  EXPECT_THAT(list.sizes[4].key.overrides, IsEmpty()) << "the default";
  EXPECT_THAT(list.sizes[4].size, ElementsAre(48, 1, 1));
  std::vector<std::string> refused;
  for (const RefusedSize& size : list.refused) {
    refused.push_back(size.size + ": " + size.why);
  }
  EXPECT_THAT(
      refused,
      ElementsAre(
          "GROUP=512: the device's limit is 256 (maxComputeWorkGroupSize[0])",
          "GROUP=1024: the device's limit is 256 (maxComputeWorkGroupSize[0])",
          "GROUP=1: its 1 invocations do not fill a subgroup of 4",
          "GROUP=2: its 2 invocations do not fill a subgroup of 4"));
}

TEST(WorkgroupSizesTest, ProductIsHeldToTheLimitOfInvocations) {
  ASSERT_OK_AND_ASSIGN(
      const SizeList list,
      ListSizes(Kernel({Size("X", 8), Size("Y", 8), Size("Z", 1)}), Base(),
                kLimits, {}));
  for (const WorkgroupSize& size : list.sizes) {
    EXPECT_LE(size.invocations(), 256u);
    EXPECT_GE(size.invocations(), 4u);
    EXPECT_LE(size.size[2], 8u);
  }
  EXPECT_THAT(Texts(list), AllOf(Contains("X=256 Y=1 Z=1"),
                                 Contains("X=8 Y=8 Z=4"), Not(Contains(""))));
  EXPECT_THAT(list.refused,
              Contains(AllOf(Field(&RefusedSize::size, "X=64 Y=8 Z=1"),
                             Field(&RefusedSize::why,
                                   "512 invocations are over the device's "
                                   "limit of 256 "
                                   "(maxComputeWorkGroupInvocations)"))));
}

TEST(WorkgroupSizesTest, DeclaredStepsAreTriedInsteadOfPowersOfTwo) {
  Override group = Size("GROUP", 96);
  group.steps = {32, 96, 192, 384};
  ASSERT_OK_AND_ASSIGN(const SizeList list,
                       ListSizes(Kernel({group}), Base(), kLimits, {}));
  EXPECT_THAT(Texts(list), ElementsAre("GROUP=32", "GROUP=96", "GROUP=192"));
}

TEST(WorkgroupSizesTest, ChosenValueIsRoundedUpToAStepAndTriedOnce) {
  Override group = Size("GROUP", 32);
  group.steps = {32, 64, 128};
  ASSERT_OK_AND_ASSIGN(
      const SizeList list,
      ListSizes(Kernel({group}), Base(), kLimits, {{"GROUP", {33, 48, 64}}}));
  ASSERT_THAT(Texts(list), ElementsAre("GROUP=64"));
  EXPECT_EQ(list.sizes[0].size[0], 64u);
}

TEST(WorkgroupSizesTest, SmallSizesThatWereChosenAreTried) {
  ASSERT_OK_AND_ASSIGN(const SizeList list,
                       ListSizes(Kernel({Size("GROUP", 64)}), Base(), kLimits,
                                 {{"GROUP", {1, 64}}}));
  EXPECT_THAT(Texts(list), ElementsAre("GROUP=1", "GROUP=64"));
}

TEST(WorkgroupSizesTest, SizesThatFillNoSubgroupAreTriedIfThereAreNoOthers) {
  Override group = Size("GROUP", 1);
  group.max = 2;
  ASSERT_OK_AND_ASSIGN(const SizeList list,
                       ListSizes(Kernel({group}), Base(), kLimits, {}));
  EXPECT_THAT(Texts(list), ElementsAre("GROUP=1", "GROUP=2"));
}

TEST(WorkgroupSizesTest, ChosenValueOverTheLimitIsAnErrorWithNameAndLimit) {
  const Program program = Kernel({Size("X", 8), Size("Y", 8)});
  EXPECT_THAT(ListSizes(program, Base(), kLimits, {{"Y", {8, 128}}}),
              StatusIs(kInvalid,
                       "override Y=128: the device's limit is 64 "
                       "(maxComputeWorkGroupSize[1])"));
  EXPECT_THAT(ListSizes(program, Base(), kLimits, {{"X", {0}}}),
              StatusIs(kInvalid, "override X=0"));
  EXPECT_THAT(
      ListSizes(program, Base(), kLimits, {{"X", {256}}, {"Y", {64}}}),
      StatusIs(kInvalid,
               "X=256 Y=64: 16384 invocations are over the device's limit of "
               "256"));
}

TEST(WorkgroupSizesTest, WrongChoicesAndProgramsAreRefused) {
  Program program = Kernel({Size("X", 8)});
  EXPECT_THAT(ListSizes(program, Base(), kLimits, {{"Q", {8}}}),
              StatusIs(kInvalid, "no workgroup override 'Q'; it has X"));
  EXPECT_THAT(ListSizes(program, Base(), kLimits, {{"X", {8}}, {"X", {16}}}),
              StatusIs(kInvalid, "given twice"));
  program.workgroup_size.clear();
  EXPECT_THAT(ListSizes(program, Base(), kLimits, {}),
              StatusIs(kInvalid, "names no overrides"));
  program.stages = {{Stage::kVertex, "kernel.vert"}};
  EXPECT_THAT(ListSizes(program, Base(), kLimits, {}),
              StatusIs(kInvalid, "is a graphics program"));
}

TEST(WorkgroupSizesTest, MoreCombinationsThanAnyoneWouldMeasureAreRefused) {
  std::vector<uint64_t> values;
  for (uint64_t value = 1; value <= 60; ++value) {
    values.push_back(value);
  }
  EXPECT_THAT(ListSizes(Kernel({Size("X", 1), Size("Y", 1)}), Base(),
                        {{64, 64, 1}, 4096, 1}, {{"X", values}, {"Y", values}}),
              StatusIs(kInvalid, "over 2048"));
}

TunedSize Timed(double median_us, uint32_t width) {
  TunedSize size;
  size.median_us = median_us;
  size.size.size[0] = width;
  return size;
}

TEST(BestSizeTest, FastestWinsAndATieGoesToTheSmaller) {
  EXPECT_EQ(BestSize({Timed(100, 256)}), 0u);
  EXPECT_EQ(BestSize({Timed(100, 256), Timed(103, 64)}), 0u);
  EXPECT_EQ(BestSize({Timed(100, 256), Timed(101, 64), Timed(101.5, 128)}), 1u);
  EXPECT_EQ(BestSize({Timed(100, 64), Timed(101, 256)}), 0u);
  // Two steps of 1.5% are no tie.
  EXPECT_EQ(BestSize({Timed(100, 256), Timed(101.5, 128), Timed(103, 64)}), 1u);
}

}  // namespace
}  // namespace kiln::lab
