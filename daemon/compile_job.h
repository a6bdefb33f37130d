// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the scheduler gives the pool, and what comes back. Plain records.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "daemon/program_registry.h"
#include "proto/artifact.h"
#include "proto/target.h"
#include "proto/variant_key.h"

namespace kiln::daemon {

// A target some worker has opened. Immutable; shared by sessions and jobs.
struct OpenTarget {
  std::string spec;
  TargetIdentity identity;
  Digest id;
  std::string compiler;  // the workers' front end, name and version
};

using OpenTargetPtr = std::shared_ptr<const OpenTarget>;

// One variant, or front end, to compile. Owned by the scheduler and the pool
// together; the pool alone writes `attempts` and `outside_kills`.
struct CompileJob {
  OpenTargetPtr target;
  std::shared_ptr<RegisteredProgram> program;
  VariantKey key;
  Digest key_id;
  std::string label;  // KeyLabel, for every message
  uint32_t attempts = 0;
  uint32_t outside_kills = 0;
  bool front_end_only = false;  // ends without an artifact
  uint64_t id = 0;              // in the queue; given when it is submitted
};

struct JobOutcome {
  absl::Status status;
  Diagnostics diagnostics;
  std::optional<Artifact> artifact;  // when OK
  std::vector<Module> modules;       // front-end output made by this job
  // A failure that asking again would only repeat: the program's own, or a
  // compiler that crashed on it twice. Timeouts (KNOWN_FAULTS 2) and a driver's
  // refusals are not.
  bool permanent = false;
  std::vector<std::string> unused_overrides{};  // comes with `modules`
  // Those of the artifact, where they are not the program's own.
  std::vector<Module> variant_modules{};
  bool collapsed = false;  // another key had the same code: no compile
};

// The end of a job that made nothing.
inline JobOutcome Ended(absl::Status status, Diagnostics diagnostics = nullptr,
                        bool permanent = false) {
  JobOutcome outcome;
  outcome.status = std::move(status);
  outcome.diagnostics = std::move(diagnostics);
  outcome.permanent = permanent;
  return outcome;
}

}  // namespace kiln::daemon
