// SPDX-License-Identifier: Apache-2.0
#include "daemon/job_queue.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::daemon {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::UnorderedElementsAre;

constexpr Urgency kScreen = Urgency::kOnScreen;
constexpr Urgency kWarm = Urgency::kWarmUp;
constexpr Urgency kMaybe = Urgency::kSpeculative;

Digest Name(const std::string& text) {
  return Digest::Of(AsBytes(text));
}

class JobQueueTest : public ::testing::Test {
 protected:
  void Add(uint64_t id, std::vector<Interest> interests,
           const std::string& program = "p", const std::string& target = "t") {
    queue_.Add({id, Name(target), Name(program)}, interests);
  }

  // Takes until nothing is left.
  std::vector<uint64_t> TakeAll() {
    std::vector<uint64_t> order;
    while (const auto id = queue_.Take()) {
      order.push_back(*id);
      queue_.Done(*id);
    }
    return order;
  }

  JobQueue::TimePoint now_{};
  JobQueue queue_{{}, [this] { return now_; }};
};

TEST_F(JobQueueTest, BetterClassComesFirst) {
  Add(1, {{1, kMaybe}});
  Add(2, {{1, kWarm}});
  Add(3, {{1, kScreen}});
  EXPECT_EQ(queue_.size(), 3u);
  EXPECT_EQ(queue_.size(kWarm), 1u);
  EXPECT_THAT(TakeAll(), ElementsAre(3, 2, 1));
  EXPECT_EQ(queue_.size(), 0u);
}

TEST_F(JobQueueTest, WhatMostClientsWaitForComesFirstThenTheOldest) {
  Add(1, {{1, kWarm}});
  Add(2, {{1, kWarm}});
  Add(3, {{1, kWarm}, {2, kWarm}});
  EXPECT_THAT(TakeAll(), ElementsAre(3, 1, 2));
}

TEST_F(JobQueueTest, JobHasTheClassOfItsMostUrgentClient) {
  Add(1, {{1, kWarm}});
  Add(2, {{1, kWarm}, {2, kScreen}});
  EXPECT_EQ(queue_.urgency(2), kScreen);
  EXPECT_THAT(TakeAll(), ElementsAre(2, 1));
}

TEST_F(JobQueueTest, LaterInterestMovesAQueuedJobUpAndDown) {
  Add(1, {{1, kWarm}});
  Add(2, {{1, kWarm}});
  Add(3, {{1, kWarm}});
  EXPECT_EQ(queue_.Set(3, std::vector<Interest>{{1, kWarm}, {2, kScreen}}),
            JobQueue::Change::kPromoted);
  EXPECT_EQ(queue_.Set(1, std::vector<Interest>{{1, kMaybe}}),
            JobQueue::Change::kNone);
  EXPECT_THAT(TakeAll(), ElementsAre(3, 2, 1));
}

TEST_F(JobQueueTest, LastInterestOfAClientCounts) {
  Add(1, {{1, kScreen}, {1, kWarm}});
  Add(2, {{1, kWarm}, {1, kScreen}});
  EXPECT_THAT(TakeAll(), ElementsAre(2, 1));
}

TEST_F(JobQueueTest, MoreWaitersMoveAJobWithinItsClass) {
  Add(1, {{1, kWarm}});
  Add(2, {{1, kWarm}});
  EXPECT_EQ(queue_.Set(2, std::vector<Interest>{{1, kWarm}, {2, kMaybe}}),
            JobQueue::Change::kNone);
  EXPECT_THAT(TakeAll(), ElementsAre(2, 1));
}

TEST_F(JobQueueTest, QueuedJobThatNobodyWaitsForIsDropped) {
  Add(1, {{1, kWarm}, {2, kScreen}});
  EXPECT_EQ(queue_.Set(1, std::vector<Interest>{{1, kWarm}}),
            JobQueue::Change::kNone);
  EXPECT_EQ(queue_.urgency(1), kWarm);
  EXPECT_EQ(queue_.Set(1, {}), JobQueue::Change::kDropped);
  EXPECT_EQ(queue_.size(), 0u);
  EXPECT_THAT(TakeAll(), ElementsAre());
  EXPECT_EQ(queue_.Set(1, {}), JobQueue::Change::kNone) << "it is unknown";
}

