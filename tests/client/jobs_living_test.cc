// SPDX-License-Identifier: Apache-2.0

// Jobs of living programs: a request is a subscription, and what was delivered
// stays good until something better is.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/jobs.h"
#include "proto/wire.h"

namespace kiln::client {
namespace {

using ::testing::HasSubstr;
using Batch = v1::ClientMessage_Batch;

class JobsLivingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    key_.program = Digest::Of(AsBytes("recipe"));
    key_.kind = "opaque";
    id_ = KeyId(key_);
    jobs_.Want({id_, key_, "label", true});
    Batch batch;
    ASSERT_TRUE(jobs_.FillBatch(&batch));
    request_id_ = batch.requests(0).request_id();
  }

  // The key as the daemon stores it for a snapshot.
  VariantKey Stored(const std::string& snapshot) const {
    VariantKey key = key_;
    key.program = Digest::Of(AsBytes(snapshot));
    return key;
  }

  v1::Completion Ready(const VariantKey& stored) const {
    v1::Completion completion;
    completion.set_request_id(request_id_);
    completion.set_state(v1::STATE_READY);
    Artifact artifact;
    artifact.key = stored;
    wire::VariantToWire(artifact, "label", 0, completion.mutable_variant());
    return completion;
  }

  v1::Completion Failed(const std::string& message) const {
    v1::Completion completion;
    completion.set_request_id(request_id_);
    completion.set_state(v1::STATE_FAILED);
    completion.mutable_failure()->set_message(message);
    return completion;
  }

  Delivery DeliveryOf(const VariantKey& stored) const {
    Delivery delivery;
    delivery.artifact.target = target_;
    delivery.artifact.key = stored;
    return delivery;
  }

  // Lets the variant of `snapshot` arrive. Returns: whether it was published.
  bool Deliver(const std::string& snapshot) {
    EXPECT_FALSE(jobs_.Completed(Ready(Stored(snapshot))));
    EXPECT_EQ(jobs_.NextArrival(), id_);
    EXPECT_EQ(jobs_.StoredAs(id_), KeyId(Stored(snapshot)));
    return jobs_.Delivered(id_, DeliveryOf(Stored(snapshot)), target_)
               .variant != nullptr;
  }

  const Digest target_ = Digest::Of(AsBytes("target"));
  VariantKey key_;
  Digest id_;
  uint64_t request_id_ = 0;
  Jobs jobs_;
};

TEST_F(JobsLivingTest, EachLaterVersionArrivesUnderTheSameRequest) {
  EXPECT_TRUE(Deliver("first"));
  EXPECT_EQ(jobs_.unsettled(), 0u);
  EXPECT_TRUE(Deliver("second"));
  EXPECT_EQ(jobs_.unsettled(), 0u);
}

TEST_F(JobsLivingTest, FailureIsToldAndTheOldVersionComingBackRecovers) {
  ASSERT_TRUE(Deliver("first"));
  const auto failure = jobs_.Completed(Failed("brdf.glsl:3: error"));
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->id, id_);
  EXPECT_THAT(failure->message, HasSubstr("brdf.glsl:3"));
  EXPECT_TRUE(jobs_.TakeRecovered().empty());
  EXPECT_FALSE(jobs_.Completed(Ready(Stored("first"))));
  EXPECT_EQ(jobs_.NextArrival(), std::nullopt);  // it is there already
  const auto recovered = jobs_.TakeRecovered();
  ASSERT_EQ(recovered.size(), 1u);
  EXPECT_EQ(recovered[0].first, id_);
  EXPECT_TRUE(jobs_.TakeRecovered().empty());
}

TEST_F(JobsLivingTest, FailureBeforeAnyVersionDoesNotEndTheKey) {
  ASSERT_TRUE(jobs_.Completed(Failed("no")).has_value());
  EXPECT_TRUE(Deliver("first"));
}

TEST_F(JobsLivingTest, VersionThatWasOvertakenIsNotPublished) {
  ASSERT_FALSE(jobs_.Completed(Ready(Stored("first"))));
  ASSERT_EQ(jobs_.NextArrival(), id_);  // its fetch is under way
  ASSERT_FALSE(jobs_.Completed(Ready(Stored("second"))));
  ASSERT_EQ(jobs_.NextArrival(), id_);
  EXPECT_NE(jobs_.Delivered(id_, DeliveryOf(Stored("second")), target_).variant,
            nullptr);
  EXPECT_EQ(jobs_.Delivered(id_, DeliveryOf(Stored("first")), target_).variant,
            nullptr);
}

