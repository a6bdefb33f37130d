// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker_pool.h"

#include <algorithm>
#include <map>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "daemon/worker/channel.h"
#include "daemon/worker_messages.h"
#include "daemon/worker_process.h"
#include "daemon/worker_slot.h"
#include "kiln/worker/v1/worker.pb.h"
#include "proto/text.h"

namespace kiln::daemon {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

// A driver that has not opened its device by then is not going to: 130 to
// 550 ms were measured (DESIGN section 1).
constexpr std::chrono::seconds kOpenDeadline{30};

// Starts of one job. The second is on a fresh worker; a job that takes two
// workers down is to blame.
constexpr uint32_t kMaxAttempts = 2;

// Deaths by a signal from outside (somebody's kill, the out-of-memory killer)
// that a job is forgiven before they count.
constexpr uint32_t kMaxOutsideKills = 8;

// Workers over all targets. Idle ones of other targets make room.
constexpr uint32_t kMaxWorkersPerSlot = 4;

Diagnostics Tail(const WorkerExit& exit) {
  return std::make_shared<const std::string>(exit.stderr_tail);
}

std::string WithTail(std::string text, const std::string& stderr_tail) {
  if (!stderr_tail.empty()) {
    text += fmt::format("; its last words: {}", Shorten(stderr_tail, 300));
  }
  return text;
}

class ProcessPool final : public WorkerPool {
 public:
  ProcessPool(asio::io_context& io, WorkerPoolOptions options,
              Counters& counters, OnDone on_done)
      : io_(io),
        options_(std::move(options)),
        counters_(counters),
        on_done_(std::move(on_done)) {}

  void Open(const TargetSpec& spec, OnOpen on_open) override {
    if (stopped_) {
      on_open(absl::UnavailableError("the daemon is stopping"));
      return;
    }
    TargetWorkers& target = WorkersOf(spec);
    // A target whose workers have all gone is opened afresh: its driver may
    // have been updated meanwhile.
    if (target.open != nullptr && !target.slots.empty()) {
      on_open(target.open);
      return;
    }
    if (target.slots.empty() && !HasRoom()) {
      on_open(absl::UnavailableError(
          "too many targets are open and busy; try again"));
      return;
    }
    target.waiting.push_back(std::move(on_open));
    if (target.slots.empty()) {
      StartWorker(target);
    }
  }

  void Submit(std::shared_ptr<CompileJob> job) override {
    if (stopped_) {
      Finish(std::move(job), {absl::UnavailableError("the daemon is stopping"),
                              nullptr,
                              {},
                              {},
                              false});
      return;
    }
    const auto spec = TargetSpec::Parse(job->target->spec);
    TargetWorkers& target = WorkersOf(*spec);
    Enqueue(target, std::move(job));
    ++queued_;
    Schedule();
  }

  void Promote(const CompileJob& job) override {
    const auto spec = TargetSpec::Parse(job.target->spec);
    TargetWorkers& target = WorkersOf(*spec);
    auto found = std::ranges::find_if(
        target.queue, [&](const std::shared_ptr<CompileJob>& queued) {
          return queued->background &&
                 queued->program->id() == job.program->id();
        });
    if (found != target.queue.end()) {
      std::shared_ptr<CompileJob> wanted = std::move(*found);
      target.queue.erase(found);
      wanted->background = false;
      Enqueue(target, std::move(wanted));
    }
  }

  PoolSnapshot Snapshot() const override {
    PoolSnapshot snapshot;
    snapshot.jobs_queued = queued_;
    snapshot.jobs_running = running_;
    for (const auto& [spec, target] : targets_) {
      for (const Slot& slot : target.slots) {
        snapshot.workers.push_back(
            {static_cast<uint32_t>(slot.process->pid()), spec.ToString(),
             std::string(StateText(slot.state)),
             slot.job ? slot.job->label : "", slot.jobs_done});
      }
    }
    return snapshot;
  }

