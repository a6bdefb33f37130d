// SPDX-License-Identifier: Apache-2.0
#pragma once

// Open sessions: which client wants variants for which target. A session lives
// as long as its stream, or for a minute without one.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "daemon/compile_job.h"
#include "proto/urgency.h"

namespace kiln::daemon {

struct Session {
  OpenTargetPtr target;
  std::string client_name;
};

// Thread-safe.
class SessionRegistry {
 public:
  using Clock = std::chrono::steady_clock;

  // Returns: the new session's id, which nobody can guess.
  uint64_t Open(Session session, Clock::time_point now = Clock::now());

  // Claims a session for a stream. Returns: nullopt if there is no such
  // session, it has expired, or another stream has it.
  std::optional<Session> Attach(uint64_t id,
                                Clock::time_point now = Clock::now());

  // What the client of an attached session does; playing until it is told.
  void SetActivity(uint64_t id, Activity activity);

  // Attached sessions by what their clients do.
  std::array<size_t, kActivities> activities() const;

  // The end of an attached session.
  void Close(uint64_t id);

  size_t size() const;

 private:
  struct Entry {
    Session session;
    Clock::time_point opened;
    bool attached = false;
    Activity activity = Activity::kPlaying;
  };

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<uint64_t, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln::daemon
