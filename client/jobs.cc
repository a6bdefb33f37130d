// SPDX-License-Identifier: Apache-2.0
#include "client/jobs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/text.h"
#include "proto/wire.h"

namespace kiln::client {
namespace {

// Of the requests that may be unanswered, those that a warm-up does not take.
constexpr size_t kKeptForOnScreen = limits::kUnanswered / 4;

// The daemon's "not now": stopping, or its queue is full. Only a rejection of
// the request can mean that; a failed compile is final.
bool IsTemporary(const v1::Completion& completion) {
  const auto code = static_cast<absl::StatusCode>(completion.failure().code());
  return completion.state() == v1::STATE_REJECTED &&
         (code == absl::StatusCode::kUnavailable ||
          code == absl::StatusCode::kResourceExhausted);
}

// The key id that an answer to `asked`, whose id is `id`, is stored under: that
// of its own key, less some overrides, and of a living program under the
// snapshot that was compiled.
// Returns: nothing when the answer is for another key.
std::optional<Digest> StoredKey(const v1::Variant& answer, const Digest& id,
                                VariantKey asked, bool living) {
  if (answer.key_id() == id.raw()) {
    return id;
  }
  const absl::StatusOr<VariantKey> key = wire::KeyFromWire(answer);
  if (key.ok() && living) {
    asked.program = key->program;
  }
  if (!key.ok() || !Serves(*key, asked) ||
      KeyId(*key).raw() != answer.key_id()) {
    return std::nullopt;
  }
  return KeyId(*key);
}

}  // namespace

void Jobs::Enter(const Digest& id, Job job) {
  auto [found, is_new] = jobs_.try_emplace(id, std::move(job));
  if (is_new) {
    PutAmongWanted(id, found->second);
  }
}

void Jobs::PutAmongWanted(const Digest& id, Job& job) {
  job.queued = true;
  wanted_[IndexOf(job.urgency)].push_back(id);
}

void Jobs::Want(KeyRequest request) {
  if (auto found = jobs_.find(request.id); found != jobs_.end()) {
    Job& known = found->second;
    if (known.urgency != request.urgency) {
      known.urgency = request.urgency;
      // What is on its way, or there, needs no other turn.
      if (known.queued || (known.request_id != 0 && !known.settled &&
                           known.stored_as.is_none())) {
        PutAmongWanted(request.id, known);
      }
    }
    return;
  }
  Job job;
  job.key = std::move(request.key);
  job.label = std::move(request.label);
  job.living = request.living;
  job.urgency = request.urgency;
  Enter(request.id, std::move(job));
}

void Jobs::Want(ShaderRequest request) {
  Job job;
  job.key.program = request.program;
  job.label = std::move(request.name);
  job.living = request.living;
  job.is_shader = true;
  Enter(request.program, std::move(job));
}

void Jobs::Withdraw(const Digest& id) {
  auto found = jobs_.find(id);
  if (found == jobs_.end()) {
    return;
  }
  if (found->second.request_id != 0) {
    releases_.push_back(found->second.request_id);
  }
  jobs_.erase(found);
}

std::vector<uint64_t> Jobs::TakeReleases() {
  if (releases_.size() <= limits::kRequestsPerBatch) {
    return std::exchange(releases_, {});
  }
  const auto end =
      releases_.begin() + static_cast<ptrdiff_t>(limits::kRequestsPerBatch);
  std::vector<uint64_t> taken(releases_.begin(), end);
  releases_.erase(releases_.begin(), end);
  return taken;
}

void Jobs::Restart() {
  for (std::deque<Digest>& wanted : wanted_) {
    wanted.clear();
  }
  sent_.clear();
  unanswered_ = 0;
  releases_.clear();
  arriving_.clear();
  later_.clear();
  made_.clear();
  last_failure_ = {};
  for (auto& [id, job] : jobs_) {
    job.settled = false;
    job.request_id = 0;
    job.generation = 0;
    PutAmongWanted(id, job);
  }
}

void Jobs::Retry() {
  for (const Digest& id : std::exchange(later_, {})) {
    if (auto found = jobs_.find(id); found != jobs_.end()) {
      PutAmongWanted(id, found->second);
    }
  }
}

// Some of the room is kept for what is on screen.
bool Jobs::HasRoomFor(Urgency urgency) const {
  return unanswered_ + (IsBackground(urgency) ? kKeptForOnScreen : 0) <
         limits::kUnanswered;
}

void Jobs::Ask(const Digest& id, Job& job, v1::ClientMessage_Batch* batch,
               size_t* bytes) {
  const v1::Urgency urgency = wire::UrgencyToWire(job.urgency);
  if (job.is_shader) {
    v1::ShaderRequest* request = batch->add_shaders();
    request->set_request_id(next_request_id_);
    request->set_program_id(std::string(id.raw()));
    request->set_urgency(urgency);
    *bytes += request->ByteSizeLong();
  } else {
    v1::VariantRequest* request = batch->add_requests();
    request->set_request_id(next_request_id_);
    wire::KeyToWire(job.key, request);
    request->set_urgency(urgency);
    *bytes += request->ByteSizeLong();
  }
  job.queued = false;
  job.request_id = next_request_id_;
  job.generation = 0;
  sent_.emplace(next_request_id_, Sent{id, false});
  ++unanswered_;
  ++next_request_id_;
}

bool Jobs::FillBatch(v1::ClientMessage_Batch* batch) {
  size_t bytes = 0;
  auto size = [&] { return batch->requests_size() + batch->shaders_size(); };
  for (const Urgency urgency : kAllUrgencies) {
    std::deque<Digest>& wanted = wanted_[IndexOf(urgency)];
    while (!wanted.empty() && HasRoomFor(urgency) &&
           bytes < limits::kBatchBytes &&
           size() < static_cast<int>(limits::kRequestsPerBatch)) {
      const Digest id = wanted.front();
      wanted.pop_front();
      auto found = jobs_.find(id);
      if (found != jobs_.end() && found->second.queued &&
          found->second.urgency == urgency) {
        Ask(id, found->second, batch, &bytes);
      }  // else it was dropped, or moved
    }
  }
  return size() > 0;
}

Jobs::Failure Jobs::Fail(const Digest& id, std::string message,
                         std::string diagnostics) {
  Job& job = jobs_.at(id);
  Failure failure{id, job.label, std::move(message), std::move(diagnostics)};
  if (job.living) {
    job.stored_as = {};  // what is being fetched comes too late
    job.settled = true;
    job.failing = true;
    job.bad_deliveries = 0;
  } else {
    jobs_.erase(id);
  }
  return failure;
}

bool Jobs::Awaits(const Job& job) {
  return !job.living || (!job.stored_as.is_none() && job.stored_as != job.have);
}

void Jobs::Settle(const Digest& id, Job& job) {
  job.settled = true;
  job.bad_deliveries = 0;
  if (std::exchange(job.failing, false)) {
    recovered_.emplace_back(id, job.label);
  }
}

std::vector<std::pair<Digest, std::string>> Jobs::TakeRecovered() {
  return std::exchange(recovered_, {});
}

std::optional<Jobs::Failure> Jobs::VariantReady(
    const Digest& id, Job& job, const v1::Completion& completion) {
  const std::optional<Digest> stored =
      StoredKey(completion.variant(), id, job.key, job.living);
  if (!stored) {
    return Fail(
        id, fmt::format("{}: kilnd answered for another key", job.label), "");
  }
  job.stored_as = *stored;
  job.origin = completion.origin() == v1::ORIGIN_STORE ? Origin::kStore
                                                       : Origin::kCompiled;
  if (job.living && job.have == *stored) {
    Settle(id, job);
    return std::nullopt;
  }
  job.settled = false;
  if (std::ranges::find(arriving_, id) == arriving_.end()) {
    arriving_.push_back(id);
  }
  return std::nullopt;
}

std::optional<Jobs::Failure> Jobs::ShaderReady(const Digest& id, Job& job,
                                               const v1::FrontEnd& made) {
  const absl::StatusOr<Digest> module =
      made.modules_size() == 1 ? Digest::FromRaw(made.modules(0).digest())
                               : absl::DataLossError("");
  if (!module.ok()) {
    return Fail(
        id, fmt::format("{}: kilnd's answer holds no module", job.label), "");
  }
  job.stored_as = *module;
  if (job.living && job.have == *module) {
    Settle(id, job);
    return std::nullopt;
  }
  job.settled = false;
  made_.push_back({id, *module, ToBytes(AsBytes(made.modules(0).interface())),
                   CapDiagnostics(made.warnings())});
  return std::nullopt;
}

std::string Jobs::DiagnosticsOf(const v1::Failure& failure,
                                const Digest& program) {
  LastFailure now{program, failure.code(), failure.message(),
                  CapDiagnostics(failure.diagnostics())};
  if (now.diagnostics.empty() && now.program == last_failure_.program &&
      now.code == last_failure_.code && now.message == last_failure_.message) {
    return last_failure_.diagnostics;
  }
  last_failure_ = std::move(now);
  return last_failure_.diagnostics;
}

std::optional<Jobs::Failure> Jobs::Completed(const v1::Completion& completion) {
  auto sent = sent_.find(completion.request_id());
  if (sent == sent_.end()) {
    return std::nullopt;
  }
  const Digest id = sent->second.id;
  if (!std::exchange(sent->second.answered, true)) {
    --unanswered_;
  }
  auto found = jobs_.find(id);
  std::string diagnostics;
  if (completion.state() == v1::STATE_READY) {
    last_failure_ = {};
  } else if (completion.state() == v1::STATE_FAILED) {
    // Also of one that is ignored; a shader that was dropped is its program.
    diagnostics =
        DiagnosticsOf(completion.failure(),
                      found == jobs_.end() ? id : found->second.key.program);
  } else {
    diagnostics = CapDiagnostics(completion.failure().diagnostics());
  }
  // A living program's request goes on to be answered, wanted or not.
  if (found == jobs_.end() ||
      found->second.request_id != completion.request_id()) {
    if (found != jobs_.end() && !found->second.living) {
      sent_.erase(sent);  // asked again since, more urgently or less
    }
    return std::nullopt;
  }
  Job& job = found->second;
  if (!job.living || IsTemporary(completion)) {
    sent_.erase(sent);
  }
  // 0: it is about no snapshot, as when the daemon has no time now.
  if (completion.generation() != 0) {
    if (completion.generation() < job.generation) {
      return std::nullopt;
    }
    job.generation = completion.generation();
  }
  if (completion.state() == v1::STATE_READY) {
    return job.is_shader ? ShaderReady(id, job, completion.front_end())
                         : VariantReady(id, job, completion);
  }
  if (IsTemporary(completion)) {
    later_.push_back(id);
    return std::nullopt;
  }
  return Fail(id,
              fmt::format("{}: {}", job.label,
                          Shorten(completion.failure().message(),
                                  limits::kStatusTextBytes)),
              std::move(diagnostics));
}

std::optional<Digest> Jobs::NextArrival() {
  while (!arriving_.empty()) {
    const Digest id = arriving_.front();
    arriving_.pop_front();
    if (auto found = jobs_.find(id);
        found != jobs_.end() && Awaits(found->second)) {
      return id;
    }
  }
  return std::nullopt;
}

std::optional<Jobs::Made> Jobs::NextMade() {
  while (!made_.empty()) {
    Made made = std::move(made_.front());
    made_.pop_front();
    auto found = jobs_.find(made.program);
    if (found != jobs_.end() && Awaits(found->second) &&
        found->second.stored_as == made.module) {
      return made;
    }
  }
  return std::nullopt;
}

void Jobs::ShaderDelivered(const Made& made) {
  auto found = jobs_.find(made.program);
  if (found == jobs_.end()) {
    return;
  }
  Job& job = found->second;
  if (!job.living) {
    jobs_.erase(found);
    return;
  }
  job.have = made.module;
  job.settled = true;
  job.failing = false;
}

void Jobs::ShaderLost(const Digest& program) {
  later_.push_back(program);
}

size_t Jobs::unsettled() const {
  return static_cast<size_t>(std::ranges::count_if(
      jobs_, [](const auto& entry) { return !entry.second.settled; }));
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
  if (!Awaits(job)) {
    return {};  // overtaken by a failure, or by what is there already
  }
  absl::Status status = delivery.status();
  if (status.ok() && delivery->artifact.target != target) {
    status = absl::DataLossError(
        fmt::format("artifact {}: compiled for target {}", id.ShortHex(),
                    delivery->artifact.target.ShortHex()));
  }
  if (status.ok() && job.living &&
      KeyId(delivery->artifact.key) != job.stored_as) {
    return {};  // a later one is on its way
  }
  if (status.ok()) {
    auto variant = std::make_shared<ReadyVariant>();
    variant->label = job.label;
    variant->artifact = std::move(delivery->artifact);
    variant->modules = std::move(delivery->modules);
    variant->origin = job.origin;
    if (job.living) {
      job.have = job.stored_as;
      job.settled = true;
      job.failing = false;
      job.bad_deliveries = 0;
    } else {
      jobs_.erase(found);
    }
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
    PutAmongWanted(id, job);
  } else {
    arriving_.push_back(id);
  }
  return {};
}

void Jobs::Drop(const Digest& program) {
  auto found = jobs_.find(program);
  if (found == jobs_.end() || !found->second.is_shader) {
    return;
  }
  if (found->second.request_id != 0) {
    releases_.push_back(found->second.request_id);
  }
  jobs_.erase(found);
  // Else it would be asked for twice when it is wanted again.
  for (std::deque<Digest>& wanted : wanted_) {
    std::erase(wanted, program);
  }
  std::erase(later_, program);
  std::erase_if(made_,
                [&](const Made& made) { return made.program == program; });
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
    jobs_.erase(id);
  }
  return failures;
}

}  // namespace kiln::client
