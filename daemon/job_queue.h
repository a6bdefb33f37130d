// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which compile comes next. Holds every job that is waiting or running, who
// waits for it, and nothing else: no workers, no threads, no I/O, so that each
// rule is tested alone (tests/daemon/job_queue_test.cc has the rules once more,
// as a sort).
//
// The next job is found in this order:
//
//  1. Class. A job has the class of the most urgent interest in it. A better
//  class
//     comes first, with one exception, so that background work ends: a class
//     whose oldest job has waited for `overdue_after` gets the turn after each
//     `overdue_share` jobs of better classes.
//  2. Client. Within a class, clients take turns in rounds: in each round every
//     client with work is served once. Who arrives takes part in the round
//     under way, unless it was served in it already; who was served last comes
//     last. No credit is saved up while a client has no work or its target no
//     worker. A client counts once a target (streams have one).
//  3. Job. Within a client's turn: first what most clients wait for, then what
//     has waited longest.
//
// So the fairness bound: a client with one request waits, of any other client's
// jobs of the same class, for at most one per worker, however many are queued.
// (If the other is still to be served in this round, the last one served was a
// third, which still runs; so of the other's jobs at most `workers - 1` run,
// and one comes first. Otherwise all of them may run, and none comes first.)
// Background jobs are in the way of an on-screen one only if they run, or by
// the exception of rule 1.
//
//   Set(job, interests) -> queued --Take--> taken --Done--> forgotten
//                         ^ |              |
//             PutBack ----' '-- Set(none): dropped

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "proto/digest.h"
#include "proto/urgency.h"

namespace kiln::daemon {

// One client's interest in a job.
struct Interest {
  uint64_t client = 0;  // 0: the daemon itself
  Urgency urgency = Urgency::kOnScreen;

  friend bool operator==(const Interest&, const Interest&) = default;
};

struct QueuedJob {
  uint64_t id = 0;  // unique for ever
  Digest target;
  // Jobs of one program may have to wait for its first (TakeFilter::program).
  Digest program;
};

struct JobQueueOptions {
  // Shorter: background work takes turns sooner while draws wait. Longer: it
  // may stand still for that long.
  std::chrono::milliseconds overdue_after{10000};
  // More: overdue background work is slower. At least 1.
  uint32_t overdue_share = 8;
};

// Which jobs may be taken now. An empty function stands for "any".
struct TakeFilter {
  bool background = true;  // false: only what is on screen
  std::function<bool(const Digest& target)> target{};
  std::function<bool(const Digest& target, const Digest& program)> program{};
};

// Confined to the io thread. Not bounded by itself: what one stream may have
// unanswered is (limits::kUnanswered). About 500 bytes a job.
class JobQueue {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Clock = std::function<TimePoint()>;

  // What became of a job whose interests were set.
  enum class Change : uint8_t {
    kNone,      // unknown, or no better class than before
    kPromoted,  // it is queued and its class has risen
    kDropped,   // it was queued and nobody waits for it: it is forgotten
  };

  explicit JobQueue(JobQueueOptions options = {},
                    Clock clock = std::chrono::steady_clock::now)
      : options_(options), clock_(std::move(clock)) {}

  // Requires: its id is new, and somebody wants it. Of several interests of one
  // client the last counts, here and below.
  void Add(const QueuedJob& job, std::span<const Interest> interests);

  // Replaces all interests for a job, queued or taken.
  Change Set(uint64_t id, std::span<const Interest> interests);

  // Takes the next job; it stays known, and its interests can be set, until
  // Done. Returns: nothing where no queued job passes the filter.
  std::optional<uint64_t> Take(const TakeFilter& filter = {});

  // A taken job has to run again: before all others of its rank. One that
  // nobody waits for any more comes last.
  void PutBack(uint64_t id);

  // Forgets a job, taken or queued.
  void Done(uint64_t id);

  // The class of a known job. Of a taken one: as its interests are now.
  Urgency urgency(uint64_t id) const;

  // Queued jobs, in no order.
  std::vector<uint64_t> Queued() const;

  size_t size() const { return queued_; }

  size_t size(Urgency urgency) const {
    return classes_[IndexOf(urgency)].by_age.size();
  }

  // Queued jobs of a target: on screen, and background.
  std::pair<size_t, size_t> SizeOf(const Digest& target) const;

  // Targets with queued jobs.
  std::vector<Digest> Targets() const;

  // How long the oldest queued background job has waited. 0: there is none.
  std::chrono::milliseconds BackgroundAge() const;

  // For tests: whether every index agrees with the jobs.
  bool CheckInvariants() const;

 private:
  // Within a turn, the least is next.
  struct Rank {
    size_t waiters = 0;
    uint64_t sequence = 0;  // in order of arrival
    uint64_t id = 0;

    friend bool operator<(const Rank& a, const Rank& b) {
      return std::tie(b.waiters, a.sequence) < std::tie(a.waiters, b.sequence);
    }
  };

  using FlowKey = std::pair<uint64_t, Digest>;  // client and target

  // A client's jobs in one class.
  struct Flow {
    uint64_t round = 0;   // the one it is served in next
    uint64_t joined = 0;  // when it got that round
    std::map<Digest, std::set<Rank>> programs;
    std::set<std::pair<Rank, Digest>> heads;  // the first of each program
  };

  // By round, then by who joined it first.
  using Turn = std::tuple<uint64_t, uint64_t, FlowKey>;

  struct Class {
    absl::flat_hash_map<FlowKey, Flow> flows;
    std::set<Turn> turns;                            // of flows with jobs
    uint64_t round = 0;                              // the one under way
    std::set<std::pair<uint64_t, uint64_t>> by_age;  // sequence and id
    uint32_t passed_over = 0;  // better jobs taken while it was overdue
  };

  struct Entry {
    QueuedJob job;
    std::vector<Interest> interests;  // by client, each once
    uint64_t sequence = 0;
    TimePoint since;
    Urgency urgency = Urgency::kOnScreen;
    bool taken = false;
  };

  static std::vector<Interest> Normal(std::span<const Interest> interests);
  static Urgency Best(const std::vector<Interest>& interests);
  static void Prune(Class& cls);
  Rank RankOf(const Entry& entry) const;

  void Link(const Entry& entry);
  void Unlink(const Entry& entry);
  void Join(Class& cls, const FlowKey& key, const Entry& entry);
  void Leave(Class& cls, const FlowKey& key, const Entry& entry);

  bool IsOverdue(const Class& cls) const;
  std::optional<uint64_t> TakeFrom(Class& cls, const TakeFilter& filter);
  std::optional<uint64_t> TakeFromFlow(const FlowKey& key, const Flow& flow,
                                       const TakeFilter& filter) const;

  const JobQueueOptions options_;
  const Clock clock_;
  absl::flat_hash_map<uint64_t, Entry> entries_;
  std::array<Class, kUrgencies> classes_;
  std::map<Digest, std::pair<size_t, size_t>> targets_;
  size_t queued_ = 0;
  uint64_t next_sequence_ = 1;
  uint64_t next_join_ = 1;
};

}  // namespace kiln::daemon
