// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker_pool.h"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "daemon/worker_fleet.h"
#include "kiln/worker/v1/worker.pb.h"
#include "proto/text.h"

namespace kiln::daemon {
namespace {

namespace asio = boost::asio;

// Starts of one job. The second is on a fresh worker; a job that takes two
// workers down is to blame.
constexpr uint32_t kMaxAttempts = 2;

// Background work that is held back by memory pressure for longer than this is
// compiled one at a time: slowly, but it ends.
constexpr std::chrono::seconds kLongestHold{60};

// How soon background work that is held back looks again.
constexpr std::chrono::seconds kLookAgain{1};

absl::Status Stopping() {
  return absl::UnavailableError("the daemon is stopping");
}

Diagnostics Tail(const WorkerExit& exit) {
  return std::make_shared<const std::string>(exit.stderr_tail);
}

class ProcessPool final : public WorkerPool {
 public:
  ProcessPool(asio::io_context& io, WorkerPoolOptions options,
              Counters& counters, OnDone on_done)
      : options_(std::move(options)),
        counters_(counters),
        on_done_(std::move(on_done)),
        pressure_(options_.pressure),
        look_again_(io),
        fleet_(io, options_, counters, MakeEvents()) {}

  void Open(const TargetSpec& spec, OnOpen on_open) override {
    fleet_.Open(spec, std::move(on_open));
  }

  void Submit(const std::shared_ptr<CompileJob>& job,
              std::span<const Interest> interests) override {
    if (fleet_.stopped()) {
      on_done_(job, Ended(Stopping()));
      return;
    }
    job->id = ++last_id_;
    jobs_.emplace(job->id, Known{job, false});
    queue_.Add({job->id, job->target->id, job->program->id()}, interests);
    targets_.emplace(job->target->id, &fleet_.Of(*job->target));
    Schedule();
  }

  bool SetInterests(const CompileJob& job,
                    std::span<const Interest> interests) override {
    switch (queue_.Set(job.id, interests)) {
      case JobQueue::Change::kPromoted:
        counters_.Add(Counter::kPromoted);
        Schedule();  // it may be taken where background work is held
        return false;
      case JobQueue::Change::kDropped:
        counters_.Add(Counter::kCancelled);
        jobs_.erase(job.id);
        return true;
      case JobQueue::Change::kNone:
        return false;
    }
    return false;
  }

  void SetActivity(const ActivityCounts& activity) override {
    activity_ = activity;
    Schedule();
  }

  PoolSnapshot Snapshot() override {
    PoolSnapshot snapshot;
    snapshot.jobs_queued = queue_.size();
    snapshot.jobs_running = running_;
    for (const Urgency urgency : kAllUrgencies) {
      snapshot.queued_by_class[IndexOf(urgency)] = queue_.size(urgency);
    }
    snapshot.background_running = background_running_;
    snapshot.workers_limit = options_.workers;
    snapshot.pressure = pressure_.Sample();
    snapshot.background_limit = Limit();
    snapshot.activity = activity_;
    for (const auto& [spec, target] : fleet_.targets()) {
      for (const Slot& slot : target.slots) {
        snapshot.workers.push_back(
            {static_cast<uint32_t>(slot.process->pid()), spec.ToString(),
             std::string(StateText(slot.state)),
             slot.job ? slot.job->label : "", slot.jobs_done, slot.sandbox});
      }
    }
    return snapshot;
  }

  void Stop() override {
    look_again_.cancel();
    fleet_.Stop(Stopping());
    EndQueued(Stopping(), [](const CompileJob&) { return true; });
  }

 private:
  struct Known {
    std::shared_ptr<CompileJob> job;
    bool background = false;  // of one that runs: it was taken as such
  };

  WorkerFleet::Events MakeEvents() {
    return {
        [this] { Schedule(); },
        [this](TargetWorkers& target, std::shared_ptr<CompileJob> job,
               const worker::v1::JobResult& result, JobOutcome outcome) {
          OnResult(target, std::move(job), result, std::move(outcome));
        },
        [this](TargetWorkers& target, LostJob lost, const WorkerExit& exit) {
          OnLost(target, std::move(lost), exit);
        },
        [this](TargetWorkers& target, const absl::Status& why) {
          EndQueued(why, [&](const CompileJob& job) {
            return targets_.at(job.target->id) == &target;
          });
        }};
  }