  void Stop() override {
    stopped_ = true;
    const absl::Status stopping =
        absl::UnavailableError("the daemon is stopping");
    for (auto& [spec, target] : targets_) {
      for (const std::shared_ptr<CompileJob>& job :
           std::exchange(target.queue, {})) {
        Finish(job, {stopping, nullptr, {}, {}, false});
      }
      AnswerOpen(target, stopping);
      for (Slot& slot : target.slots) {
        slot.StopTimer();
        slot.process->Kill();
      }
    }
    queued_ = 0;
  }

 private:
  // In order, but for background work, which comes last.
  static void Enqueue(TargetWorkers& target, std::shared_ptr<CompileJob> job) {
    auto at = target.queue.end();
    if (!job->background) {
      at = std::ranges::find_if(target.queue,
                                [](const std::shared_ptr<CompileJob>& queued) {
                                  return queued->background;
                                });
    }
    target.queue.insert(at, std::move(job));
  }

  TargetWorkers& WorkersOf(const TargetSpec& spec) {
    TargetWorkers& target = targets_[spec];
    target.spec = spec;
    return target;
  }

  // Gives work to idle workers and starts workers for what is left.
  void Schedule() {
    for (auto& [spec, target] : targets_) {
      while (running_ < options_.workers && AssignOne(target)) {
      }
    }
  }

  // Returns: true if a job was given to a worker or ended at once.
  bool AssignOne(TargetWorkers& target) {
    auto runnable = std::ranges::find_if(
        target.queue, [&](const std::shared_ptr<CompileJob>& job) {
          return !target.in_front_end.contains(job->program->id());
        });
    if (runnable == target.queue.end()) {
      return false;
    }
    if (std::optional<JobOutcome> known = KnownOutcome(target, **runnable)) {
      Finish(Take(target, runnable), *std::move(known));
      return true;
    }
    auto idle = std::ranges::find(target.slots, SlotState::kIdle, &Slot::state);
    if (idle != target.slots.end()) {
      Assign(target, *idle, Take(target, runnable));
      return true;
    }
    if (target.open_failed && !target.slots.empty()) {
      return false;
    }
    const auto opening =
        std::ranges::count(target.slots, SlotState::kOpening, &Slot::state);
    const size_t wanted =
        std::min<size_t>(target.queue.size(), options_.workers - running_);
    if (static_cast<size_t>(opening) < wanted &&
        target.slots.size() < options_.workers) {
      StartWorker(target);
    }
    return false;
  }

  // A job that needs no worker: its target has changed, or its program is
  // known not to compile.
  std::optional<JobOutcome> KnownOutcome(const TargetWorkers& target,
                                         const CompileJob& job) {
    if (target.open != nullptr && target.open->id != job.target->id) {
      return JobOutcome{
          absl::AbortedError(fmt::format("target {} is another one since its "
                                         "driver changed; open a new session",
                                         job.target->spec)),
          nullptr,
          {},
          {},
          false};
    }
    const auto front_end = job.program->front_end(job.target->compiler);
    if (front_end != nullptr && !front_end->failure.ok()) {
      return JobOutcome{
          front_end->failure, front_end->diagnostics, {}, {}, true};
    }
    return std::nullopt;
  }

  std::shared_ptr<CompileJob> Take(
      TargetWorkers& target,
      std::deque<std::shared_ptr<CompileJob>>::iterator where) {
    std::shared_ptr<CompileJob> job = std::move(*where);
    target.queue.erase(where);
    --queued_;
    return job;
  }

  void Assign(TargetWorkers& target, Slot& slot,
              std::shared_ptr<CompileJob> job) {
    if (job->program->front_end(job->target->compiler) == nullptr) {
      target.in_front_end.insert(job->program->id());
    }
    LoadProgram(slot, *job);
    ++job->attempts;
    if (!job->front_end_only) {
      counters_.Add(Counter::kCompilesStarted);
    }
    slot.job_id = ++last_job_id_;
    slot.process->Send(MakeJob(slot.job_id, *job));
    slot.state = SlotState::kCompiling;
    slot.phase = "start";
    slot.job = std::move(job);
    ++running_;
    StartTimer(slot, options_.job_timeout);
  }

