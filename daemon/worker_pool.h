// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compiles jobs on kiln-worker processes: which worker runs what, what happens
// when one crashes, hangs or cannot open its device. One set of workers a
// target. Which jobs exist, and who waits for them, is scheduler.h's business.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/counters.h"
#include "daemon/program_registry.h"
#include "proto/artifact.h"
#include "proto/target.h"
#include "proto/variant_key.h"

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace kiln::daemon {

// A target some worker has opened. Immutable; shared by sessions and jobs.
struct OpenTarget {
  std::string spec;
  TargetIdentity identity;
  Digest id;
  std::string compiler;  // the workers' front end, name and version
};

using OpenTargetPtr = std::shared_ptr<const OpenTarget>;

// One variant to compile. Owned by the scheduler and the pool together.
struct CompileJob {
  OpenTargetPtr target;
  std::shared_ptr<RegisteredProgram> program;
  VariantKey key;
  Digest key_id;
  std::string label;  // KeyLabel, for every message
  uint32_t attempts = 0;
  uint32_t outside_kills = 0;
  bool front_end_only = false;  // ends without an artifact
  bool background = false;      // waits behind all that are not
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
};

struct WorkerSnapshot {
  uint32_t pid = 0;
  std::string target;
  std::string state;  // "opening", "idle", "compiling"
  std::string job;
  uint64_t jobs_done = 0;
};

struct PoolSnapshot {
  std::vector<WorkerSnapshot> workers;
  size_t jobs_queued = 0;
  size_t jobs_running = 0;
};

struct WorkerPoolOptions {
  std::string worker_binary;
  uint32_t workers = 1;  // compiles at a time, over all targets
  std::chrono::seconds job_timeout{60};
  uint32_t worker_memory_mb = 0;  // 0: no limit
  bool validate = false;
  bool no_compiler = false;  // workers open devices and refuse jobs
};

// Confined to the io thread.
class WorkerPool {
 public:
  using OnDone = std::function<void(std::shared_ptr<CompileJob>, JobOutcome)>;
  using OnOpen = std::function<void(absl::StatusOr<OpenTargetPtr>)>;

  // `on_done` is called once for every submitted job.
  static std::unique_ptr<WorkerPool> Create(boost::asio::io_context& io,
                                            WorkerPoolOptions options,
                                            Counters& counters, OnDone on_done);

  virtual ~WorkerPool() = default;

  // Starts a worker for `spec` unless one is open, and reports what it is.
  // Errors: FailedPrecondition with the driver's or the system's reason.
  virtual void Open(const TargetSpec& spec, OnOpen on_open) = 0;

  virtual void Submit(std::shared_ptr<CompileJob> job) = 0;

  // Somebody waits for the background job of `job`'s target and program.
  virtual void Promote(const CompileJob& job) = 0;

  virtual PoolSnapshot Snapshot() const = 0;

  // Kills every worker; all jobs and opens end with Unavailable.
  virtual void Stop() = 0;
};

}  // namespace kiln::daemon