  size_t Limit() {
    const size_t limit = BackgroundLimit(options_.workers, activity_,
                                         pressure_.Sample().backoff);
    return limit == 0 && queue_.BackgroundAge() >= kLongestHold ? 1 : limit;
  }

  // Gives work to idle workers and starts workers for what is left.
  void Schedule() {
    if (fleet_.stopped() || std::exchange(scheduling_, true)) {
      return;  // what made it run again inside is seen by the loop
    }
    const size_t limit = Limit();
    while (running_ < options_.workers && AssignNext(limit)) {
    }
    StartWorkers(limit);
    scheduling_ = false;
    NoteHeld(limit);
  }

  // Returns: true if a job was given to a worker or ended at once.
  bool AssignNext(size_t limit) {
    TakeFilter filter;
    filter.background = background_running_ < limit;
    filter.target = [this](const Digest& id) {
      TargetWorkers& target = *targets_.at(id);
      return IsReplaced(target, id) ||
             WorkerFleet::FindIdleOf(target) != nullptr;
    };
    filter.program = [this](const Digest& id, const Digest& program) {
      return !targets_.at(id)->in_front_end.contains(program);
    };
    const std::optional<uint64_t> id = queue_.Take(filter);
    if (!id) {
      return false;
    }
    Known& known = jobs_.at(*id);
    TargetWorkers& target = *targets_.at(known.job->target->id);
    if (std::optional<JobOutcome> outcome = KnownOutcome(target, *known.job)) {
      Finish(known.job, *std::move(outcome));
      return true;
    }
    known.background = IsBackground(queue_.urgency(*id));
    background_running_ += known.background ? 1 : 0;
    ++running_;
    Assign(target, known.job);
    return true;
  }

  // More workers for a target than jobs that may run now would stay idle.
  void StartWorkers(size_t limit) {
    const size_t background_left = limit - std::min(limit, background_running_);
    for (const Digest& id : queue_.Targets()) {
      if (running_ >= options_.workers) {
        return;
      }
      TargetWorkers& target = *targets_.at(id);
      const auto [on_screen, background] = queue_.SizeOf(id);
      if (WorkerFleet::FindIdleOf(target) == nullptr) {
        fleet_.StartUpTo(
            target, std::min(on_screen + std::min(background, background_left),
                             options_.workers - running_));
      }
    }
  }

  // Background work that only waits for `limit` to rise is looked at again.
  void NoteHeld(size_t limit) {
    const size_t background =
        queue_.size(Urgency::kWarmUp) + queue_.size(Urgency::kSpeculative);
    const bool held = background > 0 && running_ < options_.workers &&
                      background_running_ >= limit && limit < options_.workers;
    if (held && !std::exchange(held_, held)) {
      counters_.Add(Counter::kBackgroundHeld);
    }
    held_ = held;
    if (held) {
      look_again_.expires_after(kLookAgain);
      look_again_.async_wait([this](boost::system::error_code error) {
        if (!error) {
          Schedule();
        }
      });
    }
  }

  static bool IsReplaced(const TargetWorkers& target, const Digest& id) {
    return target.open != nullptr && target.open->id != id;
  }

  // A job that needs no worker: its target has changed, or its program is
  // known not to compile.
  static std::optional<JobOutcome> KnownOutcome(const TargetWorkers& target,
                                                const CompileJob& job) {
    if (IsReplaced(target, job.target->id)) {
      return Ended(absl::AbortedError(
          fmt::format("target {} is another one since its driver changed; open "
                      "a new session",
                      job.target->spec)));
    }
    const auto front_end = job.program->front_end(job.target->compiler);
    if (front_end != nullptr && !front_end->failure.ok()) {
      return Ended(front_end->failure, front_end->diagnostics, true);
    }
    return std::nullopt;
  }

  void Assign(TargetWorkers& target, const std::shared_ptr<CompileJob>& job) {
    if (job->program->front_end(job->target->compiler) == nullptr) {
      target.in_front_end.insert(job->program->id());
    }
    ++job->attempts;
    if (!job->front_end_only) {
      counters_.Add(Counter::kCompilesStarted);
    }
    fleet_.Run(*WorkerFleet::FindIdleOf(target), job);
  }

