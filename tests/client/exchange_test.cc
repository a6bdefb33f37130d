// SPDX-License-Identifier: Apache-2.0
#include "client/exchange.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "client/surface_caller.h"
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
    exchange_.AddKey(program, key, key_, Urgency::kOnScreen);
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
  exchange_.AddKey(first.programs[0], first.keys[0].key, key_,
                   Urgency::kOnScreen);
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

ShaderCode CodeOf(uint32_t word) {
  ShaderCode code;
  code.spirv = std::make_shared<const std::vector<uint32_t>>(
      std::vector<uint32_t>{0x07230203, word});
  return code;
}

class ExchangeShaderTest : public ::testing::Test {
 protected:
  ShaderHandle Ask() { return exchange_.AddShader({program_, "lit", true}); }

  const Digest program_ = Digest::Of(AsBytes("shader"));
  Exchange exchange_;
};

TEST_F(ExchangeShaderTest, ModuleThatTheLibraryRefusesIsAFailure) {
  const ShaderHandle lit = Ask();
  exchange_.ShaderReady(program_, ShaderCode{}, "");
  std::vector<Event> events;
  exchange_.Poll(&events);
  EXPECT_EQ(exchange_.StateOf(lit).state, VariantState::kFailed);
  EXPECT_EQ(exchange_.StateOf(lit).message,
            "lit: shader committed without words");
  EXPECT_FALSE(exchange_.has_pending());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, Event::Kind::kShaderFailed);
  EXPECT_EQ(events[0].message, "lit: shader committed without words");
}

TEST_F(ExchangeShaderTest, ReleaseOfAPendingShaderSettlesAndForgetsIt) {
  const ShaderHandle lit = Ask();
  ASSERT_TRUE(exchange_.has_pending());
  exchange_.ShaderReady(program_, CodeOf(1), "");  // told, not published
  exchange_.ReleaseShader(lit);
  EXPECT_FALSE(exchange_.has_pending());
  EXPECT_EQ(exchange_.StateOf(lit).state, VariantState::kUnknown);
  exchange_.ShaderReady(program_, CodeOf(1), "");  // told too late
  std::vector<Event> events;
  exchange_.Poll(&events);
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(exchange_.library().Resolve(lit), nullptr);
  EXPECT_FALSE(exchange_.has_pending());
}

TEST_F(ExchangeShaderTest, ReleaseIsToldBeforeWhatIsAskedForAgain) {
  const ShaderHandle lit = Ask();
  exchange_.ReleaseShader(lit);
  Ask();
  const Exchange::Outbox outbox = exchange_.TakeOutbox();
  EXPECT_EQ(outbox.releases, std::vector<Digest>{program_});
  EXPECT_EQ(outbox.shaders.size(), 1u);
}

TEST_F(ExchangeShaderTest, ReleasedShaderIsPendingAgainUnderALiveHandle) {
  const ShaderHandle first = Ask();
  exchange_.ShaderReady(program_, CodeOf(1), "");
  exchange_.Poll(nullptr);
  ASSERT_NE(exchange_.library().Resolve(first), nullptr);
  exchange_.ReleaseShader(first);
  const ShaderHandle again = Ask();  // before the frame ends
  EXPECT_EQ(exchange_.StateOf(again).state, VariantState::kPending);
  exchange_.library().EndFrame();
  exchange_.ShaderReady(program_, CodeOf(2), "");
  exchange_.Poll(nullptr);
  EXPECT_EQ(exchange_.StateOf(again).state, VariantState::kReady);
  const ResolvedShader* shader = exchange_.library().Resolve(again);
  ASSERT_NE(shader, nullptr);
  EXPECT_EQ(shader->code.spirv->at(1), 2u);
}

TEST_F(ExchangeShaderTest, ReleasedShaderThatFailsWhenAskedAgainIsNotPending) {
  const ShaderHandle first = Ask();
  exchange_.ShaderReady(program_, CodeOf(1), "");
  exchange_.Poll(nullptr);
  exchange_.ReleaseShader(first);
  const ShaderHandle again = Ask();
  exchange_.Failed(program_, "lit", "lit: no", "");
  exchange_.Poll(nullptr);
  EXPECT_EQ(exchange_.StateOf(again).state, VariantState::kFailed);
  EXPECT_FALSE(exchange_.has_pending());
}

TEST(KnownSurfacesTest, SameNameReplacesTheTextAndWaitsForAnAnswerAgain) {
  const Digest program = Digest::Of(AsBytes("program"));
  std::vector<KnownSurface> surfaces;
  Remember({program, "red", "old"}, surfaces);
  Remember({program, "rust", "other"}, surfaces);
  Remember({Digest::Of(AsBytes("another")), "red", "elsewhere"}, surfaces);
  surfaces[0].answer = SurfaceAnswer{true, 1, "", ""};
  surfaces[0].waiting = 0;
  Remember({program, "red", "new"}, surfaces);
  ASSERT_EQ(surfaces.size(), 3u);
  EXPECT_EQ(surfaces[0].request.source, "new");
  EXPECT_FALSE(surfaces[0].answer.has_value());
  EXPECT_EQ(surfaces[0].waiting, 1);
  EXPECT_NE(surfaces[0].version, surfaces[1].version);
}

TEST(KnownSurfacesTest, TextReplacedUnansweredIsSettledByOneAnswer) {
  Exchange exchange;
  const SurfaceRequest request{Digest::Of(AsBytes("program")), "red", "text"};
  exchange.AddSurface(request);
  exchange.AddSurface(request);
  std::vector<KnownSurface> surfaces;
  for (const SurfaceRequest& asked : exchange.TakeOutbox().surfaces) {
    Remember(asked, surfaces);
  }
  ASSERT_EQ(surfaces.size(), 1u);
  exchange.SurfaceAnswered(request, {true, 1, "", ""}, surfaces[0].waiting);
  exchange.Poll(nullptr);
  EXPECT_FALSE(exchange.has_pending());
}

TEST(KnownSurfacesTest, OnlyWhatNoRetryChangesIsAVerdict) {
  EXPECT_TRUE(IsVerdict(absl::OkStatus()));
  EXPECT_TRUE(IsVerdict(absl::NotFoundError("program 1234")));
  EXPECT_TRUE(IsVerdict(absl::InvalidArgumentError("program_id")));
  EXPECT_TRUE(IsVerdict(absl::ResourceExhaustedError("255 surfaces")));
  EXPECT_TRUE(IsVerdict(absl::FailedPreconditionError(
      "sealed: this kilnd compiles nothing, so it takes no surfaces")));
  EXPECT_TRUE(IsVerdict(absl::FailedPreconditionError(
      "program x takes no surface shaders: it has no [surface]")));
  EXPECT_FALSE(IsVerdict(absl::FailedPreconditionError(
      "the program does not compile: fragment stage")));
  EXPECT_FALSE(IsVerdict(absl::DeadlineExceededError("")));
  EXPECT_FALSE(IsVerdict(absl::UnavailableError("")));
  EXPECT_FALSE(IsVerdict(absl::CancelledError("")));
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