TEST_F(JobQueueTest, TakenJobGoesOnWithoutWaitersAndComesLastIfPutBack) {
  Add(1, {{1, kScreen}});
  ASSERT_THAT(queue_.Take(), Optional(1));
  EXPECT_EQ(queue_.Set(1, {}), JobQueue::Change::kNone);
  Add(2, {{2, kMaybe}});
  queue_.PutBack(1);
  EXPECT_THAT(TakeAll(), ElementsAre(2, 1));
}

TEST_F(JobQueueTest, JobPutBackComesBeforeOthersOfItsRank) {
  Add(1, {{1, kWarm}});
  Add(2, {{1, kWarm}});
  ASSERT_THAT(queue_.Take(), Optional(1));
  queue_.PutBack(1);
  EXPECT_THAT(TakeAll(), ElementsAre(1, 2));
}

TEST_F(JobQueueTest, ClientsOfAClassTakeTurns) {
  for (uint64_t id = 1; id <= 4; ++id) {
    Add(id, {{1, kWarm}});
  }
  Add(11, {{2, kWarm}});
  Add(12, {{2, kWarm}});
  EXPECT_THAT(TakeAll(), ElementsAre(1, 11, 2, 12, 3, 4));
}

// A client that always has exactly one job must not have every turn.
TEST_F(JobQueueTest, ClientThatComesAndGoesTakesItsTurnLikeOthers) {
  for (uint64_t id = 1; id <= 100; ++id) {
    Add(id, {{1, kWarm}});
  }
  int own = 0;
  for (uint64_t turn = 0; turn < 20; ++turn) {
    Add(1000 + turn, {{2, kWarm}});
    for (int i = 0; i < 2; ++i) {
      const auto id = queue_.Take();
      own += *id >= 1000 ? 1 : 0;
      queue_.Done(*id);
    }
  }
  EXPECT_EQ(own, 20);
  EXPECT_EQ(queue_.size(), 80u);
}

TEST_F(JobQueueTest, ClientIsChargedNoTurnThatItsTargetCouldNotTake) {
  Add(1, {{1, kWarm}}, "p", "closed");
  for (uint64_t id = 11; id <= 14; ++id) {
    Add(id, {{2, kWarm}});
  }
  TakeFilter filter;
  filter.target = [](const Digest& target) { return target != Name("closed"); };
  EXPECT_THAT(queue_.Take(filter), Optional(11));
  EXPECT_THAT(queue_.Take(filter), Optional(12));
  for (uint64_t id = 2; id <= 4; ++id) {
    Add(id, {{1, kWarm}}, "p", "closed");
  }
  // Once it is open: one turn each, no burst for what it missed.
  EXPECT_THAT(queue_.Take(), Optional(1));
  EXPECT_THAT(queue_.Take(), Optional(13));
  EXPECT_THAT(queue_.Take(), Optional(2));
}

TEST_F(JobQueueTest, ProgramsThatMustWaitLetOthersOfTheClientPass) {
  for (uint64_t id = 1; id <= 3; ++id) {
    Add(id, {{1, kScreen}}, "blocked");
  }
  Add(4, {{1, kScreen}}, "free");
  TakeFilter filter;
  filter.program = [](const Digest&, const Digest& program) {
    return program != Name("blocked");
  };
  EXPECT_THAT(queue_.Take(filter), Optional(4));
  EXPECT_EQ(queue_.Take(filter), std::nullopt);
  EXPECT_THAT(queue_.Take(), Optional(1));
}

TEST_F(JobQueueTest, BackgroundIsNotTakenWhereItMayNotRun) {
  Add(1, {{1, kWarm}});
  Add(2, {{1, kMaybe}});
  EXPECT_EQ(queue_.Take({.background = false}), std::nullopt);
  Add(3, {{1, kScreen}});
  EXPECT_THAT(queue_.Take({.background = false}), Optional(3));
}

TEST_F(JobQueueTest, OverdueBackgroundGetsEveryNinthTurnAndNoneBeforeItIsDue) {
  Add(1, {{1, kMaybe}});
  Add(2, {{1, kMaybe}});
  for (uint64_t id = 101; id <= 140; ++id) {
    Add(id, {{2, kScreen}});
  }
  for (uint64_t id = 101; id <= 112; ++id) {
    EXPECT_THAT(queue_.Take(), Optional(id)) << "nothing is overdue";
  }
  now_ += seconds(11);
  for (uint64_t id = 113; id <= 120; ++id) {
    EXPECT_THAT(queue_.Take(), Optional(id));
  }
  EXPECT_THAT(queue_.Take(), Optional(1));
  for (uint64_t id = 121; id <= 128; ++id) {
    EXPECT_THAT(queue_.Take(), Optional(id));
  }
  EXPECT_THAT(queue_.Take(), Optional(2));
}