  // A job runs no more.
  void Stopped(TargetWorkers& target, const CompileJob& job) {
    --running_;
    Known& known = jobs_.at(job.id);
    background_running_ -= std::exchange(known.background, false) ? 1 : 0;
    target.in_front_end.erase(job.program->id());
  }

  void OnResult(TargetWorkers& target, std::shared_ptr<CompileJob> job,
                const worker::v1::JobResult& result, JobOutcome outcome) {
    Stopped(target, *job);
    LogValidation(*job, result);
    if (result.proof_refused()) {
      counters_.Add(Counter::kProofsRefused);
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

  // A worker has taken its job with it.
  void OnLost(TargetWorkers& target, LostJob lost, const WorkerExit& exit) {
    std::shared_ptr<CompileJob> job = std::move(lost.job);
    Stopped(target, *job);
    if (fleet_.stopped()) {
      Finish(std::move(job), Ended(Stopping()));
      return;
    }
    if (lost.timed_out) {
      counters_.Add(Counter::kJobsTimedOut);
      Finish(std::move(job),
             Ended(absl::DeadlineExceededError(fmt::format(
                       "compile took over {} s in the {} and was stopped",
                       options_.job_timeout.count(), lost.phase)),
                   Tail(exit)));
      return;
    }
    counters_.Add(Counter::kWorkersCrashed);
    spdlog::warn(
        "worker lost label=\"{}\" cause=\"{}\" phase=\"{}\" attempt={}",
        job->label, exit.cause, lost.phase, job->attempts);
    bool again = job->attempts < kMaxAttempts;
    if (exit.killed_from_outside && job->outside_kills < kMaxOutsideKills) {
      ++job->outside_kills;
      --job->attempts;  // not the job's fault
      again = true;
    }
    if (again) {
      counters_.Add(Counter::kJobsRetried);
      queue_.PutBack(job->id);
      return;
    }
    const absl::Status status = absl::InternalError(
        fmt::format("compiler {} in the {}", exit.cause, lost.phase));
    if (lost.phase.starts_with("front end")) {
      job->program->set_front_end(job->target->compiler,
                                  {{}, status, Tail(exit)});
    }
    Finish(std::move(job), Ended(status, Tail(exit), true));
  }

  // Ends the queued jobs that `ends` names.
  template <typename Predicate>
  void EndQueued(const absl::Status& why, Predicate ends) {
    for (const uint64_t id : queue_.Queued()) {
      if (const std::shared_ptr<CompileJob> job = jobs_.at(id).job;
          ends(*job)) {
        Finish(job, Ended(why));
      }
    }
  }

  void Finish(std::shared_ptr<CompileJob> job, JobOutcome outcome) {
    queue_.Done(job->id);
    jobs_.erase(job->id);
    on_done_(std::move(job), std::move(outcome));
  }

  const WorkerPoolOptions options_;
  Counters& counters_;
  const OnDone on_done_;
  JobQueue queue_;
  PressureReader pressure_;
  ActivityCounts activity_{};
  asio::steady_timer look_again_;
  absl::flat_hash_map<uint64_t, Known> jobs_;  // submitted, by id
  // Of every digest that a job named; a spec has several after driver updates.
  absl::flat_hash_map<Digest, TargetWorkers*> targets_;
  WorkerFleet fleet_;
  size_t running_ = 0;
  size_t background_running_ = 0;
  uint64_t last_id_ = 0;
  bool scheduling_ = false;
  bool held_ = false;
};

}  // namespace

size_t BackgroundLimit(size_t workers, const ActivityCounts& activity,
                       Backoff backoff) {
  const bool somebody_plays = activity[IndexOf(Activity::kPlaying)] > 0;
  const size_t limit =
      somebody_plays ? std::max<size_t>(1, workers - 1) : workers;
  switch (backoff) {
    case Backoff::kNone:
      return limit;
    case Backoff::kOneAtATime:
      return 1;
    case Backoff::kHold:
      return 0;
  }
  return limit;
}

std::unique_ptr<WorkerPool> WorkerPool::Create(asio::io_context& io,
                                               WorkerPoolOptions options,
                                               Counters& counters,
                                               OnDone on_done) {
  return std::make_unique<ProcessPool>(io, std::move(options), counters,
                                       std::move(on_done));
}

}  // namespace kiln::daemon
