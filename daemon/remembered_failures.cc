// SPDX-License-Identifier: Apache-2.0

// What is not compiled again: the part of the scheduler that remembers
// failures, in the store and, of late ones, in memory.

#include <chrono>
#include <utility>

#include "daemon/scheduler.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "storage/variant_store.h"

namespace kiln::daemon {
namespace {

// In memory; the store has them all, unless its disk is full.
constexpr size_t kMaxFailures = 10000;

}  // namespace

std::optional<Scheduler::Failure> Scheduler::FindFailure(
    const CompileJob& job) {
  const FlightKey key(job.target->id, job.key_id);
  if (auto found = failures_.find(key); found != failures_.end()) {
    return found->second;
  }
  const auto stored = store_.GetFailure(job.target->id, job.key);
  if (!stored.ok() || !stored->has_value() ||
      (*stored)->compiler != job.target->compiler) {
    return std::nullopt;
  }
  Failure failure{absl::Status((*stored)->code, (*stored)->message),
                  std::make_shared<const std::string>((*stored)->diagnostics)};
  Remember(key, failure);
  return failure;
}

void Scheduler::Remember(const FlightKey& key, Failure failure) {
  if (failures_.size() >= kMaxFailures) {
    failures_.clear();
  }
  failures_.insert_or_assign(key, std::move(failure));
}

void Scheduler::StoreFailure(const CompileJob& job, const JobOutcome& outcome) {
  const absl::string_view text = outcome.status.message();
  storage::FailureRecord record;
  record.target = job.target->id;
  record.key = job.key;
  record.cause = absl::IsInvalidArgument(outcome.status)
                     ? storage::FailureCause::kRefused
                     : storage::FailureCause::kCrashed;
  record.compiler = job.target->compiler;
  record.code = outcome.status.code();
  record.message =
      Shorten({text.data(), text.size()}, limits::kStatusTextBytes);
  if (outcome.diagnostics != nullptr) {
    record.diagnostics = CapDiagnostics(*outcome.diagnostics);
  }
  record.unix_ms = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
  if (!store_.PutFailure(record).ok()) {
    counters_.Add(Counter::kStoreErrors);
  }
}

absl::Status Scheduler::LiftFailure(const Digest& target,
                                    const VariantKey& key) {
  const Digest key_id = KeyId(key);
  KILN_RETURN_IF_ERROR(store_.RemoveFailure(target, key_id).status());
  if (const auto program = registry_.Find(key.program); program.ok()) {
    (*program)->ForgetFailures();
  }
  absl::MutexLock lock(&mutex_);
  failures_.erase({target, key_id});
  return absl::OkStatus();
}

}  // namespace kiln::daemon