TEST_F(JobsLivingTest, NewStreamIsAskedAgainAndWhatItHasIsNotFetchedAgain) {
  ASSERT_TRUE(Deliver("first"));
  jobs_.Restart();
  Batch batch;
  ASSERT_TRUE(jobs_.FillBatch(&batch));
  ASSERT_EQ(batch.requests_size(), 1);
  request_id_ = batch.requests(0).request_id();
  EXPECT_FALSE(jobs_.Completed(Ready(Stored("first"))));
  EXPECT_EQ(jobs_.NextArrival(), std::nullopt);
  EXPECT_EQ(jobs_.unsettled(), 0u);
}

TEST_F(JobsLivingTest, AnswerForOtherChoicesIsRefused) {
  VariantKey other = Stored("first");
  other.features = 1;
  const auto failure = jobs_.Completed(Ready(other));
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->message, HasSubstr("another key"));
}

TEST_F(JobsLivingTest, FetchThatAFailureOvertookDoesNotHideTheFailure) {
  ASSERT_TRUE(Deliver("first"));
  ASSERT_FALSE(jobs_.Completed(Ready(Stored("second"))));
  ASSERT_EQ(jobs_.NextArrival(), id_);  // its fetch is under way
  ASSERT_TRUE(jobs_.Completed(Failed("brdf.glsl:3: error")).has_value());
  const auto late = jobs_.Delivered(id_, DeliveryOf(Stored("second")), target_);
  EXPECT_EQ(late.variant, nullptr);
  EXPECT_FALSE(late.failure);
  EXPECT_EQ(jobs_.unsettled(), 0u);
  // Still failing: so the version that is there comes back as a recovery.
  EXPECT_FALSE(jobs_.Completed(Ready(Stored("first"))));
  EXPECT_EQ(jobs_.TakeRecovered().size(), 1u);
}

TEST_F(JobsLivingTest, FailureEndsAnArrivalThatIsNotFetchedYet) {
  ASSERT_FALSE(jobs_.Completed(Ready(Stored("first"))));
  ASSERT_TRUE(jobs_.Completed(Failed("no")).has_value());
  EXPECT_EQ(jobs_.NextArrival(), std::nullopt);
  EXPECT_TRUE(Deliver("second"));
}

TEST_F(JobsLivingTest, FetchThatFailsAfterAFailureAsksForNothing) {
  ASSERT_FALSE(jobs_.Completed(Ready(Stored("first"))));
  ASSERT_EQ(jobs_.NextArrival(), id_);
  ASSERT_TRUE(jobs_.Completed(Failed("no")).has_value());
  const auto late = jobs_.Delivered(id_, absl::NotFoundError("gone"), target_);
  EXPECT_FALSE(late.failure);
  Batch batch;
  EXPECT_FALSE(jobs_.FillBatch(&batch));
}

TEST_F(JobsLivingTest, AnswerOfAnOlderGenerationIsIgnored) {
  v1::Completion newer = Failed("newer");
  newer.set_generation(3);
  v1::Completion older = Ready(Stored("older"));
  older.set_generation(2);
  ASSERT_TRUE(jobs_.Completed(newer).has_value());
  EXPECT_FALSE(jobs_.Completed(older));
  EXPECT_EQ(jobs_.NextArrival(), std::nullopt);
  older.set_generation(4);
  EXPECT_FALSE(jobs_.Completed(older));
  EXPECT_EQ(jobs_.NextArrival(), id_);
}

TEST_F(JobsLivingTest, AnotherDaemonCountsGenerationsAnew) {
  v1::Completion completion = Ready(Stored("first"));
  completion.set_generation(7);
  ASSERT_FALSE(jobs_.Completed(completion));
  jobs_.Restart();
  Batch batch;
  ASSERT_TRUE(jobs_.FillBatch(&batch));
  completion.set_request_id(batch.requests(0).request_id());
  completion.set_generation(1);
  EXPECT_FALSE(jobs_.Completed(completion));
  EXPECT_EQ(jobs_.NextArrival(), id_);
}

