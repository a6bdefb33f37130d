// SPDX-License-Identifier: Apache-2.0
#include "client/jobs.h"

#include <utility>

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/text.h"
#include "proto/wire.h"

namespace kiln::client {
namespace {

// Far below gRPC's 4 MiB: a key with 64 long override names has 17 KB.
constexpr size_t kBatchBytes = 1u << 20;

// The daemon's "not now": stopping, or its queue is full. Only a rejection of
// the request can mean that; a failed compile is final.
bool IsTemporary(const v1::Completion& completion) {
  const auto code = static_cast<absl::StatusCode>(completion.failure().code());
  return completion.state() == v1::STATE_REJECTED &&
         (code == absl::StatusCode::kUnavailable ||
          code == absl::StatusCode::kResourceExhausted);
}

// The key id that an answer to `asked`, whose id is `id`, is stored under.
// Returns: nothing when the answer is for another key.
std::optional<Digest> StoredKey(const v1::Variant& answer, const Digest& id,
                                const VariantKey& asked) {
  if (answer.key_id() == id.raw()) {
    return id;
  }
  const absl::StatusOr<VariantKey> key = wire::KeyFromWire(answer);
  if (!key.ok() || !Serves(*key, asked) ||
      KeyId(*key).raw() != answer.key_id()) {
    return std::nullopt;
  }
  return KeyId(*key);
}

}  // namespace

void Jobs::Want(KeyRequest request) {
  Job job;
  job.key = std::move(request.key);
  job.label = std::move(request.label);
  if (jobs_.try_emplace(request.id, std::move(job)).second) {
    wanted_.push_back(request.id);
  }
}

void Jobs::Restart() {
  wanted_.clear();
  sent_.clear();
  arriving_.clear();
  later_.clear();
  for (const auto& [id, job] : jobs_) {
    wanted_.push_back(id);
  }
}

void Jobs::Retry() {
  wanted_.insert(wanted_.end(), later_.begin(), later_.end());
  later_.clear();
}

bool Jobs::FillBatch(v1::ClientMessage_Batch* batch) {
  size_t bytes = 0;
  while (!wanted_.empty() && bytes < kBatchBytes &&
         batch->requests_size() < static_cast<int>(limits::kRequestsPerBatch)) {
    const Digest id = wanted_.front();
    wanted_.pop_front();
    auto found = jobs_.find(id);
    if (found == jobs_.end()) {
      continue;  // dropped with its program
    }
    v1::VariantRequest* request = batch->add_requests();
    request->set_request_id(next_request_id_);
    wire::KeyToWire(found->second.key, request);
    bytes += request->ByteSizeLong();
    sent_.emplace(next_request_id_, id);
    ++next_request_id_;
  }
  return batch->requests_size() > 0;
}

Jobs::Failure Jobs::Fail(const Digest& id, std::string message,
                         std::string diagnostics) {
  auto node = jobs_.extract(id);
  return {id, std::move(node.mapped().label), std::move(message),
          std::move(diagnostics)};
}

std::optional<Jobs::Failure> Jobs::Completed(const v1::Completion& completion) {
  auto sent = sent_.extract(completion.request_id());
  if (sent.empty()) {
    return std::nullopt;
  }
  const Digest id = sent.mapped();
  auto found = jobs_.find(id);
  if (found == jobs_.end()) {
    return std::nullopt;
  }
  if (completion.state() == v1::STATE_READY) {
    const std::optional<Digest> stored =
        StoredKey(completion.variant(), id, found->second.key);
    if (!stored) {
      return Fail(id,
                  fmt::format("{}: kilnd answered for another key",
                              found->second.label),
                  "");
    }
    found->second.stored_as = *stored;
    found->second.origin = completion.origin() == v1::ORIGIN_STORE
                               ? Origin::kStore
                               : Origin::kCompiled;
    arriving_.push_back(id);
    return std::nullopt;
  }
  if (IsTemporary(completion)) {
    later_.push_back(id);
    return std::nullopt;
  }
  return Fail(id,
              fmt::format("{}: {}", found->second.label,
                          Shorten(completion.failure().message(),
                                  limits::kStatusTextBytes)),
              CapDiagnostics(completion.failure().diagnostics()));
}

std::optional<Digest> Jobs::NextArrival() {
  while (!arriving_.empty()) {
    const Digest id = arriving_.front();
    arriving_.pop_front();
    if (jobs_.contains(id)) {
      return id;
    }
  }
  return std::nullopt;
}

Digest Jobs::StoredAs(const Digest& id) const {
  const Digest& stored = jobs_.at(id).stored_as;
  return stored.is_none() ? id : stored;
}

Jobs::Settled Jobs::Delivered(const Digest& id,
                              absl::StatusOr<Delivery> delivery,
                              const Digest& target) {
  auto found = jobs_.find(id);
  if (found == jobs_.end()) {
    return {};
  }
  Job& job = found->second;
  absl::Status status = delivery.status();
  if (status.ok() && delivery->artifact.target != target) {
    status = absl::DataLossError(
        fmt::format("artifact {}: compiled for target {}", id.ShortHex(),
                    delivery->artifact.target.ShortHex()));
  }
  if (status.ok()) {
    auto variant = std::make_shared<ReadyVariant>();
    variant->label = std::move(job.label);
    variant->artifact = std::move(delivery->artifact);
    variant->modules = std::move(delivery->modules);
    variant->origin = job.origin;
    jobs_.erase(found);
    return {std::nullopt, std::move(variant)};
  }
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
      later_.push_back(id);  // not its fault
      return {};
    default:
      break;
  }
  if (++job.bad_deliveries >= kDeliveries) {
    return {Fail(id,
                 fmt::format(
                     "{}: {}", job.label,
                     Shorten({status.message().data(), status.message().size()},
                             limits::kStatusTextBytes)),
                 ""),
            nullptr};
  }
  // An evicted artifact has to be compiled again, a damaged one read again.
  if (status.code() == absl::StatusCode::kNotFound) {
    wanted_.push_back(id);
  } else {
    arriving_.push_back(id);
  }
  return {};
}

std::vector<Jobs::Failure> Jobs::DropProgram(const Digest& program,
                                             const std::string& message) {
  std::vector<Digest> ids;
  for (const auto& [id, job] : jobs_) {
    if (job.key.program == program) {
      ids.push_back(id);
    }
  }
  std::vector<Failure> failures;
  for (const Digest& id : ids) {
    failures.push_back(Fail(id, message, ""));
  }
  return failures;
}

}  // namespace kiln::client
