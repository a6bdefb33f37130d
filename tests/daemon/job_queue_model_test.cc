// SPDX-License-Identifier: Apache-2.0

// The rules of job_queue.h once more, as a search over a plain list: whatever
// is done to the queue, it takes the job that the definition names.

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/job_queue.h"

namespace kiln::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kOverdue{100};
constexpr uint32_t kShare = 3;

class Model {
 public:
  struct Job {
    QueuedJob job;
    std::map<uint64_t, Urgency> interests;
    uint64_t arrived = 0;
    JobQueue::TimePoint since;
    bool taken = false;

    Urgency urgency() const {
      Urgency best = Urgency::kSpeculative;
      for (const auto& [client, urgency] : interests) {
        best = std::min(best, urgency);
      }
      return best;
    }
  };

  void Add(const QueuedJob& job, const std::vector<Interest>& interests,
           JobQueue::TimePoint now) {
    Job& added = jobs_[job.id];
    added.job = job;
    added.arrived = ++arrivals_;
    added.since = now;
    Assign(added, interests);
    Arrive(added);
  }

  JobQueue::Change Set(uint64_t id, const std::vector<Interest>& interests) {
    auto found = jobs_.find(id);
    if (found == jobs_.end()) {
      return JobQueue::Change::kNone;
    }
    Job& job = found->second;
    const Urgency before = job.urgency();
    const std::map<uint64_t, Urgency> were = job.interests;
    Assign(job, interests);
    if (job.interests == were) {
      return JobQueue::Change::kNone;
    }
    if (job.taken) {
      return JobQueue::Change::kNone;
    }
    if (job.interests.empty()) {
      jobs_.erase(found);
      return JobQueue::Change::kDropped;
    }
    Arrive(job);
    return job.urgency() < before ? JobQueue::Change::kPromoted
                                  : JobQueue::Change::kNone;
  }

  void PutBack(uint64_t id) {
    Job& job = jobs_.at(id);
    job.taken = false;
    if (job.interests.empty()) {
      job.interests = {{0, Urgency::kSpeculative}};
      job.arrived = ++arrivals_;
    }
    Arrive(job);
  }

  void Done(uint64_t id) { jobs_.erase(id); }

  std::optional<uint64_t> Take(const TakeFilter& filter,
                               JobQueue::TimePoint now) {
    std::vector<size_t> order = {0, 1, 2};
    for (size_t i = 2; i > 0; --i) {
      if (passed_over_[i] >= kShare && Overdue(i, now)) {
        std::erase(order, i);
        order.insert(order.begin(), i);
        break;
      }
    }
    for (const size_t cls : order) {
      if (cls > 0 && !filter.background) {
        continue;
      }
      if (Job* job = Best(cls, filter)) {
        job->taken = true;
        passed_over_[cls] = 0;
        for (size_t i = cls + 1; i < kUrgencies; ++i) {
          passed_over_[i] = Overdue(i, now) ? passed_over_[i] + 1 : 0;
        }
        return job->job.id;
      }
    }
    return std::nullopt;
  }

 private:
  struct Turn {
    uint64_t round = 0;
    uint64_t joined = 0;
  };

  using Flow = std::tuple<size_t, uint64_t, Digest>;

  static void Assign(Job& job, const std::vector<Interest>& interests) {
    job.interests.clear();
    for (const Interest& interest : interests) {
      job.interests[interest.client] = interest.urgency;
    }
  }

  bool HasWork(const Flow& flow, const Job* except) const {
    const auto& [cls, client, target] = flow;
    return std::ranges::any_of(jobs_, [&](const auto& item) {
      const Job& job = item.second;
      auto interest = job.interests.find(client);
      return &job != except && !job.taken && job.job.target == target &&
             interest != job.interests.end() &&
             IndexOf(interest->second) == cls && IndexOf(job.urgency()) == cls;
    });
  }

  // A client whose first job this is takes part in the round under way, unless
  // it was served in it.
  void Arrive(const Job& job) {
    for (const auto& [client, urgency] : job.interests) {
      if (urgency != job.urgency()) {
        continue;
      }
      const Flow flow(IndexOf(urgency), client, job.job.target);
      auto turn = turns_.find(flow);
      const uint64_t round = rounds_[IndexOf(urgency)];
      if (turn == turns_.end() ||
          (turn->second.round < round && !HasWork(flow, &job))) {
        turns_[flow] = {round, ++joins_};
      }
    }
  }

