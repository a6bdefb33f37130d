// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compiles jobs on kiln-worker processes: how many at a time, how many of them
// may be background work, and what becomes of a job whose worker crashed or
// hung. Which job is next is job_queue.h's business; which jobs exist, and who
// waits for them, scheduler.h's; the processes are worker_fleet.h's.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/compile_job.h"
#include "daemon/counters.h"
#include "daemon/job_queue.h"
#include "daemon/pressure.h"
#include "daemon/worker/sandbox.h"
#include "proto/target.h"
#include "proto/urgency.h"

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace kiln::daemon {

// Streams by what their clients do.
using ActivityCounts = std::array<size_t, kActivities>;

struct WorkerSnapshot {
  uint32_t pid = 0;
  std::string target;
  std::string state;  // "opening", "idle", "compiling"
  std::string job;
  uint64_t jobs_done = 0;
  std::vector<SandboxLayer> sandbox{};  // empty: none, or still opening
};

struct PoolSnapshot {
  std::vector<WorkerSnapshot> workers;
  size_t jobs_queued = 0;
  size_t jobs_running = 0;
  std::array<size_t, kUrgencies> queued_by_class{};
  size_t background_running = 0;
  size_t background_limit = 0;  // workers that background may take now
  size_t workers_limit = 0;     // compiles at a time
  Pressure pressure;
  ActivityCounts activity{};
};

struct WorkerPoolOptions {
  std::string worker_binary;
  uint32_t workers = 1;  // compiles at a time, over all targets
  std::chrono::seconds job_timeout{60};
  uint32_t worker_memory_mb = 0;  // 0: no limit
  bool validate = false;
  bool no_compiler = false;    // workers open devices and refuse jobs
  std::string sandbox = "on";  // "off", "on" or "require": options.h
  PressureOptions pressure{};
};

// Workers that background compiles may take, of `workers`: all of them; while
// anybody plays, all but one where there are several; fewer under pressure.
size_t BackgroundLimit(size_t workers, const ActivityCounts& activity,
                       Backoff backoff);

// Confined to the io thread.
class WorkerPool {
 public:
  using OnDone = std::function<void(std::shared_ptr<CompileJob>, JobOutcome)>;
  using OnOpen = std::function<void(absl::StatusOr<OpenTargetPtr>)>;

  // `on_done` is called once for every submitted job that is not dropped.
  static std::unique_ptr<WorkerPool> Create(boost::asio::io_context& io,
                                            WorkerPoolOptions options,
                                            Counters& counters, OnDone on_done);

  virtual ~WorkerPool() = default;

  // Starts a worker for `spec` unless one is open, and reports what it is.
  // Errors: FailedPrecondition with the driver's or the system's reason.
  virtual void Open(const TargetSpec& spec, OnOpen on_open) = 0;

  // Gives `job` its id. Requires: somebody wants it.
  virtual void Submit(const std::shared_ptr<CompileJob>& job,
                      std::span<const Interest> interests) = 0;

  // Replaces who waits for a submitted job, and how urgently. One that waits in
  // the queue is dropped when nobody does; one that runs goes on.
  // Returns: true when it was dropped.
  virtual bool SetInterests(const CompileJob& job,
                            std::span<const Interest> interests) = 0;

  // What clients do has changed.
  virtual void SetActivity(const ActivityCounts& activity) = 0;

  virtual PoolSnapshot Snapshot() = 0;

  // Kills every worker; all jobs and opens end with Unavailable.
  virtual void Stop() = 0;
};

}  // namespace kiln::daemon
