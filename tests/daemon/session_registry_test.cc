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
