// SPDX-License-Identifier: Apache-2.0
#pragma once

// Requests for living programs, which are subscriptions: each gets an answer
// for the snapshot of now, and another whenever the program has a later one.

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/counters.h"
#include "daemon/live_programs.h"
#include "daemon/scheduler.h"

namespace kiln::daemon {

// Who asks: a client's stream.
class Subscriber {
 public:
  virtual ~Subscriber() = default;

  // `first`: the request had no answer before. Thread-safe.
  virtual void Deliver(uint64_t request_id, const Answer& answer,
                       bool first) = 0;
};

// What is asked for.
struct Wish {
  uint64_t request_id = 0;
  OpenTargetPtr target;
  VariantKey key;  // any form; `key.program` as it was registered
  bool front_end_only = false;
  uint64_t client = 0;  // the subscriber's, for the scheduler
  Urgency urgency = Urgency::kOnScreen;
  bool keep = false;  // as in Asker
};

// Thread-safe. Requires: everything passed in outlives it.
class Reloader {
 public:
  // What the programs of one batch mean, looked up once for all of it.
  using Batch = absl::flat_hash_map<Digest, absl::StatusOr<ProgramState>>;

  Reloader(LivePrograms& programs, Scheduler& scheduler, Counters& counters)
      : programs_(programs), scheduler_(scheduler), counters_(counters) {}

  // Asks for `wish`, and for every later snapshot if its program is living,
  // until the subscriber has gone. Asking for the same again replaces the
  // earlier request. Blocks: disk.
  void Request(const std::shared_ptr<Subscriber>& subscriber, Wish wish,
               Batch& batch);

  // Ends every subscription of a subscriber, or those of some requests.
  void Forget(const Subscriber* subscriber);
  void Forget(const Subscriber* subscriber,
              const absl::flat_hash_set<uint64_t>& requests);

  // Something in the search roots or in a surface set may have changed: asks
  // again for what has a new snapshot, first what most clients use, then the
  // front ends of programs that none uses now. Returns: false when
  // some file could not be read just now: to be called again a little later.
  // Blocks: disk.
  bool Refresh();

 private:
  struct Subscription {
    std::weak_ptr<Subscriber> subscriber;
    Wish wish;
    absl::Mutex mutex;
    uint64_t generation ABSL_GUARDED_BY(mutex) = 0;  // the highest asked for
    bool answered ABSL_GUARDED_BY(mutex) = false;
  };

  using SubscriptionPtr = std::shared_ptr<Subscription>;
  // Subscriber and id of what it asked for.
  using SubscriptionKey = std::pair<const Subscriber*, Digest>;

  std::vector<SubscriptionPtr> Outdated(
      const std::map<Digest, ProgramState>& states);
  void Ask(const SubscriptionPtr& subscription, const ProgramState& state);
  void Answered(const SubscriptionPtr& subscription, uint64_t generation,
                Answer answer);
  Diagnostics MapOnce(const Digest& program, const Diagnostics& diagnostics);
  void WarmUnused(const std::map<Digest, ProgramState>& states);

  LivePrograms& programs_;
  Scheduler& scheduler_;
  Counters& counters_;

  absl::Mutex mutex_;
  std::map<SubscriptionKey, SubscriptionPtr> subscriptions_
      ABSL_GUARDED_BY(mutex_);

  // By program: the generation seen last, and the target asked for last.
  struct Seen {
    uint64_t generation = 0;
    OpenTargetPtr target;
  };

  absl::flat_hash_map<Digest, Seen> seen_ ABSL_GUARDED_BY(mutex_);

  // By program: the last failure's diagnostics, as they came and as they go.
  struct Mapped {
    Diagnostics from;
    Diagnostics to;
  };

  absl::flat_hash_map<Digest, Mapped> mapped_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln::daemon
