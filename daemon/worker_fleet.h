// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kiln-worker processes of every target: started, opened, timed, retired,
// and told apart by what they died of. It runs the job it is given on the
// worker it is given; which job that is, and what becomes of one that was lost,
// is worker_pool.h's business.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "daemon/counters.h"
#include "daemon/worker_pool.h"
#include "daemon/worker_slot.h"

namespace kiln::worker::v1 {
class Hello;
class JobResult;
class WorkerReport;
}  // namespace kiln::worker::v1

namespace kiln::daemon {

// Deaths by a signal from outside (somebody's kill, the out-of-memory killer)
// that a job, or the opening of a target, is forgiven before they count.
inline constexpr uint32_t kMaxOutsideKills = 8;

// A job that a worker took with it.
struct LostJob {
  std::shared_ptr<CompileJob> job;
  std::string phase;
  bool timed_out = false;
};

// Confined to the io thread.
class WorkerFleet {
 public:
  struct Events {
    // Some worker is idle now, has gone, or may be started again.
    std::function<void()> on_change;
    std::function<void(TargetWorkers&, std::shared_ptr<CompileJob>,
                       const worker::v1::JobResult&, JobOutcome)>
        on_result;
    std::function<void(TargetWorkers&, LostJob, const WorkerExit&)> on_lost;
    // No worker of the target can be had, and none is left.
    std::function<void(TargetWorkers&, const absl::Status&)> on_target_lost;
  };

  // Requires: `options` and `io` outlive it.
  WorkerFleet(boost::asio::io_context& io, const WorkerPoolOptions& options,
              Counters& counters, Events events)
      : io_(io),
        options_(options),
        counters_(counters),
        events_(std::move(events)) {}

  WorkerFleet(const WorkerFleet&) = delete;  // timers refer to it
  WorkerFleet& operator=(const WorkerFleet&) = delete;

  // As WorkerPool::Open.
  void Open(const TargetSpec& spec, WorkerPool::OnOpen on_open);

  // The workers of a job's target. Lives as long as the fleet.
  TargetWorkers& Of(const OpenTarget& target);

  // Returns: null when no worker of the target is idle.
  static Slot* FindIdleOf(TargetWorkers& target);

  // Starts workers until `wanted` are opening, unless the target has as many as
  // may compile at a time.
  void StartUpTo(TargetWorkers& target, size_t wanted);

  // Requires: the slot is idle.
  void Run(Slot& slot, std::shared_ptr<CompileJob> job);

  // Kills every worker. Opens end with `why`, running jobs as lost.
  void Stop(const absl::Status& why);

  bool stopped() const { return stopped_; }

  const std::map<TargetSpec, TargetWorkers>& targets() const {
    return targets_;
  }

 private:
  TargetWorkers& WorkersOf(const TargetSpec& spec);
  void StartWorker(TargetWorkers& target);
  void StartTimer(Slot& slot, std::chrono::seconds limit);
  static void LoadProgram(Slot& slot, const CompileJob& job);

  size_t MaxWorkers() const;
  size_t TotalWorkers() const;
  Slot* FindIdleBut(const TargetWorkers* except);
  void MakeRoom(const TargetWorkers& wanting);
  static void Retire(Slot& slot);
  static void RetireIdle(TargetWorkers& target);

  void OnReport(TargetWorkers& target, Slot& slot,
                const worker::v1::WorkerReport& report);
  void OnHello(TargetWorkers& target, Slot& slot,
               const worker::v1::Hello& hello);
  void OnResult(TargetWorkers& target, Slot& slot,
                const worker::v1::JobResult& result);
  void OnExit(TargetWorkers& target, Slot& slot, const WorkerExit& exit);
  void OnLostOpening(TargetWorkers& target, bool timed_out,
                     const WorkerExit& exit);
  static void AnswerOpen(TargetWorkers& target,
                         const absl::StatusOr<OpenTargetPtr>& answer);
  void FailTarget(TargetWorkers& target, const absl::Status& why);

  boost::asio::io_context& io_;
  const WorkerPoolOptions& options_;
  Counters& counters_;
  const Events events_;
  std::map<TargetSpec, TargetWorkers> targets_;
  uint64_t last_job_id_ = 0;
  bool stopped_ = false;
};

}  // namespace kiln::daemon
