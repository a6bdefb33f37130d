// SPDX-License-Identifier: Apache-2.0
#include "storage/failure_records.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/limits.h"
#include "tests/storage/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::storage {
namespace {

using ::testing::IsEmpty;
using testing::kInvalid;
using testing::StatusIs;

class FailureRecordsTest : public StoreTest {
 protected:
  FailureRecordsTest() { Reopen(); }

  static FailureRecord Sample(FeatureMask features,
                              const std::string& target = "device") {
    const Artifact artifact = SampleArtifact(static_cast<uint32_t>(features));
    return {DigestOf(target),
            artifact.key,
            FailureCause::kCrashed,
            "shaderc 2023.2",
            absl::StatusCode::kInternal,
            "compiler crashed (signal 11) in the driver",
            "lit.frag:3: warning: w\n",
            1700000000000};
  }
};

TEST_F(FailureRecordsTest, FailureIsThereAfterAReopenAndGoneOnceRemoved) {
  const FailureRecord failure = Sample(5);
  ASSERT_OK(store().PutFailure(failure));
  Reopen();
  ASSERT_OK_AND_ASSIGN(const auto found,
                       store().GetFailure(failure.target, failure.key));
  EXPECT_EQ(found, failure);
  EXPECT_EQ(*store().GetFailure(DigestOf("other"), failure.key), std::nullopt);
  EXPECT_EQ(*store().GetFailure(failure.target, Sample(4).key), std::nullopt);
  EXPECT_TRUE(*store().RemoveFailure(failure.target, KeyId(failure.key)));
  EXPECT_FALSE(*store().RemoveFailure(failure.target, KeyId(failure.key)));
  EXPECT_EQ(*store().GetFailure(failure.target, failure.key), std::nullopt);
}

TEST_F(FailureRecordsTest, LaterFailureOfAKeyReplacesTheEarlierOne) {
  FailureRecord failure = Sample(5);
  ASSERT_OK(store().PutFailure(failure));
  failure.cause = FailureCause::kRefused;
  failure.message = "another";
  ASSERT_OK(store().PutFailure(failure));
  EXPECT_EQ(*store().GetFailure(failure.target, failure.key), failure);
  EXPECT_EQ(store().ListFailures("", 10)->failures.size(), 1u);
}

TEST_F(FailureRecordsTest, ListGoesOnWhereThePageBeforeEnded) {
  EXPECT_THAT(store().ListFailures("", 10)->failures, IsEmpty());
  size_t put = 0;
  for (const char* target : {"a", "b"}) {
    for (FeatureMask features = 0; features < 70; ++features) {
      ASSERT_OK(store().PutFailure(Sample(features, target)));
      ++put;
    }
  }
  size_t listed = 0;
  std::string row;
  do {
    ASSERT_OK_AND_ASSIGN(const FailurePage page,
                         store().ListFailures(row, 1000));
    EXPECT_LE(page.failures.size(), limits::kListPageSize);
    listed += page.failures.size();
    row = page.next_row;
  } while (!row.empty());
  EXPECT_EQ(listed, put);
  EXPECT_THAT(store().ListFailures("no row", 10), StatusIs(kInvalid, "row"));
}

TEST_F(FailureRecordsTest, EndlessTextIsRefused) {
  FailureRecord failure = Sample(5);
  failure.diagnostics.assign(4 * limits::kDiagnosticBytes + 1, 'x');
  EXPECT_THAT(store().PutFailure(failure), StatusIs(kInvalid, "text"));
}

}  // namespace
}  // namespace kiln::storage
