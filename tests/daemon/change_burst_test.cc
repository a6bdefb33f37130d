// SPDX-License-Identifier: Apache-2.0
#include "daemon/change_burst.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::daemon {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ChangeBurstTest : public ::testing::Test {
 protected:
  ChangeBurst::Clock::time_point At(int ms) const {
    return start_ + milliseconds(ms);
  }

  SourceWatchOptions options_{.quiet = milliseconds(50),
                              .longest_wait = milliseconds(300),
                              .poll = milliseconds(1000),
                              .max_paths = 3,
                              .watch_limit = 0};
  ChangeBurst burst_{options_};
  const ChangeBurst::Clock::time_point start_ = ChangeBurst::Clock::now();
};

TEST_F(ChangeBurstTest, BurstEndsWhenItHasBeenQuiet) {
  EXPECT_FALSE(burst_.started());
  burst_.Add("a", At(0));
  burst_.Add("b", At(40));
  burst_.Add("a", At(60));
  EXPECT_EQ(burst_.end(), At(110));
  EXPECT_THAT(burst_.Take().paths, ElementsAre("a", "b"));
  EXPECT_FALSE(burst_.started());
}

TEST_F(ChangeBurstTest, BurstThatIsNeverQuietEndsAfterTheLongestWait) {
  for (int ms = 0; ms <= 280; ms += 20) {
    burst_.Add("a", At(ms));
  }
  EXPECT_EQ(burst_.end(), At(300));
}

TEST_F(ChangeBurstTest, FileThatIsBeingWrittenHoldsTheBurst) {
  burst_.Add("a", At(0));
  burst_.SetBeingWritten("a", true);
  EXPECT_EQ(burst_.end(), At(300));
  burst_.Add("a", At(100));
  burst_.SetBeingWritten("a", false);
  EXPECT_EQ(burst_.end(), At(150));
}

TEST_F(ChangeBurstTest, FileThatStaysOpenHoldsOneBurstOnly) {
  burst_.Add("a", At(0));
  burst_.SetBeingWritten("a", true);
  burst_.Take();
  burst_.Add("b", At(400));
  EXPECT_EQ(burst_.end(), At(450));
}

TEST_F(ChangeBurstTest, MorePathsThanAllowedBecomeEverything) {
  for (const char* path : {"a", "b", "c"}) {
    burst_.Add(path, At(0));
  }
  burst_.Add("a", At(1));
  burst_.Add("d", At(2));
  burst_.Add("e", At(3));
  const SourceChange change = burst_.Take();
  EXPECT_TRUE(change.everything);
  EXPECT_THAT(change.paths, IsEmpty());
  burst_.Add("a", At(4));
  EXPECT_FALSE(burst_.Take().everything);
}

}  // namespace
}  // namespace kiln::daemon
