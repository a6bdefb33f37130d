// SPDX-License-Identifier: Apache-2.0
#include "client/jobs.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/limits.h"
#include "tests/client/tiny_program.h"

namespace kiln::client {
namespace {

using ::testing::HasSubstr;
using Batch = v1::ClientMessage_Batch;

class JobsTest : public ::testing::Test {
 protected:
  // Wants a key of its own program number; distinct per `number`.
  Digest Want(uint32_t number) {
    VariantKey key;
    key.program = program_;
    key.kind = "opaque";
    key.features = number;
    const Digest id = KeyId(key);
    jobs_.Want({id, key, "label " + std::to_string(number)});
    return id;
  }

  v1::Completion ReadyFor(const v1::VariantRequest& request, const Digest& id) {
    v1::Completion completion;
    completion.set_request_id(request.request_id());
    completion.set_state(v1::STATE_READY);
    completion.set_origin(v1::ORIGIN_STORE);
    completion.mutable_variant()->set_key_id(std::string(id.raw()));
    return completion;
  }

  const Digest program_ = Digest::Of(AsBytes("program"));
  const Digest target_ = Digest::Of(AsBytes("target"));
  Jobs jobs_;
};

TEST_F(JobsTest, BatchHoldsNoMoreThanTheContractAllows) {
  for (uint32_t i = 0; i < limits::kRequestsPerBatch + 1; ++i) {
    Want(i);
  }
  Batch first;
  ASSERT_TRUE(jobs_.FillBatch(&first));
  EXPECT_EQ(first.requests_size(), static_cast<int>(limits::kRequestsPerBatch));
  Batch second;
  ASSERT_TRUE(jobs_.FillBatch(&second));
  EXPECT_EQ(second.requests_size(), 1);
  Batch third;
  EXPECT_FALSE(jobs_.FillBatch(&third));
}

TEST_F(JobsTest, BatchOfLongKeysStaysFarBelowTheMessageLimit) {
  for (uint32_t i = 0; i < limits::kRequestsPerBatch; ++i) {
    VariantKey key;
    key.program = program_;
    key.features = i;
    for (uint32_t j = 0; j < limits::kOverrides; ++j) {
      key.overrides.push_back({std::string(limits::kNameBytes, 'x'), j});
    }
    jobs_.Want({KeyId(key), key, "label"});
  }
  Batch batch;
  ASSERT_TRUE(jobs_.FillBatch(&batch));
  EXPECT_LT(batch.ByteSizeLong(), limits::kMaxMessageBytes / 2);
}

TEST_F(JobsTest, RestartWantsEverythingUnsettledAgain) {
  const Digest arrived = Want(1);
  Want(2);
  Batch batch;
  ASSERT_TRUE(jobs_.FillBatch(&batch));
  ASSERT_FALSE(jobs_.Completed(ReadyFor(batch.requests(0), arrived)));
  ASSERT_EQ(jobs_.NextArrival(), arrived);  // being fetched when it ends
  jobs_.Restart();
  Batch again;
  ASSERT_TRUE(jobs_.FillBatch(&again));
  EXPECT_EQ(again.requests_size(), 2);
}

TEST_F(JobsTest, CompletionOfTheLastConnectionIsIgnored) {
  const Digest id = Want(1);
  Batch batch;
  ASSERT_TRUE(jobs_.FillBatch(&batch));
  jobs_.Restart();
  EXPECT_FALSE(jobs_.Completed(ReadyFor(batch.requests(0), id)));
  EXPECT_FALSE(jobs_.NextArrival());
  EXPECT_EQ(jobs_.unsettled(), 1u);
}

TEST_F(JobsTest, CompletionForAnotherKeyIsAFailure) {
  Want(1);
  Batch batch;
  ASSERT_TRUE(jobs_.FillBatch(&batch));
  const auto failure = jobs_.Completed(ReadyFor(batch.requests(0), target_));
  ASSERT_TRUE(failure);
  EXPECT_THAT(failure->message, HasSubstr("another key"));
}

TEST_F(JobsTest, BrokenTransportDoesNotCountAgainstADelivery) {
  const Digest id = Want(1);
  for (int i = 0; i < 2 * Jobs::kDeliveries; ++i) {
    const auto settled =
        jobs_.Delivered(id, absl::UnavailableError("gone"), target_);
    EXPECT_FALSE(settled.failure);
  }
  EXPECT_EQ(jobs_.unsettled(), 1u);
  EXPECT_TRUE(jobs_.has_retries());
}

TEST_F(JobsTest, ArtifactOfAnotherTargetIsNotPublished) {
  const Digest id = Want(1);
  Delivery delivery;
  delivery.artifact.target = Digest::Of(AsBytes("another"));
  const auto settled = jobs_.Delivered(id, delivery, target_);
  EXPECT_EQ(settled.variant, nullptr);
  EXPECT_EQ(jobs_.NextArrival(), id) << "it should be fetched again";
}

TEST_F(JobsTest, CompileThatRanOutOfMemoryIsFinal) {
  Want(1);
  Batch batch;
  ASSERT_TRUE(jobs_.FillBatch(&batch));
  v1::Completion completion;
  completion.set_request_id(batch.requests(0).request_id());
  completion.set_state(v1::STATE_FAILED);
  completion.mutable_failure()->set_code(
      static_cast<uint32_t>(absl::StatusCode::kResourceExhausted));
  completion.mutable_failure()->set_message("over 4096 MiB");
  EXPECT_TRUE(jobs_.Completed(completion));
  EXPECT_EQ(jobs_.unsettled(), 0u);
}

}  // namespace
}  // namespace kiln::client