  bool Overdue(size_t cls, JobQueue::TimePoint now) const {
    const Job* oldest = nullptr;
    for (const auto& [id, job] : jobs_) {
      if (!job.taken && IndexOf(job.urgency()) == cls &&
          (oldest == nullptr || job.arrived < oldest->arrived)) {
        oldest = &job;
      }
    }
    return oldest != nullptr && now - oldest->since >= kOverdue;
  }

  // The first by (round, joined, waiters, arrived) that passes the filter.
  Job* Best(size_t cls, const TakeFilter& filter) {
    Job* best = nullptr;
    Flow best_flow;
    std::tuple<uint64_t, uint64_t, int64_t, uint64_t> best_rank;
    for (auto& [id, job] : jobs_) {
      if (job.taken || IndexOf(job.urgency()) != cls ||
          !filter.target(job.job.target) ||
          !filter.program(job.job.target, job.job.program)) {
        continue;
      }
      for (const auto& [client, urgency] : job.interests) {
        if (IndexOf(urgency) != cls) {
          continue;
        }
        const Flow flow(cls, client, job.job.target);
        const Turn& turn = turns_.at(flow);
        const std::tuple rank(turn.round, turn.joined,
                              -static_cast<int64_t>(job.interests.size()),
                              job.arrived);
        if (best == nullptr || rank < best_rank) {
          best = &job;
          best_flow = flow;
          best_rank = rank;
        }
      }
    }
    if (best != nullptr) {
      rounds_[cls] = std::max(rounds_[cls], turns_[best_flow].round);
      turns_[best_flow] = {rounds_[cls] + 1, ++joins_};
    }
    return best;
  }

  std::map<uint64_t, Job> jobs_;
  std::map<Flow, Turn> turns_;
  std::array<uint64_t, kUrgencies> rounds_{};
  std::array<uint32_t, kUrgencies> passed_over_{};
  uint64_t arrivals_ = 0;
  uint64_t joins_ = 0;
};

class JobQueueModelTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  std::vector<Interest> RandomInterests(size_t least) {
    std::vector<Interest> interests;
    const size_t count = least + random_() % 3;
    for (size_t i = 0; i < count; ++i) {
      interests.push_back({random_() % 5, kAllUrgencies[random_() % 3]});
    }
    return interests;
  }

  TakeFilter RandomFilter() {
    TakeFilter filter;
    filter.background = random_() % 4 != 0;
    const size_t closed = random_() % 6;
    const size_t blocked = random_() % 6;
    filter.target = [this, closed](const Digest& target) {
      return closed >= names_.size() || target != names_[closed];
    };
    filter.program = [this, blocked](const Digest&, const Digest& program) {
      return blocked >= names_.size() || program != names_[blocked];
    };
    return filter;
  }

  void Step() {
    const uint64_t some = 1 + random_() % next_id_;
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2: {
        const QueuedJob job{next_id_++, names_[random_() % names_.size()],
                            names_[random_() % names_.size()]};
        const auto interests = RandomInterests(1);
        model_.Add(job, interests, now_);
        queue_.Add(job, interests);
        break;
      }
      case 3:
      case 4: {
        const auto interests = RandomInterests(0);
        ASSERT_EQ(queue_.Set(some, interests), model_.Set(some, interests));
        break;
      }
      case 5:
        if (!taken_.empty()) {
          const uint64_t id = taken_.back();
          taken_.pop_back();
          if (random_() % 3 == 0) {
            queue_.PutBack(id);
            model_.PutBack(id);
          } else {
            queue_.Done(id);
            model_.Done(id);
          }
        }
        break;
      default: {
        const TakeFilter filter = RandomFilter();
        const auto taken = queue_.Take(filter);
        ASSERT_EQ(taken, model_.Take(filter, now_));
        if (taken) {
          taken_.push_back(*taken);
        }
      }
    }
    now_ += milliseconds(random_() % 10);
  }

  std::mt19937 random_{GetParam()};
  const std::array<Digest, 3> names_ = {Digest::Of(AsBytes("a")),
                                        Digest::Of(AsBytes("b")),
                                        Digest::Of(AsBytes("c"))};
  JobQueue::TimePoint now_{};
  JobQueue queue_{{kOverdue, kShare}, [this] { return now_; }};
  Model model_;
  std::vector<uint64_t> taken_;
  uint64_t next_id_ = 1;
};

TEST_P(JobQueueModelTest, TakesWhatTheDefinitionNames) {
  for (int step = 0; step < 1500; ++step) {
    Step();
    if (HasFatalFailure()) {
      FAIL() << "at step " << step;
    }
    ASSERT_TRUE(queue_.CheckInvariants()) << "at step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, JobQueueModelTest,
                         ::testing::Range(uint32_t{1}, uint32_t{13}));

}  // namespace
}  // namespace kiln::daemon
