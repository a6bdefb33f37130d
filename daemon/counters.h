// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every number kilnd keeps about itself (DESIGN D11), by the name that
// `kiln status` prints. Counted since the daemon started, never reset.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace kiln::daemon {

enum class Counter : uint8_t {
  kConnectionsAccepted,
  kConnectionsRefusedUser,     // SO_PEERCRED named a user that is not allowed
  kConnectionsRefusedNotGrpc,  // did not open with the HTTP/2 preface
  kSessionsOpened,
  kProgramsRegistered,  // stored for the first time
  kRequests,
  kRequestsRejected,  // unknown program, kind, bit, ...
  kHitsStore,         // answered from RocksDB
  kJoined,            // waited for a compile somebody else had asked for
  kCancelled,         // queued jobs dropped, since nobody waited any more
  kPromoted,          // queued jobs that somebody wants sooner than before
  kBackgroundHeld,  // times that background work had to wait with workers free
  kFailuresRemembered,  // answered from a failure remembered in memory
  kCompilesStarted,
  kCompilesFinished,
  kCollapsed,  // of these, without a driver: another key had the same code
  kCompilesFailed,
  kFrontEndRuns,    // sources to SPIR-V, once a program at most
  kStagesCompiled,  // modules those made; the others were stored already
  kSealedMisses,    // not stored, and the daemon is sealed
  kSourceChanges,   // bursts of changes in the search roots
  kReloads,         // snapshots of living programs that replaced another
  kSourceStats,     // files of search roots looked at
  kSourceReads,     // and read, since they were not what they were
  kSurfacesAccepted,
  kSurfacesRejected,
  kJobsRetried,
  kJobsTimedOut,
  kWorkersStarted,
  kWorkersCrashed,
  kWorkersLackingALayer,  // of the sandbox; none with --sandbox=off
  kProofsProven,
  kProofsNotProvable,
  kProofsRefused,
  kFeedbackHits,    // clients' drivers said: cache hit
  kFeedbackMisses,  // clients' drivers said anything else
  kValidationMessages,
  kStoreErrors,
  kCount,
};

inline constexpr std::array<std::string_view,
                            static_cast<size_t>(Counter::kCount)>
    kCounterNames = {
        "connections_accepted",
        "connections_refused_user",
        "connections_refused_not_grpc",
        "sessions_opened",
        "programs_registered",
        "requests",
        "requests_rejected",
        "hits_store",
        "joined",
        "cancelled",
        "promoted",
        "background_held",
        "failures_remembered",
        "compiles_started",
        "compiles_finished",
        "collapsed",
        "compiles_failed",
        "front_end_runs",
        "stages_compiled",
        "sealed_misses",
        "source_changes",
        "reloads",
        "source_stats",
        "source_reads",
        "surfaces_accepted",
        "surfaces_rejected",
        "jobs_retried",
        "jobs_timed_out",
        "workers_started",
        "workers_crashed",
        "workers_lacking_a_layer",
        "proofs_proven",
        "proofs_not_provable",
        "proofs_refused",
        "feedback_hits",
        "feedback_misses",
        "validation_messages",
        "store_errors",
};
static_assert(!kCounterNames.back().empty(), "every counter needs a name");

// Thread-safe.
class Counters {
 public:
  void Add(Counter counter, uint64_t amount = 1) {
    values_[static_cast<size_t>(counter)].fetch_add(amount,
                                                    std::memory_order_relaxed);
  }

  uint64_t Get(Counter counter) const {
    return values_[static_cast<size_t>(counter)].load(
        std::memory_order_relaxed);
  }

  // For numbers that something else counts.
  void Set(Counter counter, uint64_t value) {
    values_[static_cast<size_t>(counter)].store(value,
                                                std::memory_order_relaxed);
  }

  std::map<std::string, uint64_t> Snapshot() const {
    std::map<std::string, uint64_t> snapshot;
    for (size_t i = 0; i < kCounterNames.size(); ++i) {
      snapshot.emplace(kCounterNames[i],
                       values_[i].load(std::memory_order_relaxed));
    }
    return snapshot;
  }

 private:
  std::array<std::atomic<uint64_t>, static_cast<size_t>(Counter::kCount)>
      values_{};
};

}  // namespace kiln::daemon