  void LoadProgram(Slot& slot, const CompileJob& job) {
    if (slot.programs.contains(job.program->id())) {
      return;
    }
    if (slot.programs.size() >= kWorkerPrograms) {
      slot.programs.clear();  // as the worker does
    }
    slot.programs.insert(job.program->id());
    slot.process->Send(MakeLoadProgram(job));
  }

  void StartTimer(Slot& slot, std::chrono::seconds limit) {
    slot.deadline = std::make_shared<int>();
    slot.timer.expires_after(limit);
    slot.timer.async_wait(
        [&slot, counting = std::weak_ptr(slot.deadline)](ErrorCode error) {
          if (!error && !counting.expired()) {
            slot.timed_out = true;
            slot.process->Kill();
          }
        });
  }

  void StartWorker(TargetWorkers& target) {
    MakeRoom(target);
    Slot& slot = target.slots.emplace_back(io_);
    const WorkerSpawnOptions spawn{
        options_.worker_binary, target.spec.ToString(),
        options_.worker_memory_mb, options_.validate, options_.no_compiler};
    WorkerProcess::Callbacks callbacks{
        [this, &target, &slot](const worker::v1::WorkerReport& report) {
          OnReport(target, slot, report);
        },
        [this, &target, &slot](const WorkerExit& exit) {
          OnExit(target, slot, exit);
        }};
    auto process = WorkerProcess::Spawn(io_, spawn, std::move(callbacks));
    if (!process.ok()) {
      target.slots.pop_back();
      FailTarget(target, process.status());
      return;
    }
    counters_.Add(Counter::kWorkersStarted);
    slot.process = *std::move(process);
    StartTimer(slot, kOpenDeadline);
  }

  size_t MaxWorkers() const {
    return size_t{kMaxWorkersPerSlot} * options_.workers;
  }

  size_t TotalWorkers() const {
    size_t total = 0;
    for (const auto& [spec, target] : targets_) {
      total += target.slots.size();
    }
    return total;
  }

  // An idle worker of a target other than `except`, or null.
  Slot* FindIdle(const TargetWorkers* except) {
    for (auto& [spec, target] : targets_) {
      auto found =
          std::ranges::find(target.slots, SlotState::kIdle, &Slot::state);
      if (&target != except && found != target.slots.end()) {
        return &*found;
      }
    }
    return nullptr;
  }

  bool HasRoom() {
    return TotalWorkers() < MaxWorkers() || FindIdle(nullptr) != nullptr;
  }

  // Retires an idle worker of another target when there are too many.
  void MakeRoom(const TargetWorkers& wanting) {
    if (TotalWorkers() < MaxWorkers()) {
      return;
    }
    if (Slot* idle = FindIdle(&wanting)) {
      Retire(*idle);
    }
  }

  // Takes a worker out of service; it is replaced when there is work.
  static void Retire(Slot& slot) {
    slot.state = SlotState::kOpening;
    slot.retired = true;
    slot.process->Kill();
  }

  // Idle workers of a driver that has since been replaced.
  static void RetireOthers(TargetWorkers& target) {
    for (Slot& slot : target.slots) {
      if (slot.state == SlotState::kIdle) {
        Retire(slot);
      }
    }
  }

  void OnReport(TargetWorkers& target, Slot& slot,
                const worker::v1::WorkerReport& report) {
    if (report.has_hello()) {
      OnHello(target, slot, report.hello());
    } else if (report.has_phase()) {
      slot.phase = report.phase().phase();
    } else if (report.has_result() && slot.job != nullptr &&
               report.result().job_id() == slot.job_id) {
      OnResult(target, slot, report.result());
    }
  }

  void OnHello(TargetWorkers& target, Slot& slot,
               const worker::v1::Hello& hello) {
    slot.StopTimer();
    absl::StatusOr<OpenTargetPtr> open = ToOpenTarget(target.spec, hello);
    if (!open.ok()) {
      Retire(slot);
      FailTarget(target, open.status());
      return;
    }
    target.lost_while_opening = 0;
    if (target.open == nullptr || target.open->id != (*open)->id) {
      spdlog::info("target open target={} device=\"{}\" digest={}",
                   (*open)->spec, hello.device_name(), (*open)->id.ShortHex());
      target.open = *std::move(open);
      RetireOthers(target);
    }
    slot.opened = target.open;
    target.open_failed = false;
    slot.state = SlotState::kIdle;
    AnswerOpen(target, target.open);
    Schedule();
  }