TEST_F(JobQueueTest, CountsTellTargetsAndAge) {
  Add(1, {{1, kScreen}}, "p", "a");
  Add(2, {{1, kMaybe}}, "p", "b");
  now_ += seconds(3);
  Add(3, {{1, kWarm}}, "p", "a");
  EXPECT_EQ(queue_.SizeOf(Name("a")), (std::pair<size_t, size_t>(1, 1)));
  EXPECT_EQ(queue_.SizeOf(Name("c")), (std::pair<size_t, size_t>(0, 0)));
  EXPECT_THAT(queue_.Targets(), UnorderedElementsAre(Name("a"), Name("b")));
  EXPECT_THAT(queue_.Queued(), UnorderedElementsAre(1, 2, 3));
  EXPECT_EQ(queue_.BackgroundAge(), seconds(3));
  queue_.Done(2);
  EXPECT_EQ(queue_.BackgroundAge(), seconds(0));
}

// How many jobs of a client that warms up `keys` start after another client's
// single request came and before it runs, plus those that run then: of
// `workers`, with `others` further clients of the same class.
size_t Delay(uint64_t keys, size_t workers, uint64_t others, Urgency single,
             uint32_t seed) {
  std::mt19937 random(seed);
  JobQueue queue({}, [] { return JobQueue::TimePoint(); });
  std::map<uint64_t, uint64_t> client_of;
  uint64_t next_id = 1;
  auto add = [&](uint64_t client, Urgency urgency) {
    client_of[next_id] = client;
    queue.Add({next_id++, Name("t"), Name("p")},
              std::vector<Interest>{{client, urgency}});
  };
  for (uint64_t i = 0; i < keys; ++i) {
    add(1, kWarm);
  }
  std::vector<uint64_t> running;
  auto fill = [&] {
    while (running.size() < workers) {
      const auto id = queue.Take();
      if (!id) {
        return;
      }
      running.push_back(*id);
    }
  };
  auto end_one = [&] {
    const size_t which = random() % running.size();
    queue.Done(running[which]);
    running.erase(running.begin() + static_cast<ptrdiff_t>(which));
    fill();
  };
  fill();
  const uint32_t steps = 100 + random() % 50;
  for (uint32_t i = 0; i < steps; ++i) {
    for (uint64_t other = 0; other < others; ++other) {
      if (random() % 3 == 0) {
        add(100 + other, kWarm);
        fill();
      }
    }
    end_one();
  }
  const uint64_t wanted = next_id;
  std::set<uint64_t> seen(running.begin(), running.end());
  add(7, single);
  fill();
  while (std::ranges::find(running, wanted) == running.end()) {
    seen.insert(running.begin(), running.end());
    end_one();
  }
  return static_cast<size_t>(std::ranges::count_if(
      seen, [&](uint64_t id) { return client_of.at(id) == 1; }));
}

// The bound of job_queue.h.
TEST(JobQueueFairnessTest,
     WarmUpOf100000KeysDelaysASingleRequestByAtMostOneCompilePerWorker) {
  size_t worst = 0;
  for (const auto& [workers, others] :
       {std::pair<size_t, uint64_t>(1, 0), {2, 3}, {4, 1}}) {
    for (const Urgency single : {kScreen, kWarm}) {
      const size_t delay = Delay(100000, workers, others, single, 17);
      EXPECT_LE(delay, workers) << workers << " workers, " << others
                                << " other clients, " << UrgencyText(single);
      worst = std::max(worst, delay);
    }
  }
  RecordProperty("worst_delay", static_cast<int>(worst));
}

TEST(JobQueueFairnessTest, BoundHoldsForAnyNumberOfWorkersAndClients) {
  std::map<size_t, size_t> worst;
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    const size_t workers = 1 + seed % 6;
    const size_t delay = Delay(400, workers, seed % 7, kWarm, seed);
    EXPECT_LE(delay, workers) << "seed " << seed;
    worst[workers] = std::max(worst[workers], delay);
  }
  for (const auto& [workers, delay] : worst) {
    EXPECT_EQ(delay, workers) << "the bound is tight";
  }
}

}  // namespace
}  // namespace kiln::daemon
