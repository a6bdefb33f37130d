// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker_fleet.h"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "daemon/worker/channel.h"
#include "daemon/worker_messages.h"
#include "kiln/worker/v1/worker.pb.h"
#include "proto/text.h"

namespace kiln::daemon {
namespace {

// A driver that has not opened its device by then is not going to: 130 to
// 550 ms were measured (DESIGN section 1).
constexpr std::chrono::seconds kOpenDeadline{30};

// Workers over all targets. Idle ones of other targets make room.
constexpr uint32_t kMaxWorkersPerSlot = 4;

// CPU time of one job for each second of its limit: some drivers compile with
// a few threads.
constexpr int kCpuPerSecond = 2;

std::string WithTail(std::string text, const std::string& stderr_tail) {
  if (!stderr_tail.empty()) {
    text += fmt::format("; its last words: {}", Shorten(stderr_tail, 300));
  }
  return text;
}

}  // namespace

void WorkerFleet::Open(const TargetSpec& spec, WorkerPool::OnOpen on_open) {
  if (stopped_) {
    on_open(absl::UnavailableError("the daemon is stopping"));
    return;
  }
  TargetWorkers& target = WorkersOf(spec);
  // A target whose workers have all gone is opened afresh: its driver may have
  // been updated meanwhile.
  if (target.open != nullptr && !target.slots.empty()) {
    on_open(target.open);
    return;
  }
  if (target.slots.empty() && TotalWorkers() >= MaxWorkers() &&
      FindIdleBut(nullptr) == nullptr) {
    on_open(absl::UnavailableError(
        "too many targets are open and busy; try again"));
    return;
  }
  target.waiting.push_back(std::move(on_open));
  if (target.slots.empty()) {
    StartWorker(target);
  }
}

TargetWorkers& WorkerFleet::Of(const OpenTarget& target) {
  return WorkersOf(*TargetSpec::Parse(target.spec));
}

TargetWorkers& WorkerFleet::WorkersOf(const TargetSpec& spec) {
  TargetWorkers& target = targets_[spec];
  target.spec = spec;
  return target;
}

Slot* WorkerFleet::FindIdleOf(TargetWorkers& target) {
  auto idle = std::ranges::find(target.slots, SlotState::kIdle, &Slot::state);
  return idle == target.slots.end() ? nullptr : &*idle;
}

void WorkerFleet::StartUpTo(TargetWorkers& target, size_t wanted) {
  while (!(target.open_failed && !target.slots.empty())) {
    const auto opening = static_cast<size_t>(
        std::ranges::count(target.slots, SlotState::kOpening, &Slot::state));
    if (opening >= wanted || target.slots.size() >= options_.workers) {
      return;
    }
    const size_t before = target.slots.size();
    StartWorker(target);
    if (target.slots.size() == before) {
      return;  // it cannot be started; the target has failed
    }
  }
}

void WorkerFleet::Run(Slot& slot, std::shared_ptr<CompileJob> job) {
  LoadProgram(slot, *job);
  slot.job_id = ++last_job_id_;
  slot.process->Send(MakeJob(slot.job_id, *job));
  slot.state = SlotState::kCompiling;
  slot.phase = "start";
  slot.job = std::move(job);
  StartTimer(slot, options_.job_timeout);
}

void WorkerFleet::LoadProgram(Slot& slot, const CompileJob& job) {
  if (slot.programs.contains(job.program->id())) {
    return;
  }
  if (slot.programs.size() >= kWorkerPrograms) {
    slot.programs.clear();  // as the worker does
  }
  slot.programs.insert(job.program->id());
  slot.process->Send(MakeLoadProgram(job));
}

void WorkerFleet::StartTimer(Slot& slot, std::chrono::seconds limit) {
  slot.deadline = std::make_shared<int>();
  slot.timer.expires_after(limit);
  slot.timer.async_wait([&slot, counting = std::weak_ptr(slot.deadline)](
                            boost::system::error_code error) {
    if (!error && !counting.expired()) {
      slot.timed_out = true;
      slot.process->Kill();
    }
  });
}

void WorkerFleet::StartWorker(TargetWorkers& target) {
  MakeRoom(target);
  Slot& slot = target.slots.emplace_back(io_);
  const WorkerSpawnOptions spawn{options_.worker_binary,
                                 target.spec.ToString(),
                                 options_.worker_memory_mb,
                                 options_.validate,
                                 options_.no_compiler,
                                 options_.sandbox,
                                 kCpuPerSecond * options_.job_timeout};
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

size_t WorkerFleet::MaxWorkers() const {
  return size_t{kMaxWorkersPerSlot} * options_.workers;
}

size_t WorkerFleet::TotalWorkers() const {
  size_t total = 0;
  for (const auto& [spec, target] : targets_) {
    total += target.slots.size();
  }
  return total;
}

// An idle worker of a target other than `except`, or null.
Slot* WorkerFleet::FindIdleBut(const TargetWorkers* except) {
  for (auto& [spec, target] : targets_) {
    if (Slot* idle = &target == except ? nullptr : FindIdleOf(target)) {
      return idle;
    }
  }
  return nullptr;
}

// Retires an idle worker of another target when there are too many.
void WorkerFleet::MakeRoom(const TargetWorkers& wanting) {
  if (TotalWorkers() < MaxWorkers()) {
    return;
  }
  if (Slot* idle = FindIdleBut(&wanting)) {
    Retire(*idle);
  }
}

// Takes a worker out of service; it is replaced when there is work.
void WorkerFleet::Retire(Slot& slot) {
  slot.state = SlotState::kOpening;
  slot.retired = true;
  slot.process->Kill();
}

// Idle workers of a driver that has since been replaced.
void WorkerFleet::RetireIdle(TargetWorkers& target) {
  while (Slot* idle = FindIdleOf(target)) {
    Retire(*idle);
  }
}

void WorkerFleet::Stop(const absl::Status& why) {
  stopped_ = true;
  for (auto& [spec, target] : targets_) {
    AnswerOpen(target, why);
    for (Slot& slot : target.slots) {
      slot.StopTimer();
      slot.process->Kill();
    }
  }
}

void WorkerFleet::OnReport(TargetWorkers& target, Slot& slot,
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

void WorkerFleet::OnHello(TargetWorkers& target, Slot& slot,
                          const worker::v1::Hello& hello) {
  slot.StopTimer();
  absl::StatusOr<OpenTargetPtr> open = ToOpenTarget(target.spec, hello);
  if (!open.ok()) {
    Retire(slot);
    FailTarget(target, open.status());
    return;
  }
  slot.sandbox = ToSandbox(hello);
  if (!std::ranges::all_of(slot.sandbox, &SandboxLayer::holds)) {
    counters_.Add(Counter::kWorkersLackingALayer);
  }
  target.lost_while_opening = 0;
  if (target.open == nullptr || target.open->id != (*open)->id) {
    spdlog::info("target open target={} device=\"{}\" digest={}", (*open)->spec,
                 hello.device_name(), (*open)->id.ShortHex());
    spdlog::info("worker sandbox target={} layers=\"{}\"", (*open)->spec,
                 SandboxText(slot.sandbox));
    target.open = *std::move(open);
    RetireIdle(target);
  }
  slot.opened = target.open;
  target.open_failed = false;
  slot.state = SlotState::kIdle;
  AnswerOpen(target, target.open);
  events_.on_change();
}

void WorkerFleet::AnswerOpen(TargetWorkers& target,
                             const absl::StatusOr<OpenTargetPtr>& answer) {
  for (WorkerPool::OnOpen& on_open : std::exchange(target.waiting, {})) {
    on_open(answer);
  }
}

// No worker can be had: everything that waits for one ends.
void WorkerFleet::FailTarget(TargetWorkers& target, const absl::Status& why) {
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
    events_.on_target_lost(target, status);
  }
}

void WorkerFleet::OnResult(TargetWorkers& target, Slot& slot,
                           const worker::v1::JobResult& result) {
  slot.StopTimer();
  std::shared_ptr<CompileJob> job = std::exchange(slot.job, nullptr);
  slot.state = SlotState::kIdle;
  ++slot.jobs_done;
  JobOutcome outcome = ToOutcome(*job, result);
  if (slot.timed_out || slot.opened != target.open || result.device_suspect() ||
      absl::IsInternal(outcome.status)) {
    // Killed in the same moment, of a driver that was replaced, or in a bad
    // way: a device that was lost fails everything after.
    Retire(slot);
  }
  events_.on_result(target, std::move(job), result, std::move(outcome));
}

// Erases the slot: nothing may use it afterwards.
void WorkerFleet::OnExit(TargetWorkers& target, Slot& slot,
                         const WorkerExit& exit) {
  slot.StopTimer();
  const bool lost_opening = slot.state == SlotState::kOpening && !slot.retired;
  LostJob lost{std::exchange(slot.job, nullptr), slot.phase,
               slot.timed_out || exit.over_cpu_limit};
  std::erase_if(target.slots,
                [&](const Slot& other) { return &other == &slot; });
  if (lost.job != nullptr) {
    events_.on_lost(target, std::move(lost), exit);
  } else if (lost_opening && !stopped_) {
    OnLostOpening(target, lost.timed_out, exit);
  }
  if (stopped_) {
    return;
  }
  if (!target.waiting.empty() && target.slots.empty()) {
    StartWorker(target);
  }
  events_.on_change();
}

// A worker has gone before it could say what its device is.
void WorkerFleet::OnLostOpening(TargetWorkers& target, bool timed_out,
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

}  // namespace kiln::daemon