  void AnswerOpen(TargetWorkers& target,
                  const absl::StatusOr<OpenTargetPtr>& answer) {
    for (OnOpen& on_open : std::exchange(target.waiting, {})) {
      on_open(answer);
    }
  }

  // No worker can be had: everything that waits for one ends.
  void FailTarget(TargetWorkers& target, const absl::Status& why) {
    const absl::string_view reason = why.message();
    const absl::Status status = absl::FailedPreconditionError(
        fmt::format("target {} cannot be opened: {}", target.spec.ToString(),
                    std::string_view(reason.data(), reason.size())));
    spdlog::warn(
        "{}", Shorten({status.message().data(), status.message().size()}, 600));
    AnswerOpen(target, status);
    const bool others = std::ranges::any_of(target.slots, [](const Slot& slot) {
      return slot.state != SlotState::kOpening;
    });
    target.open_failed = others;
    if (!others) {
      target.open = nullptr;
      for (const std::shared_ptr<CompileJob>& job :
           std::exchange(target.queue, {})) {
        --queued_;
        Finish(job, {status, nullptr, {}, {}, false});
      }
    }
  }

  void OnResult(TargetWorkers& target, Slot& slot,
                const worker::v1::JobResult& result) {
    slot.StopTimer();
    std::shared_ptr<CompileJob> job = std::exchange(slot.job, nullptr);
    slot.state = SlotState::kIdle;
    ++slot.jobs_done;
    --running_;
    target.in_front_end.erase(job->program->id());
    LogValidation(*job, result);
    if (result.proof_refused()) {
      counters_.Add(Counter::kProofsRefused);
    }
    JobOutcome outcome = ToOutcome(*job, result);
    if (slot.timed_out || slot.opened != target.open ||
        result.device_suspect() || absl::IsInternal(outcome.status)) {
      // Killed in the same moment, of a driver that was replaced, or in a bad
      // way: a device that was lost fails everything after.
      Retire(slot);
    }
    KeepFrontEnd(*job, result, outcome);
    Finish(std::move(job), std::move(outcome));
    Schedule();
  }

  void LogValidation(const CompileJob& job,
                     const worker::v1::JobResult& result) {
    for (const std::string& message : result.validation_messages()) {
      counters_.Add(Counter::kValidationMessages);
      spdlog::warn("validation label=\"{}\" message=\"{}\"", job.label,
                   Shorten(message, 800));
    }
  }

  // Completes what a front end made by the stages that were known before it.
  void KeepFrontEnd(CompileJob& job, const worker::v1::JobResult& result,
                    JobOutcome& outcome) {
    if (result.front_end_us() != 0) {
      counters_.Add(Counter::kFrontEndRuns);
      counters_.Add(Counter::kStagesCompiled, outcome.modules.size());
      spdlog::info("front end program={} stages={} ms={:.1f}",
                   job.program->program().name, outcome.modules.size(),
                   static_cast<double>(result.front_end_us()) / 1000);
      for (Module& known : job.program->known_stages(job.target->compiler)) {
        if (std::ranges::none_of(outcome.modules, [&](const Module& made) {
              return made.id.stage == known.id.stage;
            })) {
          outcome.modules.push_back(std::move(known));
        }
      }
      std::ranges::sort(outcome.modules, {},
                        [](const Module& module) { return module.id.stage; });
      job.program->set_front_end(
          job.target->compiler,
          {outcome.modules, {}, nullptr, outcome.unused_overrides});
    } else if (result.front_end_failed()) {
      counters_.Add(Counter::kFrontEndRuns);
      job.program->set_front_end(job.target->compiler,
                                 {{}, outcome.status, outcome.diagnostics});
    }
  }

