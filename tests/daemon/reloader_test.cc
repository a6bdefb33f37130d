// SPDX-License-Identifier: Apache-2.0
#include "daemon/reloader.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/synchronization/mutex.h"
#include "tests/daemon/live_programs_fixture.h"

namespace kiln::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Keeps what it was told, in order, of each request.
class Ear final : public Subscriber {
 public:
  struct Told {
    uint64_t generation = 0;
    bool first = false;
    std::string error;
  };

  void Deliver(uint64_t request_id, const Answer& answer, bool first) override {
    absl::MutexLock lock(&mutex_);
    told_[request_id].push_back(
        {answer.generation, first, std::string(answer.status.message())});
  }

  std::vector<Told> told(uint64_t request_id) {
    absl::MutexLock lock(&mutex_);
    return told_[request_id];
  }

 private:
  absl::Mutex mutex_;
  std::map<uint64_t, std::vector<Told>> told_ ABSL_GUARDED_BY(mutex_);
};

// Programs with a source that is no text: what a subscriber is told then comes
// from the reloader itself, and no worker is asked.
class ReloaderTest : public LiveProgramsFixture {
 protected:
  ReloaderTest() {
    recipe_.stages[1].path = "part.frag";
    LoseAt(0);
  }

  // Saves a fragment shader that cannot be read, by another line each time.
  void LoseAt(int save) {
    source_.Save("part.frag", std::string(static_cast<size_t>(save), '\n') +
                                  std::string(1, '\0'));
  }

  static std::string LossAt(int save) {
    return "NUL byte in line " + std::to_string(save + 1) + ";";
  }

  Wish WishOf(const Digest& program, uint64_t request_id,
              FeatureMask features = 1) {
    Wish wish;
    wish.request_id = request_id;
    wish.key = {program, "opaque", "none", "alpha", features, {}};
    return wish;
  }

  void Request(const std::shared_ptr<Ear>& ear, Wish wish) {
    Reloader::Batch batch;
    reloader_.Request(ear, std::move(wish), batch);
  }

  boost::asio::io_context io_;
  boost::asio::thread_pool store_thread_{1};
  AskedKeys asked_;
  Counters counters_;
  Scheduler scheduler_{io_,        store_thread_, *store_,
                       *registry_, asked_,        counters_};
  Reloader reloader_{*programs_, scheduler_, counters_};
};

TEST_F(ReloaderTest, EachSaveIsToldOnceAndOnlyTheFirstAnswerIsTheFirst) {
  const Digest id = Register(recipe_);
  auto ear = std::make_shared<Ear>();
  Request(ear, WishOf(id, 7));
  ASSERT_THAT(ear->told(7), SizeIs(1));
  EXPECT_TRUE(ear->told(7)[0].first);
  EXPECT_THAT(ear->told(7)[0].error, HasSubstr(LossAt(0)));

  EXPECT_TRUE(reloader_.Refresh());
  EXPECT_THAT(ear->told(7), SizeIs(1)) << "nothing was saved";

  LoseAt(1);
  EXPECT_TRUE(reloader_.Refresh());
  EXPECT_TRUE(reloader_.Refresh());
  ASSERT_THAT(ear->told(7), SizeIs(2));
  EXPECT_FALSE(ear->told(7)[1].first);
  EXPECT_THAT(ear->told(7)[1].error, HasSubstr(LossAt(1)));
  EXPECT_GT(ear->told(7)[1].generation, ear->told(7)[0].generation);
}

TEST_F(ReloaderTest, AskingAgainReplacesTheEarlierRequest) {
  const Digest id = Register(recipe_);
  auto ear = std::make_shared<Ear>();
  Request(ear, WishOf(id, 1));
  Request(ear, WishOf(id, 2));
  LoseAt(1);
  reloader_.Refresh();
  EXPECT_THAT(ear->told(1), SizeIs(1));
  EXPECT_THAT(ear->told(2), SizeIs(2));
}

TEST_F(ReloaderTest, NobodyIsToldAfterForget) {
  const Digest id = Register(recipe_);
  auto ear = std::make_shared<Ear>();
  auto other = std::make_shared<Ear>();
  Request(ear, WishOf(id, 1));
  Request(ear, WishOf(id, 2, /*features=*/2));
  Request(other, WishOf(id, 3));
  reloader_.Forget(ear.get());
  LoseAt(1);
  reloader_.Refresh();
  EXPECT_THAT(ear->told(1), SizeIs(1));
  EXPECT_THAT(ear->told(2), SizeIs(1));
  EXPECT_THAT(other->told(3), SizeIs(2));
}

TEST_F(ReloaderTest, SubscriberThatEndedWithoutAWordIsNotCalled) {
  const Digest id = Register(recipe_);
  auto ear = std::make_shared<Ear>();
  Request(ear, WishOf(id, 1));
  ear.reset();
  LoseAt(1);
  EXPECT_TRUE(reloader_.Refresh());
}

TEST_F(ReloaderTest, BatchThatLookedBeforeASaveIsAnsweredForTheSave) {
  const Digest id = Register(recipe_);
  auto ear = std::make_shared<Ear>();
  Reloader::Batch batch;
  reloader_.Request(ear, WishOf(id, 1), batch);
  LoseAt(1);
  reloader_.Refresh();
  // The batch still has what the program was before the save.
  reloader_.Request(ear, WishOf(id, 2, /*features=*/2), batch);
  ASSERT_THAT(ear->told(2), SizeIs(1));
  EXPECT_THAT(ear->told(2)[0].error, HasSubstr(LossAt(1)));
}

// Requests and refreshes from many threads during saves: no subscriber is told
// of an older generation after a later one, and the last save reaches all.
TEST_F(ReloaderTest, LastSaveReachesEveryRequestInOrder) {
  const Digest id = Register(recipe_);
  constexpr int kSaves = 30;
  constexpr uint64_t kRequests = 32;
  std::vector<std::shared_ptr<Ear>> ears;
  for (int i = 0; i < 2; ++i) {
    ears.push_back(std::make_shared<Ear>());
  }
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!done) {
        reloader_.Refresh();
      }
    });
    threads.emplace_back([&, ear = ears[static_cast<size_t>(i)]] {
      for (uint64_t request = 0; request < kRequests; ++request) {
        Reloader::Batch batch;
        // Each its own key, as those of one frame are.
        Wish wish = WishOf(id, request);
        wish.key.overrides = {{"K" + std::to_string(request), 1}};
        reloader_.Request(ear, std::move(wish), batch);
        std::this_thread::yield();
      }
    });
  }
  for (int save = 1; save <= kSaves; ++save) {
    LoseAt(save);
    std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  while (!reloader_.Refresh()) {
  }
  for (const auto& ear : ears) {
    for (uint64_t request = 0; request < kRequests; ++request) {
      const std::vector<Ear::Told> told = ear->told(request);
      ASSERT_FALSE(told.empty());
      EXPECT_THAT(told.back().error, HasSubstr(LossAt(kSaves))) << request;
      for (size_t i = 1; i < told.size(); ++i) {
        EXPECT_GT(told[i].generation, told[i - 1].generation) << request;
        EXPECT_FALSE(told[i].first) << request;
      }
    }
  }
}

}  // namespace
}  // namespace kiln::daemon
