// SPDX-License-Identifier: Apache-2.0
#include "daemon/scheduler.h"

#include <algorithm>
#include <map>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "proto/status_macros.h"
#include "proto/text.h"
#include "storage/variant_store.h"

namespace kiln::daemon {
namespace {

Answer Rejected(const absl::Status& status) {
  Answer answer;
  answer.status = status;
  answer.rejected = true;
  return answer;
}

Answer Ready(std::shared_ptr<const Artifact> artifact, std::string label,
             Origin origin) {
  Answer answer;
  answer.artifact = std::move(artifact);
  answer.label = std::move(label);
  answer.origin = origin;
  return answer;
}

Answer Failed(const absl::Status& status, Diagnostics diagnostics,
              std::string label) {
  Answer answer;
  answer.status = status;
  answer.diagnostics = std::move(diagnostics);
  answer.label = std::move(label);
  return answer;
}

std::string FrontEndLabel(const RegisteredProgram& program) {
  return fmt::format("{} front end", program.program().name);
}

absl::Status Sealed() {
  return absl::NotFoundError(
      "sealed: it is not stored, and nothing is compiled here");
}

absl::Status Released() {
  return absl::CancelledError("nobody waits for it any more");
}

Answer OfFrontEnd(const CompileJob& job,
                  const std::shared_ptr<const FrontEndResult>& made,
                  Origin origin) {
  if (!made->failure.ok()) {
    return Failed(made->failure, made->diagnostics, job.label);
  }
  Answer answer;
  answer.front_end = made;
  answer.compiled = job.program;
  answer.label = job.label;
  answer.origin = origin;
  answer.program = job.program->id();
  return answer;
}

}  // namespace

void Scheduler::Request(const OpenTargetPtr& target, VariantKey key,
                        const Asker& asker, OnAnswer on_answer) {
  counters_.Add(Counter::kRequests);
  auto program = registry_.Find(key.program);
  absl::StatusOr<VariantKey> normal =
      program.ok() ? NormaliseKey((*program)->program(), std::move(key))
                   : program.status();
  if (!normal.ok()) {
    counters_.Add(Counter::kRequestsRejected);
    on_answer(Rejected(normal.status()));
    return;
  }
  auto job = std::make_shared<CompileJob>();
  job->target = target;
  job->program = *std::move(program);
  job->key = *std::move(normal);
  Waiter request{asker, std::move(on_answer), std::move(job)};
  if (!request.job->key.overrides.empty()) {
    registry_.LoadFrontEnd(*request.job->program, target->compiler);
    if (request.job->program->front_end(target->compiler) == nullptr &&
        pool_ != nullptr) {
      Park(std::move(request));
      return;
    }
  }
  Proceed(std::move(request), nullptr);
}

void Scheduler::RequestFrontEnd(const OpenTargetPtr& target,
                                std::shared_ptr<RegisteredProgram> program,
                                const Asker& asker, OnAnswer on_answer) {
  counters_.Add(Counter::kRequests);
  auto job = std::make_shared<CompileJob>();
  job->target = target;
  job->program = std::move(program);
  job->key.program = job->program->id();
  job->label = FrontEndLabel(*job->program);
  job->front_end_only = true;
  registry_.LoadFrontEnd(*job->program, target->compiler);
  if (const auto known = job->program->front_end(target->compiler)) {
    counters_.Add(Counter::kHitsStore);
    on_answer(OfFrontEnd(*job, known, Origin::kStore));
    return;
  }
  if (pool_ == nullptr) {
    counters_.Add(Counter::kSealedMisses);
    on_answer(Failed(Sealed(), nullptr, job->label));
    return;
  }
  Park({asker, std::move(on_answer), std::move(job)});
}

void Scheduler::Park(Waiter request) {
  const CompileJob& first = *request.job;
  auto front_end = std::make_shared<CompileJob>();
  front_end->target = first.target;
  front_end->program = first.program;
  front_end->key = first.key;
  front_end->label = FrontEndLabel(*first.program);
  front_end->front_end_only = true;
  const FlightKey key(first.target->id, first.program->id());
  absl::MutexLock lock(&mutex_);
  Flight& flight = flights_[key];
  if (flight.job == nullptr) {
    flight.job = std::move(front_end);
  }
  Enter(key, std::move(request));
}

void Scheduler::Proceed(Waiter request, const FlightKey* from) {
  CompileJob& job = *request.job;
  if (const auto front_end = job.program->front_end(job.target->compiler);
      front_end != nullptr && !job.key.overrides.empty()) {
    std::erase_if(job.key.overrides, [&](const OverrideValue& entry) {
      return std::ranges::binary_search(front_end->unused_overrides,
                                        entry.name);
    });
  }
  job.key_id = KeyId(job.key);
  job.label = KeyLabel(job.program->program(), job.key);
  auto stored = store_.GetArtifact(job.target->id, job.key);
  if (stored.ok() && stored->has_value()) {
    counters_.Add(Counter::kHitsStore);
    if (from != nullptr) {
      absl::MutexLock lock(&mutex_);
      TakeTicket(request.asker, *from);
    }
    request.on_answer(
        Ready(std::make_shared<const Artifact>(**std::move(stored)), job.label,
              Origin::kStore));
    return;
  }
  registry_.LoadFrontEnd(*job.program, job.target->compiler);
  RequestMissing(std::move(request), from);
}

void Scheduler::RequestMissing(Waiter request, const FlightKey* from) {
  const std::shared_ptr<CompileJob> job = std::move(request.job);
  // A key's digest says nothing of it: `kiln why` knows it by what is noted.
  asked_.Ask(job->target->id, job->key_id, job->key, job->label);
  const FlightKey key(job->target->id, job->key_id);
  Answer answer;
  {
    absl::MutexLock lock(&mutex_);
    const bool wanted = from == nullptr || TakeTicket(request.asker, *from);
    if (auto flight = flights_.find(key); wanted && flight != flights_.end()) {
      counters_.Add(Counter::kJoined);
      Enter(key, std::move(request));
      return;
    }
    // A compile may have ended since the caller looked.
    auto stored = store_.GetArtifact(job->target->id, job->key);
    const std::optional<Failure> failure = FindFailure(*job);
    if (stored.ok() && stored->has_value()) {
      counters_.Add(Counter::kHitsStore);
      answer = Ready(std::make_shared<const Artifact>(**std::move(stored)),
                     job->label, Origin::kStore);
    } else if (failure.has_value()) {
      counters_.Add(Counter::kFailuresRemembered);
      answer = Failed(failure->status, failure->diagnostics, job->label);
    } else if (pool_ == nullptr) {
      counters_.Add(Counter::kSealedMisses);
      answer = Failed(Sealed(), nullptr, job->label);
    } else if (!wanted) {
      answer = Rejected(Released());
    } else {
      flights_[key].job = job;
      Enter(key, std::move(request));
      return;
    }
  }
  asked_.Settle(key.first, key.second, answer.status);
  request.on_answer(answer);
}

void Scheduler::OnJobDone(std::shared_ptr<CompileJob> job, JobOutcome outcome) {
  // std::function wants a copyable handler: the outcome is shared.
  auto shared = std::make_shared<JobOutcome>(std::move(outcome));
  boost::asio::post(store_thread_, [this, job = std::move(job), shared] {
    Complete(*job, std::move(*shared));
  });
}

// Whatever came of it, what waited for it goes on: the pool knows why a front
// end failed, and runs one that was lost again. What is released meanwhile has
// no ticket any more.
void Scheduler::CompleteFrontEnd(const CompileJob& job,
                                 const JobOutcome& outcome) {
  const FlightKey key(job.target->id, job.program->id());
  std::vector<Waiter> waiters;
  {
    absl::MutexLock lock(&mutex_);
    waiters = EndFlight(key, /*keep_tickets=*/true);
  }
  if (!outcome.status.ok()) {
    spdlog::warn("front end failed label=\"{}\" target={} error=\"{}\"",
                 job.label, job.target->spec,
                 Shorten(outcome.status.ToString(), 600));
  }
  for (Waiter& waiter : waiters) {
    if (!waiter.job->front_end_only) {
      Proceed(std::move(waiter), &key);
      continue;
    }
    {
      absl::MutexLock lock(&mutex_);
      TakeTicket(waiter.asker, key);
    }
    const auto made = job.program->front_end(job.target->compiler);
    waiter.on_answer(
        made != nullptr
            ? OfFrontEnd(*waiter.job, made, Origin::kCompiled)
            : Failed(outcome.status, outcome.diagnostics, waiter.job->label));
  }
}

absl::Status Scheduler::StoreArtifact(
    const CompileJob& job, const Artifact& artifact,
    const std::vector<Module>& variant_modules) {
  // Known to the store already, unless one was lost: then it is put back.
  std::vector<storage::Module> modules;
  std::map<Stage, ByteView> interfaces;
  const auto front_end = job.program->front_end(job.target->compiler);
  if (front_end != nullptr) {
    for (const Module& module : front_end->modules) {
      modules.push_back({module.id.module, module.spirv});
      interfaces[module.id.stage] = module.interface;
    }
  }
  for (const Module& module : variant_modules) {
    modules.push_back({module.id.module, module.spirv});
  }
  KILN_RETURN_IF_ERROR(store_.PutArtifact(artifact, modules));
  for (const Module& module : variant_modules) {
    // What an engine binds is what the whole shader declares.
    const ByteView interface = interfaces[module.id.stage];
    if (!interface.empty() &&
        !store_.PutInterface(module.id.module, interface).ok()) {
      counters_.Add(Counter::kStoreErrors);
    }
  }
  return absl::OkStatus();
}

void Scheduler::Complete(const CompileJob& job, JobOutcome outcome) {
  if (!outcome.modules.empty()) {  // also of a job that failed afterwards
    if (!registry_
             .StoreFrontEnd(*job.program, job.target->compiler, outcome.modules,
                            outcome.unused_overrides)
             .ok()) {
      counters_.Add(Counter::kStoreErrors);
    }
  }
  if (job.front_end_only) {
    CompleteFrontEnd(job, outcome);
    return;
  }
  Answer answer;
  if (outcome.status.ok()) {
    auto artifact =
        std::make_shared<const Artifact>(*std::move(outcome.artifact));
    outcome.status = StoreArtifact(job, *artifact, outcome.variant_modules);
    if (outcome.status.ok()) {
      counters_.Add(Counter::kCompilesFinished);
      if (outcome.collapsed) {
        counters_.Add(Counter::kCollapsed);
      }
      counters_.Add(artifact->proof == Proof::kProven
                        ? Counter::kProofsProven
                        : Counter::kProofsNotProvable);
      spdlog::info(
          "compiled label=\"{}\" key={} target={} ms={:.1f} blob_bytes={} "
          "proof=\"{}\"",
          job.label, job.key_id.ShortHex(), job.target->spec,
          static_cast<double>(artifact->compile_us) / 1000,
          artifact->blob.size(), ProofText(artifact->proof));
      answer = Ready(std::move(artifact), job.label, Origin::kCompiled);
    } else {
      counters_.Add(Counter::kStoreErrors);
    }
  }
  if (!outcome.status.ok()) {
    counters_.Add(Counter::kCompilesFailed);
    answer = Failed(outcome.status, outcome.diagnostics, job.label);
    spdlog::warn("compile failed label=\"{}\" key={} target={} error=\"{}\"",
                 job.label, job.key_id.ShortHex(), job.target->spec,
                 Shorten(answer.status.ToString(), 600));
  }
  if (outcome.permanent) {
    StoreFailure(job, outcome);
  }
  asked_.Settle(job.target->id, job.key_id, answer.status);
  std::vector<Waiter> waiters;
  {
    absl::MutexLock lock(&mutex_);
    const FlightKey key(job.target->id, job.key_id);
    if (outcome.permanent) {
      Remember(key, {outcome.status, outcome.diagnostics});
    }
    waiters = EndFlight(key, /*keep_tickets=*/false);
  }
  for (const Waiter& waiter : waiters) {
    waiter.on_answer(answer);
  }
}

}  // namespace kiln::daemon
