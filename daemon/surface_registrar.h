// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes user code into programs (SPEC section 5): text rules first, then the
// complete shader is compiled with it, and only what compiles is adopted. What
// the text may hold is in shaders/surface/.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/counters.h"
#include "daemon/live_programs.h"
#include "daemon/reloader.h"
#include "daemon/scheduler.h"

namespace kiln::daemon {

struct SurfaceVerdict {
  bool accepted = false;
  uint32_t index = 0;
  Digest set_hash;
  bool already_known = false;
  std::string message;      // rejected: one line
  std::string diagnostics;  // rejected: by the surface's name and lines
};

// Thread-safe. Requires: everything passed in outlives it.
class SurfaceRegistrar {
 public:
  // Called once, from the caller's thread or another, with no lock held.
  using OnVerdict = std::function<void(const absl::StatusOr<SurfaceVerdict>&)>;

  SurfaceRegistrar(LivePrograms& programs, Scheduler& scheduler,
                   Reloader& reloader, Counters& counters)
      : programs_(programs),
        scheduler_(scheduler),
        reloader_(reloader),
        counters_(counters) {}

  // Errors: as RegisterSurface of kiln.proto. Blocks: disk.
  void Register(const OpenTargetPtr& target, const Digest& program,
                std::string name, std::string source, OnVerdict on_verdict);

  // Returns: the hash of the set without it. Errors: NotFound. Blocks: disk.
  absl::StatusOr<Digest> Remove(const Digest& program, uint32_t index);

 private:
  // One registration on its way.
  struct Attempt {
    OpenTargetPtr target;
    Digest program;
    std::string name;
    std::string source;
    OnVerdict on_verdict;
    Digest expected;               // hash of the set it is to be added to
    surface::SurfaceSet surfaces;  // with it
    uint32_t index = 0;
    Program whole;     // with it, as Apply made it
    Digest rejection;  // what a rejection is remembered by
  };

  using AttemptPtr = std::shared_ptr<Attempt>;

  void Try(const AttemptPtr& attempt);
  // Returns: the verdict, where it needs no compile.
  absl::StatusOr<std::optional<SurfaceVerdict>> Judge(Attempt& attempt);
  absl::StatusOr<std::optional<SurfaceVerdict>> Compose(Attempt& attempt,
                                                        const Program& base);
  std::optional<SurfaceVerdict> Remembered(const Digest& rejection);
  SurfaceVerdict Reject(const Attempt& attempt, const absl::Status& why,
                        std::string diagnostics);
  void Compiled(const AttemptPtr& attempt, const Answer& answer);
  void Adopt(const AttemptPtr& attempt);

  LivePrograms& programs_;
  Scheduler& scheduler_;
  Reloader& reloader_;
  Counters& counters_;

  absl::Mutex mutex_;
  // Bounded. By program, its text and the surface's: a rejection holds until
  // one of them changes.
  absl::flat_hash_map<Digest, SurfaceVerdict> rejections_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln::daemon
