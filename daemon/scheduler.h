// SPDX-License-Identifier: Apache-2.0
#pragma once

// Single flight: whoever asks for a variant gets it from the store, joins the
// compile that somebody else started, or starts the one compile there is. The
// job belongs to the key, not to who asked first: a client that goes away
// takes nobody's compile with it (KNOWN_FAULTS 20). What nobody waits for any
// more is dropped, unless it runs already; so is a front end that only such
// requests needed. Which job is next is job_queue.h's business: this tells the
// pool who waits for what.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "daemon/asked_keys.h"
#include "daemon/counters.h"
#include "daemon/job_queue.h"
#include "daemon/program_registry.h"
#include "daemon/worker_pool.h"
#include "proto/artifact.h"
#include "proto/urgency.h"
#include "proto/variant_key.h"

namespace boost::asio {
class io_context;
class thread_pool;
}  // namespace boost::asio

namespace kiln::daemon {

enum class Origin : uint8_t { kCompiled = 1, kStore = 2 };

// The end of one request.
struct Answer {
  absl::Status status;
  bool rejected = false;  // the request itself was wrong
  Diagnostics diagnostics;
  std::shared_ptr<const Artifact> artifact;  // when OK, of a variant
  // When OK, of a front end: what it made, and of what.
  std::shared_ptr<const FrontEndResult> front_end;
  std::shared_ptr<const RegisteredProgram> compiled;
  std::string label;
  Origin origin = Origin::kStore;
  // Of a living program (live_programs.h): its snapshot, and which one that is.
  Digest program;
  uint64_t generation = 0;
};

// Who asks, and how much it matters.
struct Asker {
  uint64_t client = 0;   // 0: the daemon itself
  uint64_t request = 0;  // the client's own number
  Urgency urgency = Urgency::kOnScreen;
  // Goes on when the client has gone, then as warm-up of the daemon's own. For
  // commands that ask and leave.
  bool keep = false;
};

// Thread-safe. Requires: everything passed in outlives it.
class Scheduler {
 public:
  // Called once, from the caller's thread or another, with no lock held.
  using OnAnswer = std::function<void(const Answer&)>;

  Scheduler(boost::asio::io_context& io, boost::asio::thread_pool& store_thread,
            storage::VariantStore& store, ProgramRegistry& registry,
            AskedKeys& asked, Counters& counters)
      : io_(io),
        store_thread_(store_thread),
        store_(store),
        registry_(registry),
        asked_(asked),
        counters_(counters) {}

  // Where jobs go; null: nowhere, the daemon is sealed and what is not stored
  // is a miss. Called once, before the first request.
  void set_pool(WorkerPool* pool) { pool_ = pool; }

  // Asks for `key`, in any form, for `target`. A client that asks for one key
  // several times is one that waits, as urgently as it said last. Blocks: disk.
  void Request(const OpenTargetPtr& target, VariantKey key, const Asker& asker,
               OnAnswer on_answer);

  // Asks for what the front end makes of a program, which need not be in the
  // registry. Blocks: disk.
  void RequestFrontEnd(const OpenTargetPtr& target,
                       std::shared_ptr<RegisteredProgram> program,
                       const Asker& asker, OnAnswer on_answer);

  // The client has gone: nothing of it waits any more, but for what it asked to
  // keep. No answers.
  void Release(uint64_t client);

  // Of a client that is still there; its other requests go on. `tell`: those
  // that had no answer get one, of Cancelled.
  void Release(uint64_t client, std::span<const uint64_t> requests, bool tell);

  // Forgets that `key`, as it is stored, failed: who asks next has it compiled.
  // Errors: those of the store. Blocks: disk.
  absl::Status LiftFailure(const Digest& target, const VariantKey& key);

  // The pool's OnDone. Confined to the io thread.
  void OnJobDone(std::shared_ptr<CompileJob> job, JobOutcome outcome);

 private:
  // Target id and key id.
  using FlightKey = std::pair<Digest, Digest>;

  struct Failure {
    absl::Status status;
    Diagnostics diagnostics;
  };

  // One request that waits. `job`: of a front end's flight, what goes on after
  // it: a request for the front end itself, or one whose overrides may turn out
  // to be read by no code, which only the front end can say.
  struct Waiter {
    Asker asker;
    OnAnswer on_answer;
    std::shared_ptr<CompileJob> job;
  };

  // A job under way, of a key or, by its program's id, of a front end.
  struct Flight {
    std::shared_ptr<CompileJob> job;
    std::vector<Waiter> waiters;
    bool submitted = false;
    bool sync_pending = false;
  };

  // What is waited for, by request number; a careless client may use a number
  // twice.
  using Tickets = std::unordered_multimap<uint64_t, FlightKey>;

  // Holds the request back until the front end has run for its program, and
  // starts that if it is the first.
  void Park(Waiter request);

  // With a normal key and a known front end, or none that is needed. `from`:
  // the front end's flight in which it waited until now, or none.
  void Proceed(Waiter request, const FlightKey* from);

  // Joins or starts the compile of a variant that the store has not got.
  void RequestMissing(Waiter request, const FlightKey* from);

  void Enter(const FlightKey& key, Waiter waiter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns: false if the request has no such ticket (any more).
  bool TakeTicket(const Asker& asker, const FlightKey& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave(const FlightKey& key, uint64_t client, const uint64_t* request,
             std::vector<Waiter>* left) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Waiter> EndFlight(const FlightKey& key, bool keep_tickets)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Has the pool told, on the io thread, who waits for a flight now.
  void SyncLater(const FlightKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Sync(const FlightKey& key);

  // Stores what a job made and answers everyone. On the store thread.
  void Complete(const CompileJob& job, JobOutcome outcome);
  void CompleteFrontEnd(const CompileJob& job, const JobOutcome& outcome);
  // What is known of a job that failed before, if anything.
  std::optional<Failure> FindFailure(const CompileJob& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remember(const FlightKey& key, Failure failure)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StoreFailure(const CompileJob& job, const JobOutcome& outcome);
  absl::Status StoreArtifact(const CompileJob& job, const Artifact& artifact,
                             const std::vector<Module>& variant_modules);

  boost::asio::io_context& io_;
  boost::asio::thread_pool& store_thread_;
  storage::VariantStore& store_;
  ProgramRegistry& registry_;
  AskedKeys& asked_;
  Counters& counters_;
  WorkerPool* pool_ = nullptr;

  absl::Mutex mutex_;
  // Bounded by what each stream may have unanswered, by the subscriptions to
  // living programs, and by kMostKept.
  absl::flat_hash_map<FlightKey, Flight> flights_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Tickets> tickets_ ABSL_GUARDED_BY(mutex_);
  // Bounded; the store has them, too.
  absl::flat_hash_map<FlightKey, Failure> failures_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln::daemon
