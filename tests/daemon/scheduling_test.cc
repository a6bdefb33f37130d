// SPDX-License-Identifier: Apache-2.0

// Whose compile comes next, and which is not made at all (job_queue.h), with a
// real daemon and a real driver. Orders are asserted, never times.

#include "tests/daemon/scheduling_fixture.h"

namespace kiln::daemon {
namespace {

using testing::Eventually;
using testing::StreamClient;

// More than are compiled before a test has stopped the workers; they are never
// all compiled.
constexpr uint32_t kWarmUp = 2000;

class WarmUpTest : public SchedulingTest {
 protected:
  using SchedulingTest::SchedulingTest;

  // In batches that the contract allows.
  void AskForWarmUp(StreamClient& client) {
    ASSERT_TRUE(AskMany(client, 0, kWarmUp / 2, v1::URGENCY_WARM_UP));
    ASSERT_TRUE(AskMany(client, kWarmUp / 2, kWarmUp / 2, v1::URGENCY_WARM_UP));
  }
};

class OvertakingTest : public WarmUpTest,
                       public ::testing::WithParamInterface<int> {
 protected:
  OvertakingTest()
      : WarmUpTest({{"--workers", std::to_string(GetParam())}, {}}) {}

  size_t workers() const { return static_cast<size_t>(GetParam()); }

  // A warm-up is under way, and stands still.
  void StartWarmUp(StreamClient& client) {
    // So that nobody plays, and all workers take part.
    v1::ClientMessage loading;
    loading.mutable_set_activity()->set_activity(v1::ACTIVITY_LOADING);
    ASSERT_TRUE(client.Send(loading));
    ASSERT_TRUE(AskMany(client, 5000, 1, v1::URGENCY_WARM_UP));
    ASSERT_OK(client.Next());  // the front end has run
    // With the first worker stopped before it has work, the warm-up lasts until
    // the second one has opened.
    Freeze(0);
    AskForWarmUp(client);
    Freeze(workers());
  }
};

TEST_P(OvertakingTest, RequestOnScreenOvertakesAWarmUp) {
  auto warm = Join();
  StartWarmUp(*warm);
  auto game = Join();
  const size_t before = Compiled().size();
  ASSERT_TRUE(Ask(*game, {Key(9000, v1::URGENCY_UNSPECIFIED, 1)}));
  Barrier(*game);
  EXPECT_EQ(Status().queue().on_screen(), 1u);
  Thaw();
  const v1::Completion completion = Await(*game, 1);
  EXPECT_EQ(completion.state(), v1::STATE_READY);
  EXPECT_LE(CompiledBefore(completion.variant().label(), before), workers());
}

TEST_P(OvertakingTest, SingleRequestOfTheSameClassWaitsForOneCompileAWorker) {
  auto warm = Join();
  StartWarmUp(*warm);
  auto other = Join();
  const size_t before = Compiled().size();
  ASSERT_TRUE(Ask(*other, {Key(9000, v1::URGENCY_WARM_UP, 1)}));
  Barrier(*other);
  Thaw();
  const v1::Completion completion = Await(*other, 1);
  EXPECT_EQ(completion.state(), v1::STATE_READY);
  EXPECT_LE(CompiledBefore(completion.variant().label(), before), workers());
}

INSTANTIATE_TEST_SUITE_P(Workers, OvertakingTest, ::testing::Values(1));

class OneWorkerTest : public WarmUpTest {
 protected:
  OneWorkerTest() : WarmUpTest({{"--workers", "1"}, {}}) {}
};

TEST_F(OneWorkerTest, QueuedKeyThatIsAskedForOnScreenComesNext) {
  auto client = Join();
  AskForWarmUp(*client);
  ASSERT_OK(client->Next());
  Freeze(1);
  Barrier(*client);  // all of it is queued
  const size_t before = Compiled().size();
  // Its last one, again: a draw needs it now.
  ASSERT_TRUE(Ask(*client, {Key(kWarmUp - 1, v1::URGENCY_ON_SCREEN, 5000)}));
  Barrier(*client);
  EXPECT_EQ(daemon_.CounterValue("promoted"), 1u);
  EXPECT_EQ(Status().queue().on_screen(), 1u);
  Thaw();
  const v1::Completion completion = Await(*client, 5000);
  EXPECT_EQ(completion.state(), v1::STATE_READY);
  EXPECT_LE(CompiledBefore(completion.variant().label(), before), 1u);
}

TEST_F(OneWorkerTest, ClientMayLowerWhatItAskedFor) {
  auto client = Join();
  Freeze(0);
  ASSERT_TRUE(AskMany(*client, 0, 8, v1::URGENCY_ON_SCREEN));
  Barrier(*client);
  ASSERT_TRUE(AskMany(*client, 0, 8, v1::URGENCY_SPECULATIVE));
  Barrier(*client);
  const v1::QueueStatus queue = Status().queue();
  EXPECT_EQ(queue.on_screen(), 0u);
  EXPECT_EQ(queue.speculative(), 7u);
  Thaw();
}

TEST_F(OneWorkerTest, WhatOnlyAClientThatIsGoneWaitedForIsNeverCompiled) {
  auto client = Join();
  auto stays = Join();
  AskForWarmUp(*client);
  ASSERT_OK(client->Next());
  Freeze(1);
  Barrier(*client);
  ASSERT_TRUE(AskMany(*stays, kWarmUp - 5, 5, v1::URGENCY_WARM_UP));
  Barrier(*stays);
  const uint64_t started = daemon_.CounterValue("compiles_started");
  client.reset();
  ASSERT_TRUE(Eventually([&] { return Status().jobs_queued() == 5; }));
  EXPECT_EQ(daemon_.CounterValue("cancelled"), kWarmUp - 5 - started);
  Thaw();
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK(stays->Next());
  }
  EXPECT_EQ(daemon_.CounterValue("compiles_started"), started + 5);
  EXPECT_EQ(daemon_.CounterValue("compiles_finished"), started + 5)
      << "what ran when the client went was finished";
  // The dropped ones are as if nobody had asked.
  ASSERT_TRUE(Ask(*stays, {Key(kWarmUp / 2, v1::URGENCY_WARM_UP, 7000)}));
  EXPECT_EQ(Await(*stays, 7000).origin(), v1::ORIGIN_COMPILED);
}

TEST_F(OneWorkerTest, ReleasedRequestsAreToldAndNotCompiled) {
  auto client = Join();
  Freeze(0);
  ASSERT_TRUE(AskMany(*client, 0, 10, v1::URGENCY_WARM_UP));
  Barrier(*client);
  const uint64_t started = daemon_.CounterValue("compiles_started");
  v1::ClientMessage release;
  for (uint64_t id = 6; id < 10; ++id) {
    release.mutable_release()->add_request_ids(id);
  }
  release.mutable_release()->add_request_ids(12345);  // nobody's: no matter
  ASSERT_TRUE(client->Send(release));
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK_AND_ASSIGN(const v1::ServerMessage message, client->Next());
    EXPECT_EQ(message.completion().state(), v1::STATE_REJECTED);
    EXPECT_EQ(message.completion().failure().code(),
              static_cast<uint32_t>(absl::StatusCode::kCancelled));
  }
  Status();
  EXPECT_EQ(Status().jobs_queued() + started, 6u);
  Thaw();
  for (int i = 0; i < 6; ++i) {
    ASSERT_OK_AND_ASSIGN(const v1::ServerMessage message, client->Next());
    EXPECT_EQ(message.completion().state(), v1::STATE_READY);
  }
  EXPECT_EQ(daemon_.CounterValue("compiles_started"), 6u);
}

