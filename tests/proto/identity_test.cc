// SPDX-License-Identifier: Apache-2.0

// Digests, targets and statuses: the small types everything is named by.

#include <gmock/gmock.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include "proto/digest.h"
#include "proto/limits.h"
#include "proto/target.h"
#include "proto/text.h"
#include "proto/wire.h"
#include "tests/support/status_matchers.h"

namespace kiln {
namespace {

using testing::StatusIs;

// The test vector "abc" of FIPS 180-4.
TEST(DigestTest, IsSha256) {
  EXPECT_EQ(Digest::Of(AsBytes(std::string_view("abc"))).Hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(DigestTest, HexAndRawRoundTripAndEverythingElseIsRefused) {
  const Digest digest = Digest::Of(AsBytes(std::string_view("abc")));
  EXPECT_EQ(Digest::FromHex(digest.Hex()).value(), digest);
  EXPECT_EQ(Digest::FromRaw(digest.raw()).value(), digest);
  EXPECT_FALSE(Digest::FromHex(digest.Hex().substr(1)).ok());
  EXPECT_FALSE(Digest::FromHex(std::string(64, 'g')).ok());
  EXPECT_FALSE(Digest::FromRaw("short").ok());
  EXPECT_TRUE(Digest().is_none());
}

TEST(TargetSpecTest, EveryFormRoundTrips) {
  for (const char* text :
       {"radv:vangogh", "radv:gfx1100", "lavapipe", "gpu:0", "gpu:12"}) {
    ASSERT_OK_AND_ASSIGN(const TargetSpec spec, TargetSpec::Parse(text));
    EXPECT_EQ(spec.ToString(), text);
  }
}

TEST(TargetSpecTest, EverythingElseIsRefused) {
  for (const char* text :
       {"", "radv", "radv:", "radv:a b", "radv:../x", "gpu:", "gpu:-1",
        "gpu:01", "gpu:x", "gpu:99999999999", "LAVAPIPE", "lavapipe:0"}) {
    EXPECT_THAT(TargetSpec::Parse(text),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << text;
  }
}

TEST(TargetIdentityTest, AnyDifferentFieldIsAnotherTarget) {
  const TargetIdentity one{"gpu",
                           {{"driver_version", "1"}, {"vendor_id", "2"}}};
  TargetIdentity other = one;
  EXPECT_EQ(one.Id(), other.Id());
  other.fields[0].value = "3";
  EXPECT_NE(one.Id(), other.Id());
  const TargetIdentity shifted{"gpu",
                               {{"driver_version1", ""}, {"vendor_id", "2"}}};
  EXPECT_NE(one.Id(), shifted.Id());
}

TEST(StatusMappingTest, CodeAndTextSurviveTheWire) {
  const absl::Status status = absl::NotFoundError("no such thing");
  EXPECT_EQ(wire::FromGrpc(wire::ToGrpc(status)), status);
  EXPECT_TRUE(wire::ToGrpc(absl::OkStatus()).ok());
}

// KNOWN_FAULTS 17 and 9: over-long or malformed text would hide the status.
TEST(StatusMappingTest, TextIsShortAndValidUtf8) {
  const grpc::Status status =
      wire::ToGrpc(absl::InternalError(std::string(9000, 'e') + "\xFF"));
  EXPECT_LE(status.error_message().size(), limits::kStatusTextBytes);
  EXPECT_TRUE(IsValidUtf8(
      wire::ToGrpc(absl::InternalError("\xEF\xBB")).error_message()));
}

}  // namespace
}  // namespace kiln
