// SPDX-License-Identifier: Apache-2.0
#include "storage/envelope.h"

#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace kiln::storage {
namespace {

using ::kiln::testing::StatusIs;

Bytes Sample() {
  return SealEnvelope(ValueKind::kModule, "row", AsBytes("payload"));
}

TEST(EnvelopeTest, PayloadComesBackAsItWasSealed) {
  const Bytes value = Sample();
  ASSERT_OK_AND_ASSIGN(ByteView payload,
                       OpenEnvelope(ValueKind::kModule, "row", value));
  EXPECT_EQ(AsText(payload), "payload");
}

TEST(EnvelopeTest, EmptyPayloadIsAPayload) {
  const Bytes value = SealEnvelope(ValueKind::kProgram, "row", {});
  ASSERT_OK_AND_ASSIGN(ByteView payload,
                       OpenEnvelope(ValueKind::kProgram, "row", value));
  EXPECT_TRUE(payload.empty());
}

TEST(EnvelopeTest, EveryFlippedBitIsNoticed) {
  for (size_t bit = 0; bit < Sample().size() * 8; ++bit) {
    Bytes value = Sample();
    value[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    EXPECT_THAT(OpenEnvelope(ValueKind::kModule, "row", value),
                StatusIs(absl::StatusCode::kDataLoss))
        << "bit " << bit;
  }
}

TEST(EnvelopeTest, EveryTruncationIsNoticed) {
  const Bytes value = Sample();
  for (size_t size = 0; size < value.size(); ++size) {
    EXPECT_THAT(
        OpenEnvelope(ValueKind::kModule, "row", ByteView(value).first(size)),
        StatusIs(absl::StatusCode::kDataLoss))
        << size << " bytes";
  }
}

TEST(EnvelopeTest, TrailingBytesAreNoticed) {
  Bytes value = Sample();
  value.push_back(std::byte{0});
  EXPECT_THAT(
      OpenEnvelope(ValueKind::kModule, "row", value),
      StatusIs(absl::StatusCode::kDataLoss, "says 7 payload bytes and has 8"));
}

TEST(EnvelopeTest, ValueUnderAnotherRowIsNoticed) {
  EXPECT_THAT(OpenEnvelope(ValueKind::kModule, "raw", Sample()),
              StatusIs(absl::StatusCode::kDataLoss, "checksum mismatch"));
}

TEST(EnvelopeTest, ByteMovedFromRowToPayloadIsNoticed) {
  const Bytes value =
      SealEnvelope(ValueKind::kModule, "rowp", AsBytes("ayload"));
  EXPECT_THAT(OpenEnvelope(ValueKind::kModule, "row", value),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(EnvelopeTest, ValueOfAnotherKindIsNoticed) {
  EXPECT_THAT(
      OpenEnvelope(ValueKind::kProgram, "row", Sample()),
      StatusIs(absl::StatusCode::kDataLoss, "holds kind 3, not 2 (program)"));
}

TEST(EnvelopeTest, ValueOfAnotherFormatVersionIsNoticed) {
  Bytes value = Sample();
  value[3] = std::byte{2};
  EXPECT_THAT(OpenEnvelope(ValueKind::kModule, "row", value),
              StatusIs(absl::StatusCode::kDataLoss,
                       "magic is 0x0256454b, not 0x0156454b"));
}

}  // namespace
}  // namespace kiln::storage
