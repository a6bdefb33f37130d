// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/surface_set.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "proto/limits.h"
#include "tests/support/status_matchers.h"

namespace kiln::surface {
namespace {

using ::kiln::testing::IsOk;
using ::kiln::testing::kInvalid;
using ::kiln::testing::StatusIs;

SurfaceSet Three() {
  SurfaceSet set;
  EXPECT_OK(set.Add("rust", "rust text"));
  EXPECT_OK(set.Add("moss", "moss text"));
  EXPECT_OK(set.Add("wet", "wet text"));
  return set;
}

TEST(SurfaceSetTest, IdenticalTextReusesItsIndexAndKeepsItsFirstName) {
  SurfaceSet set = Three();
  ASSERT_OK_AND_ASSIGN(const uint32_t index, set.Add("other", "moss text"));
  EXPECT_EQ(index, 2u);
  EXPECT_EQ(set.Find(2)->name, "moss");
  EXPECT_EQ(set.size(), 3u);
}

TEST(SurfaceSetTest, RemovedIndexIsFreeAndTheNextToBeGiven) {
  SurfaceSet set = Three();
  EXPECT_OK(set.Remove(2));
  EXPECT_EQ(set.Find(2), nullptr);
  EXPECT_EQ(set.IndexOf("moss text"), std::nullopt);
  EXPECT_THAT(set.Remove(2), StatusIs(absl::StatusCode::kNotFound, "2"));
  EXPECT_THAT(set.Remove(0), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK_AND_ASSIGN(const uint32_t index, set.Add("ice", "ice text"));
  EXPECT_EQ(index, 2u);
}

TEST(SurfaceSetTest, TwoHundredAndFiftyFiveFitAndOneMoreIsExhausted) {
  SurfaceSet set;
  for (uint32_t i = 1; i <= 255; ++i) {
    ASSERT_OK_AND_ASSIGN(const uint32_t index,
                         set.Add("s", fmt::format("text {}", i)));
    EXPECT_EQ(index, i);
  }
  EXPECT_THAT(set.Add("late", "text 256"),
              StatusIs(absl::StatusCode::kResourceExhausted, "late"));
  EXPECT_THAT(set.Add("late", "text 7"), IsOk());
  ASSERT_OK_AND_ASSIGN(const SurfaceSet decoded,
                       DecodeSurfaceSet(EncodeSurfaceSet(set)));
  EXPECT_EQ(decoded, set);
}

TEST(SurfaceSetTest, OverlongTextAndUnusableNamesAreRefused) {
  SurfaceSet set;
  EXPECT_OK(set.Add("s", std::string(64 << 10, 'x')));
  EXPECT_THAT(set.Add("s", std::string((64 << 10) + 1, 'x')),
              StatusIs(kInvalid, "65537"));
  for (const std::string& name :
       {std::string(), std::string("a\nb"), std::string("\xFF"),
        std::string(257, 'n'), std::string("a\0b", 3)}) {
    EXPECT_THAT(set.Add(name, "text"), StatusIs(kInvalid)) << name;
  }
}

// A worked example of the encoding: it names sets that are stored.
TEST(SurfaceSetTest, CanonicalBytesStayAsTheyAre) {
  SurfaceSet set;
  EXPECT_OK(set.Add("a", "x"));
  EXPECT_OK(set.Add("b", "yz"));
  EXPECT_OK(set.Remove(1));
  const std::string expected(
      "KSF\x01"
      "\x01\0\0\0"
      "\x02\0\0\0"
      "\x01\0\0\0"
      "b"
      "\x02\0\0\0"
      "yz",
      23);
  EXPECT_EQ(AsText(EncodeSurfaceSet(set)), expected);
  EXPECT_EQ(set.Hash(), Digest::Of(AsBytes(expected)));
}

TEST(SurfaceSetTest, EveryDifferenceChangesTheHash) {
  const SurfaceSet set = Three();
  SurfaceSet removed = set;
  EXPECT_OK(removed.Remove(3));
  EXPECT_NE(removed.Hash(), set.Hash());
  SurfaceSet moved = set;
  EXPECT_OK(moved.Remove(1));
  EXPECT_OK(moved.Remove(2));
  EXPECT_OK(moved.Add("moss", "moss text"));
  EXPECT_OK(moved.Add("rust", "rust text"));
  EXPECT_NE(moved.Hash(), set.Hash());
  EXPECT_NE(SurfaceSet().Hash(), set.Hash());
  EXPECT_EQ(Three().Hash(), set.Hash());
}

TEST(SurfaceSetTest, BytesThatAreNoCanonicalSetAreRefused) {
  const Bytes good = EncodeSurfaceSet(Three());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(DecodeSurfaceSet(ByteView(good).first(size)),
                StatusIs(kInvalid))
        << size;
  }
  auto with_byte = [&](size_t at, uint8_t value) {
    Bytes bytes = good;
    bytes[at] = std::byte{value};
    return DecodeSurfaceSet(bytes);
  };
  EXPECT_THAT(with_byte(3, 2), StatusIs(kInvalid, "magic"));
  EXPECT_THAT(with_byte(8, 0), StatusIs(kInvalid, "indices"));   // the base
  EXPECT_THAT(with_byte(8, 2), StatusIs(kInvalid, "indices"));   // twice
  EXPECT_THAT(with_byte(9, 1), StatusIs(kInvalid, "indices"));   // 257
  EXPECT_THAT(with_byte(16, 0xFF), StatusIs(kInvalid, "name"));  // no UTF-8
  Bytes longer = good;
  longer.push_back(std::byte{0});
  EXPECT_THAT(DecodeSurfaceSet(longer), StatusIs(kInvalid));
}

TEST(SurfaceSetTest, SameTextTwiceIsNoCanonicalSet) {
  SurfaceSet set;
  EXPECT_OK(set.Add("a", "x"));
  EXPECT_OK(set.Add("a", "y"));
  Bytes bytes = EncodeSurfaceSet(set);
  bytes.back() = std::byte{'x'};
  EXPECT_THAT(DecodeSurfaceSet(bytes), StatusIs(kInvalid, "texts"));
}

}  // namespace
}  // namespace kiln::surface