TEST_F(OneWorkerTest, RequestThatIsToBeKeptOutlivesItsClient) {
  auto client = Join();
  Freeze(0);
  ASSERT_TRUE(AskMany(*client, 0, 10, v1::URGENCY_ON_SCREEN));
  v1::VariantRequest kept = Key(9000, v1::URGENCY_ON_SCREEN, 2000);
  kept.set_keep(true);
  ASSERT_TRUE(Ask(*client, {kept}));
  Barrier(*client);
  client.reset();
  ASSERT_TRUE(Eventually([&] {
    return Status().queue().warm_up() == 1 && Status().jobs_queued() == 1;
  }));
  Thaw();
  ASSERT_TRUE(Eventually(
      [&] { return Status().jobs_queued() + Status().jobs_running() == 0; }));
  auto again = Join();
  ASSERT_TRUE(Ask(*again, {Key(9000, v1::URGENCY_ON_SCREEN, 1)}));
  EXPECT_EQ(Await(*again, 1).origin(), v1::ORIGIN_STORE);
}

// A front end that only requests with overrides need, which wait for it.
TEST_F(OneWorkerTest, FrontEndThatNobodyNeedsAnyMoreDoesNotRun) {
  Program program = testing::SmallProgram();
  program.name = "other";
  program.overrides = {{"GAIN", 7, ConstantType::kFloat32}};
  ASSERT_OK_AND_ASSIGN(const Digest id,
                       daemon_.Connect()->RegisterProgram(program));
  auto busy = Join();
  Freeze(0);
  ASSERT_TRUE(AskMany(*busy, 0, 3, v1::URGENCY_ON_SCREEN));
  Barrier(*busy);
  const uint64_t queued = Status().jobs_queued();
  auto client = Join();
  v1::VariantRequest request = testing::MakeRequest(id, "opaque", 1);
  v1::OverrideValue* gain = request.add_overrides();
  gain->set_name("GAIN");
  gain->set_value(0x3f800000);
  ASSERT_TRUE(Ask(*client, {request}));
  Barrier(*client);
  EXPECT_EQ(Status().jobs_queued(), queued + 1);
  client.reset();
  ASSERT_TRUE(Eventually([&] { return Status().jobs_queued() == queued; }));
  Thaw();
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(busy->Next());
  }
  EXPECT_EQ(daemon_.CounterValue("front_end_runs"), 1u);
}

}  // namespace
}  // namespace kiln::daemon
