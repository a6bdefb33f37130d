// SPDX-License-Identifier: Apache-2.0

// In which order, and how many at a time, keys are asked for.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/jobs.h"
#include "proto/limits.h"

namespace kiln::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class JobsUrgencyTest : public ::testing::Test {
 protected:
  Digest Want(uint32_t number, Urgency urgency) {
    VariantKey key;
    key.program = Digest::Of(AsBytes("program"));
    key.kind = "opaque";
    key.features = number;
    const Digest id = KeyId(key);
    jobs_.Want({id, key, "label", false, urgency});
    return id;
  }

  // What is sent now, by number.
  std::vector<uint64_t> Send() {
    v1::ClientMessage_Batch batch;
    jobs_.FillBatch(&batch);
    std::vector<uint64_t> numbers;
    for (const v1::VariantRequest& request : batch.requests()) {
      numbers.push_back(request.features());
      last_ = request;
    }
    return numbers;
  }

  size_t SendAll() {
    size_t sent = 0;
    for (auto numbers = Send(); !numbers.empty(); numbers = Send()) {
      sent += numbers.size();
    }
    return sent;
  }

  void Answer(uint64_t request_id) {
    v1::Completion completion;
    completion.set_request_id(request_id);
    completion.set_state(v1::STATE_FAILED);
    jobs_.Completed(completion);
  }

  Jobs jobs_;
  v1::VariantRequest last_;
};

TEST_F(JobsUrgencyTest, WhatIsOnScreenIsSentFirst) {
  Want(1, Urgency::kSpeculative);
  Want(2, Urgency::kWarmUp);
  Want(3, Urgency::kOnScreen);
  EXPECT_THAT(Send(), ElementsAre(3, 2, 1));
  EXPECT_EQ(last_.urgency(), v1::URGENCY_SPECULATIVE);
}

TEST_F(JobsUrgencyTest, KeyThatIsWantedAlreadyMovesAndIsSentOnce) {
  Want(1, Urgency::kWarmUp);
  Want(2, Urgency::kWarmUp);
  Want(2, Urgency::kOnScreen);
  Want(1, Urgency::kSpeculative);
  EXPECT_THAT(Send(), ElementsAre(2, 1));
  EXPECT_THAT(Send(), IsEmpty());
}

TEST_F(JobsUrgencyTest, KeyThatWasSentIsAskedForAgainOnlyWithAnotherUrgency) {
  Want(1, Urgency::kWarmUp);
  EXPECT_THAT(Send(), ElementsAre(1));
  const uint64_t first = last_.request_id();
  Want(1, Urgency::kWarmUp);
  EXPECT_THAT(Send(), IsEmpty());
  Want(1, Urgency::kOnScreen);
  EXPECT_THAT(Send(), ElementsAre(1));
  EXPECT_NE(last_.request_id(), first);
  EXPECT_EQ(last_.urgency(), v1::URGENCY_ON_SCREEN);
  // Both are answered; the key once.
  Answer(first);
  EXPECT_EQ(jobs_.unsettled(), 1u);
  Answer(last_.request_id());
  EXPECT_EQ(jobs_.unsettled(), 0u);
}

TEST_F(JobsUrgencyTest, NoMoreIsInFlightThanTheDaemonReads) {
  for (uint32_t i = 0; i < 2 * limits::kUnanswered; ++i) {
    Want(i, Urgency::kWarmUp);
  }
  const size_t sent = SendAll();
  EXPECT_LT(sent, limits::kUnanswered);
  // There is room for a draw, and an answer makes room for another warm-up.
  Want(1000000, Urgency::kOnScreen);
  EXPECT_THAT(Send(), ElementsAre(1000000));
  Answer(last_.request_id());
  EXPECT_THAT(Send(), IsEmpty());
  Answer(1);
  EXPECT_EQ(SendAll(), 1u);
  // After a reconnect nothing is in flight.
  jobs_.Restart();
  EXPECT_EQ(SendAll(), sent);
}

TEST_F(JobsUrgencyTest, WithdrawnKeyIsNotSentOrReleased) {
  const Digest unsent = Want(1, Urgency::kWarmUp);
  jobs_.Withdraw(unsent);
  EXPECT_THAT(Send(), IsEmpty());
  EXPECT_THAT(jobs_.TakeReleases(), IsEmpty());
  const Digest sent = Want(2, Urgency::kWarmUp);
  EXPECT_THAT(Send(), ElementsAre(2));
  jobs_.Withdraw(sent);
  EXPECT_THAT(jobs_.TakeReleases(), ElementsAre(last_.request_id()));
  EXPECT_THAT(jobs_.TakeReleases(), IsEmpty());
  Answer(last_.request_id());
  EXPECT_EQ(jobs_.unsettled(), 0u);
  // Wanted again, it is another request.
  Want(2, Urgency::kWarmUp);
  EXPECT_THAT(Send(), ElementsAre(2));
}

}  // namespace
}  // namespace kiln::client