  // Erases the slot: nothing may use it afterwards.
  void OnExit(TargetWorkers& target, Slot& slot, const WorkerExit& exit) {
    slot.StopTimer();
    const bool lost_opening =
        slot.state == SlotState::kOpening && !slot.retired;
    std::shared_ptr<CompileJob> job = std::exchange(slot.job, nullptr);
    const std::string phase = slot.phase;
    const bool timed_out = slot.timed_out;
    std::erase_if(target.slots,
                  [&](const Slot& other) { return &other == &slot; });
    if (stopped_) {
      if (job != nullptr) {
        --running_;
        Finish(std::move(job),
               {absl::UnavailableError("the daemon is stopping"),
                nullptr,
                {},
                {},
                false});
      }
      return;
    }
    if (job != nullptr) {
      --running_;
      target.in_front_end.erase(job->program->id());
      OnLostJob(target, std::move(job), phase, timed_out, exit);
    } else if (lost_opening) {
      OnLostOpening(target, timed_out, exit);
    }
    if (!target.waiting.empty() && target.slots.empty()) {
      StartWorker(target);
    }
    Schedule();
  }

  // A worker has gone before it could say what its device is.
  void OnLostOpening(TargetWorkers& target, bool timed_out,
                     const WorkerExit& exit) {
    counters_.Add(Counter::kWorkersCrashed);
    spdlog::warn("worker lost target={} cause=\"{}\" phase=\"opening\"",
                 target.spec.ToString(), exit.cause);
    if (exit.killed_from_outside &&
        ++target.lost_while_opening <= kMaxOutsideKills) {
      return;  // another one is started for whatever waits
    }
    const std::string cause =
        timed_out ? fmt::format("did not open the device in {} s",
                                kOpenDeadline.count())
                  : fmt::format("{} while opening the device", exit.cause);
    FailTarget(target, absl::InternalError(
                           WithTail("its worker " + cause, exit.stderr_tail)));
  }

  // A worker has taken its job with it.
  void OnLostJob(TargetWorkers& target, std::shared_ptr<CompileJob> job,
                 const std::string& phase, bool timed_out,
                 const WorkerExit& exit) {
    if (timed_out) {
      counters_.Add(Counter::kJobsTimedOut);
      Finish(std::move(job),
             {absl::DeadlineExceededError(fmt::format(
                  "compile took over {} s in the {} and was stopped",
                  options_.job_timeout.count(), phase)),
              Tail(exit),
              {},
              {},
              false});
      return;
    }
    counters_.Add(Counter::kWorkersCrashed);
    spdlog::warn(
        "worker lost label=\"{}\" cause=\"{}\" phase=\"{}\" attempt={}",
        job->label, exit.cause, phase, job->attempts);
    bool again = job->attempts < kMaxAttempts;
    if (exit.killed_from_outside && job->outside_kills < kMaxOutsideKills) {
      ++job->outside_kills;
      --job->attempts;  // not the job's fault
      again = true;
    }
    if (again) {
      counters_.Add(Counter::kJobsRetried);
      target.queue.push_front(std::move(job));
      ++queued_;
      return;
    }
    const absl::Status status = absl::InternalError(
        fmt::format("compiler {} in the {}", exit.cause, phase));
    if (phase.starts_with("front end")) {
      job->program->set_front_end(job->target->compiler,
                                  {{}, status, Tail(exit)});
    }
    Finish(std::move(job), {status, Tail(exit), {}, {}, true});
  }

  void Finish(std::shared_ptr<CompileJob> job, JobOutcome outcome) {
    on_done_(std::move(job), std::move(outcome));
  }

  asio::io_context& io_;
  const WorkerPoolOptions options_;
  Counters& counters_;
  const OnDone on_done_;
  std::map<TargetSpec, TargetWorkers> targets_;
  size_t queued_ = 0;
  size_t running_ = 0;
  uint64_t last_job_id_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<WorkerPool> WorkerPool::Create(asio::io_context& io,
                                               WorkerPoolOptions options,
                                               Counters& counters,
                                               OnDone on_done) {
  return std::make_unique<ProcessPool>(io, std::move(options), counters,
                                       std::move(on_done));
}

}  // namespace kiln::daemon