TEST_F(JobsLivingTest, DiagnosticsThatWereSentOnceAreThoseOfEachKeyInARow) {
  VariantKey other = key_;
  other.features = 1;
  jobs_.Want({KeyId(other), other, "other", true});
  Batch batch;
  ASSERT_TRUE(jobs_.FillBatch(&batch));
  v1::Completion first = Failed("stage does not compile");
  first.mutable_failure()->set_diagnostics("small.frag:4: error");
  v1::Completion second = Failed("stage does not compile");
  second.set_request_id(batch.requests(0).request_id());
  ASSERT_TRUE(jobs_.Completed(first).has_value());
  auto failure = jobs_.Completed(second);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->diagnostics, "small.frag:4: error");
  // For another reason, or after a success, none means none.
  EXPECT_EQ(jobs_.Completed(Failed("worker lost"))->diagnostics, "");
  ASSERT_TRUE(jobs_.Completed(first).has_value());
  ASSERT_FALSE(jobs_.Completed(Ready(Stored("first"))));
  EXPECT_EQ(jobs_.Completed(second)->diagnostics, "");
}

class JobsShaderTest : public ::testing::Test {
 protected:
  void SetUp() override { Ask(); }

  void Ask() {
    jobs_.Want(ShaderRequest{program_, "lit.frag", true});
    Batch batch;
    ASSERT_TRUE(jobs_.FillBatch(&batch));
    ASSERT_EQ(batch.shaders_size(), 1);
    request_id_ = batch.shaders(0).request_id();
  }

  v1::Completion Ready(const std::string& module) const {
    v1::Completion completion;
    completion.set_request_id(request_id_);
    completion.set_state(v1::STATE_READY);
    completion.mutable_front_end()->add_modules()->set_digest(
        std::string(Digest::Of(AsBytes(module)).raw()));
    return completion;
  }

  v1::Completion Failed() const {
    v1::Completion completion;
    completion.set_request_id(request_id_);
    completion.set_state(v1::STATE_FAILED);
    completion.mutable_failure()->set_message("no");
    return completion;
  }

  const Digest program_ = Digest::Of(AsBytes("shader"));
  uint64_t request_id_ = 0;
  Jobs jobs_;
};

TEST_F(JobsShaderTest, ModuleArrivesAndTheSameAgainDoesNot) {
  EXPECT_FALSE(jobs_.Completed(Ready("module")));
  const auto made = jobs_.NextMade();
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->module, Digest::Of(AsBytes("module")));
  jobs_.ShaderDelivered(*made);
  EXPECT_FALSE(jobs_.Completed(Ready("module")));
  EXPECT_FALSE(jobs_.NextMade().has_value());
}

TEST_F(JobsShaderTest, ModuleThatAFailureOvertookIsNotFetched) {
  ASSERT_FALSE(jobs_.Completed(Ready("module")));
  ASSERT_TRUE(jobs_.Completed(Failed()).has_value());
  EXPECT_FALSE(jobs_.NextMade().has_value());
}

TEST_F(JobsShaderTest, ModuleThatTheOneOfBeforeOvertookIsNotFetched) {
  ASSERT_FALSE(jobs_.Completed(Ready("first")));
  jobs_.ShaderDelivered(*jobs_.NextMade());
  ASSERT_FALSE(jobs_.Completed(Ready("second")));
  ASSERT_FALSE(jobs_.Completed(Ready("first")));
  EXPECT_FALSE(jobs_.NextMade().has_value());
}

TEST_F(JobsShaderTest, DroppedOneIsIgnoredAndAskedForAfreshWhenWantedAgain) {
  ASSERT_FALSE(jobs_.Completed(Ready("first")));
  const v1::Completion old = Ready("old");
  jobs_.Drop(program_);
  EXPECT_FALSE(jobs_.NextMade().has_value());
  EXPECT_FALSE(jobs_.Completed(old));
  Batch batch;
  jobs_.Restart();
  EXPECT_FALSE(jobs_.FillBatch(&batch));
  Ask();
  EXPECT_FALSE(jobs_.Completed(Ready("first")));  // it has nothing yet
  EXPECT_TRUE(jobs_.NextMade().has_value());
}

TEST_F(JobsShaderTest, AnswerToTheRequestOfBeforeADropIsNotTheNewOnes) {
  const v1::Completion old = Ready("old");
  jobs_.Drop(program_);
  Ask();
  EXPECT_FALSE(jobs_.Completed(old));
  EXPECT_FALSE(jobs_.NextMade().has_value());
  EXPECT_FALSE(jobs_.Completed(Ready("new")));
  EXPECT_TRUE(jobs_.NextMade().has_value());
}

}  // namespace
}  // namespace kiln::client
