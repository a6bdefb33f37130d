// SPDX-License-Identifier: Apache-2.0
#include "daemon/scheduler.h"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "storage/variant_store.h"

namespace kiln::daemon {
namespace {

// Failures kept in memory; past this many all are forgotten, which costs
// compiles that fail again, no more.
constexpr size_t kMaxFailures = 10000;

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
                        OnAnswer on_answer) {
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
  if (!job->key.overrides.empty()) {
    registry_.LoadFrontEnd(*job->program, target->compiler);
    if (job->program->front_end(target->compiler) == nullptr &&
        pool_ != nullptr) {
      Park({std::move(job), std::move(on_answer)});
      return;
    }
  }
  Proceed({std::move(job), std::move(on_answer)});
}

void Scheduler::RequestFrontEnd(const OpenTargetPtr& target,
                                std::shared_ptr<RegisteredProgram> program,
                                bool background, OnAnswer on_answer) {
  counters_.Add(Counter::kRequests);
  auto job = std::make_shared<CompileJob>();
  job->target = target;
  job->program = std::move(program);
  job->key.program = job->program->id();
  job->label = FrontEndLabel(*job->program);
  job->front_end_only = true;
  job->background = background;
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
  Park({std::move(job), std::move(on_answer)});
}

void Scheduler::Park(Parked request) {
  const CompileJob& first = *request.job;
  auto front_end = std::make_shared<CompileJob>();
  front_end->target = first.target;
  front_end->program = first.program;
  front_end->key = first.key;
  front_end->label = FrontEndLabel(*first.program);
  front_end->front_end_only = true;
  front_end->background = first.background;
  bool promote = false;
  {
    absl::MutexLock lock(&mutex_);
    std::vector<Parked>& parked =
        parked_[{first.target->id, first.program->id()}];
    const bool is_first = parked.empty();
    // A client waits for what was background work until now.
    promote = !is_first && !first.background;
    parked.push_back(std::move(request));
    if (!is_first && !promote) {
      return;
    }
  }
  boost::asio::post(io_, [this, promote, job = std::move(front_end)] {
    if (promote) {
      pool_->Promote(*job);
    } else {
      pool_->Submit(job);
    }
  });
}

void Scheduler::Proceed(Parked request) {
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
    request.on_answer(
        Ready(std::make_shared<const Artifact>(**std::move(stored)), job.label,
              Origin::kStore));
    return;
  }
  registry_.LoadFrontEnd(*job.program, job.target->compiler);
  RequestMissing(std::move(request.job), std::move(request.on_answer));
}

void Scheduler::RequestMissing(std::shared_ptr<CompileJob> job,
                               OnAnswer on_answer) {
  // A key's digest says nothing of it: `kiln why` knows it by what is noted.
  asked_.Ask(job->target->id, job->key_id, job->key, job->label);
  const FlightKey flight_key(job->target->id, job->key_id);
  Answer answer;
  {
    absl::MutexLock lock(&mutex_);
    if (auto flight = flights_.find(flight_key); flight != flights_.end()) {
      counters_.Add(Counter::kJoined);
      flight->second.push_back(std::move(on_answer));
      return;
    }
    // A compile may have ended since the caller looked.
    auto stored = store_.GetArtifact(job->target->id, job->key);
    auto failure = failures_.find(flight_key);
    if (stored.ok() && stored->has_value()) {
      counters_.Add(Counter::kHitsStore);
      answer = Ready(std::make_shared<const Artifact>(**std::move(stored)),
                     job->label, Origin::kStore);
    } else if (failure != failures_.end()) {
      counters_.Add(Counter::kFailuresRemembered);
      answer = Failed(failure->second.status, failure->second.diagnostics,
                      job->label);
    } else if (pool_ == nullptr) {
      counters_.Add(Counter::kSealedMisses);
      answer = Failed(Sealed(), nullptr, job->label);
    } else if (flights_.size() >= limits::kQueuedJobs) {
      // Not a fault of the key: clients ask again a little later.
      answer = Rejected(absl::ResourceExhaustedError(
          fmt::format("{} compiles are waiting already", flights_.size())));
    } else {
      flights_[flight_key].push_back(std::move(on_answer));
      boost::asio::post(io_,
                        [this, job = std::move(job)] { pool_->Submit(job); });
      return;
    }
  }
  asked_.Settle(flight_key.first, flight_key.second, answer.status);
  on_answer(answer);
}

void Scheduler::OnJobDone(std::shared_ptr<CompileJob> job, JobOutcome outcome) {
  // std::function wants a copyable handler: the outcome is shared.
  auto shared = std::make_shared<JobOutcome>(std::move(outcome));
  boost::asio::post(store_thread_, [this, job = std::move(job), shared] {
    Complete(*job, std::move(*shared));
  });
}

// Whatever came of it, the parked requests go on: the pool knows why a front
// end failed, and runs one that was lost again.
void Scheduler::CompleteFrontEnd(const CompileJob& job,
                                 const JobOutcome& outcome) {
  std::vector<Parked> parked;
  {
    absl::MutexLock lock(&mutex_);
    auto found = parked_.find({job.target->id, job.program->id()});
    if (found != parked_.end()) {
      parked = std::move(found->second);
      parked_.erase(found);
    }
  }
  if (!outcome.status.ok()) {
    spdlog::warn("front end failed label=\"{}\" target={} error=\"{}\"",
                 job.label, job.target->spec,
                 Shorten(outcome.status.ToString(), 600));
  }
  for (Parked& request : parked) {
    if (!request.job->front_end_only) {
      Proceed(std::move(request));
      continue;
    }
    const auto made = job.program->front_end(job.target->compiler);
    request.on_answer(
        made != nullptr
            ? OfFrontEnd(*request.job, made, Origin::kCompiled)
            : Failed(outcome.status, outcome.diagnostics, request.job->label));
  }
}

absl::Status Scheduler::StoreArtifact(const CompileJob& job,
                                      const Artifact& artifact) {
  // Known to the store already, unless one was lost: then it is put back.
  std::vector<storage::Module> modules;
  if (const auto front_end = job.program->front_end(job.target->compiler)) {
    for (const Module& module : front_end->modules) {
      modules.push_back({module.id.module, module.spirv});
    }
  }
  return store_.PutArtifact(artifact, modules);
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
    outcome.status = StoreArtifact(job, *artifact);
    if (outcome.status.ok()) {
      counters_.Add(Counter::kCompilesFinished);
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
  asked_.Settle(job.target->id, job.key_id, answer.status);
  std::vector<OnAnswer> waiters;
  {
    absl::MutexLock lock(&mutex_);
    const FlightKey flight_key(job.target->id, job.key_id);
    if (outcome.permanent) {
      if (failures_.size() >= kMaxFailures) {
        failures_.clear();
      }
      failures_.insert_or_assign(flight_key,
                                 Failure{outcome.status, outcome.diagnostics});
    }
    if (auto flight = flights_.find(flight_key); flight != flights_.end()) {
      waiters = std::move(flight->second);
      flights_.erase(flight);
    }
  }
  for (const OnAnswer& on_answer : waiters) {
    on_answer(answer);
  }
}

}  // namespace kiln::daemon
