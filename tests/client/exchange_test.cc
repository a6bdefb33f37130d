// SPDX-License-Identifier: Apache-2.0
#include "client/exchange.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "tests/client/tiny_program.h"

namespace kiln::client {
namespace {

class ExchangeTest : public ::testing::Test {
 protected:
  ExchangeTest() {
    auto program = std::make_shared<KnownProgram>();
    program->program = testing::TinyProgram();
    VariantKey key =
        NormaliseKey(program->program, testing::OpaqueKey(program->program, 1))
            .value();
    program->id = key.program;
    key_ = KeyId(key);
    exchange_.AddProgram(program);
    exchange_.AddKey(program, key, key_);
  }

  Exchange exchange_;
  Digest key_;
};

TEST_F(ExchangeTest, ResolveDoesNotChangeBetweenPolls) {
  auto variant = std::make_shared<ReadyVariant>();
  exchange_.Ready(key_, variant);
  EXPECT_EQ(exchange_.Resolve(key_), nullptr);
  EXPECT_EQ(exchange_.StateOf(key_).state, VariantState::kPending);
  std::vector<Event> events;
  EXPECT_TRUE(exchange_.Poll(&events));
  EXPECT_EQ(exchange_.Resolve(key_), variant);
  EXPECT_EQ(exchange_.StateOf(key_).state, VariantState::kReady);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, Event::Kind::kVariantReady);
  EXPECT_EQ(events[0].id, key_);
  EXPECT_FALSE(exchange_.Poll(&events));
}

TEST_F(ExchangeTest, PollWithoutAPlaceForEventsStillPublishes) {
  exchange_.Failed(key_, "label", "why", "diagnostics");
  EXPECT_TRUE(exchange_.Poll(nullptr));
  EXPECT_EQ(exchange_.StateOf(key_).state, VariantState::kFailed);
  EXPECT_EQ(exchange_.StateOf(key_).message, "why");
  EXPECT_EQ(exchange_.StateOf(key_).diagnostics, "diagnostics");
}

TEST_F(ExchangeTest, KeyAskedForTwiceIsSentOnce) {
  const Exchange::Outbox first = exchange_.TakeOutbox();
  ASSERT_EQ(first.keys.size(), 1u);
  ASSERT_EQ(first.programs.size(), 1u);
  exchange_.AddKey(first.programs[0], first.keys[0].key, key_);
  EXPECT_FALSE(exchange_.AddProgram(first.programs[0]));
  EXPECT_TRUE(exchange_.TakeOutbox().keys.empty());
  EXPECT_TRUE(exchange_.TakeOutbox().programs.empty());
}

TEST_F(ExchangeTest, ConnectionThatStaysAsItIsMakesNoEvent) {
  std::vector<Event> events;
  exchange_.SetConnection(ConnectionState::kConnecting, "no kilnd");
  exchange_.SetConnection(ConnectionState::kConnecting, "no kilnd");
  exchange_.SetConnection(ConnectionState::kReady, "");
  EXPECT_TRUE(exchange_.Poll(&events));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].message, "no kilnd");
  EXPECT_EQ(events[1].connection, ConnectionState::kReady);
}

TEST_F(ExchangeTest, UnsentFeedbackIsBounded) {
  for (int i = 0; i < 100000; ++i) {
    exchange_.AddFeedback({key_, HitFeedback::kCacheHit, {}});
  }
  EXPECT_LE(exchange_.TakeOutbox().feedback.size(), 4096u);
}

// DESIGN section 7: at most 100 ns at a frame boundary. The best of several
// rounds, since others use this machine, too.
TEST_F(ExchangeTest, PollWithNothingNewStaysWithinItsBudget) {
  constexpr int kPolls = 100000;
  exchange_.Poll(nullptr);
  auto best = std::chrono::steady_clock::duration::max();
  for (int round = 0; round < 10; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kPolls; ++i) {
      exchange_.Poll(nullptr);
    }
    best = std::min(best, std::chrono::steady_clock::now() - start);
  }
  const auto nanoseconds =
      std::chrono::duration_cast<std::chrono::nanoseconds>(best).count();
  RecordProperty("poll_ps", std::to_string(nanoseconds * 1000 / kPolls));
  EXPECT_LE(nanoseconds / kPolls, 100);
}

}  // namespace
}  // namespace kiln::client
