// SPDX-License-Identifier: Apache-2.0
#pragma once

// Single flight: whoever asks for a variant gets it from the store, joins the
// compile that somebody else started, or starts the one compile there is. The
// job belongs to the key, not to who asked first: a client that goes away
// takes nobody's compile with it (KNOWN_FAULTS 20).

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "daemon/asked_keys.h"
#include "daemon/counters.h"
#include "daemon/program_registry.h"
#include "daemon/worker_pool.h"
#include "proto/artifact.h"
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

  // Asks for `key`, in any form, for `target`. Blocks: disk.
  void Request(const OpenTargetPtr& target, VariantKey key, OnAnswer on_answer);

  // Asks for what the front end makes of a program, which need not be in the
  // registry. `background`: behind everything that a client waits for. Blocks:
  // disk.
  void RequestFrontEnd(const OpenTargetPtr& target,
                       std::shared_ptr<RegisteredProgram> program,
                       bool background, OnAnswer on_answer);

  // The pool's OnDone. Confined to the io thread.
  void OnJobDone(std::shared_ptr<CompileJob> job, JobOutcome outcome);

 private:
  // Target id and key id.
  using FlightKey = std::pair<Digest, Digest>;

  struct Failure {
    absl::Status status;
    Diagnostics diagnostics;
  };

  // A request for the front end, or one whose overrides may turn out to be read
  // by no code, which only the front end can say.
  struct Parked {
    std::shared_ptr<CompileJob> job;
    OnAnswer on_answer;
  };

  // Holds the request back until the front end has run for its program, and
  // starts that if it is the first.
  void Park(Parked request);

  // After the front end: leaves unused overrides out of the key.
  void Proceed(Parked request);

  // Joins or starts the compile of a variant that the store has not got.
  void RequestMissing(std::shared_ptr<CompileJob> job, OnAnswer on_answer);

  // Stores what a job made and answers everyone. On the store thread.
  void Complete(const CompileJob& job, JobOutcome outcome);
  void CompleteFrontEnd(const CompileJob& job, const JobOutcome& outcome);
  absl::Status StoreArtifact(const CompileJob& job, const Artifact& artifact);

  boost::asio::io_context& io_;
  boost::asio::thread_pool& store_thread_;
  storage::VariantStore& store_;
  ProgramRegistry& registry_;
  AskedKeys& asked_;
  Counters& counters_;
  WorkerPool* pool_ = nullptr;

  absl::Mutex mutex_;
  absl::flat_hash_map<FlightKey, std::vector<OnAnswer>> flights_
      ABSL_GUARDED_BY(mutex_);
  // By target id and program id; each is one front-end job under way.
  absl::flat_hash_map<FlightKey, std::vector<Parked>> parked_
      ABSL_GUARDED_BY(mutex_);
  // Bounded; forgotten with the daemon.
  absl::flat_hash_map<FlightKey, Failure> failures_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln::daemon
