// SPDX-License-Identifier: Apache-2.0
#include "daemon/session_registry.h"

#include <gtest/gtest.h>

namespace kiln::daemon {
namespace {

using std::chrono::seconds;

TEST(SessionRegistryTest, SessionBelongsToTheFirstStreamThatClaimsIt) {
  SessionRegistry sessions;
  const uint64_t id = sessions.Open({nullptr, "game"});
  ASSERT_TRUE(sessions.Attach(id));
  EXPECT_FALSE(sessions.Attach(id));
  sessions.Close(id);
  EXPECT_FALSE(sessions.Attach(id));
}

TEST(SessionRegistryTest, SessionWithoutAStreamExpiresAfterAMinute) {
  SessionRegistry sessions;
  const auto now = SessionRegistry::Clock::now();
  const uint64_t id = sessions.Open({nullptr, "game"}, now);
  EXPECT_FALSE(sessions.Attach(id, now + seconds(61)));
  sessions.Open({nullptr, "editor"}, now + seconds(61));
  EXPECT_EQ(sessions.size(), 1u);
}

TEST(SessionRegistryTest, ClientWithAStreamPlaysUntilItSaysOtherwise) {
  SessionRegistry sessions;
  using Counts = std::array<size_t, kActivities>;
  const uint64_t game = sessions.Open({nullptr, "game"});
  EXPECT_EQ(sessions.activities(), (Counts{0, 0, 0})) << "it has no stream";
  ASSERT_TRUE(sessions.Attach(game));
  EXPECT_EQ(sessions.activities(), (Counts{1, 0, 0}));
  sessions.SetActivity(game, Activity::kIdle);
  EXPECT_EQ(sessions.activities(), (Counts{0, 0, 1}));
  sessions.Close(game);
  sessions.SetActivity(game, Activity::kLoading);
  EXPECT_EQ(sessions.activities(), (Counts{0, 0, 0}));
}

TEST(SessionRegistryTest, SessionWithAStreamDoesNotExpire) {
  SessionRegistry sessions;
  const auto now = SessionRegistry::Clock::now();
  const uint64_t id = sessions.Open({nullptr, "game"}, now);
  ASSERT_TRUE(sessions.Attach(id, now));
  sessions.Open({nullptr, "editor"}, now + seconds(600));
  EXPECT_EQ(sessions.size(), 2u);
}

}  // namespace
}  // namespace kiln::daemon
