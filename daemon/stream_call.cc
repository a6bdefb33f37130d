// SPDX-License-Identifier: Apache-2.0
#include "daemon/stream_call.h"

#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <grpcpp/server_context.h>
#include <spdlog/spdlog.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "proto/wire.h"
#include "shaders/sources/source_hash.h"

namespace kiln::daemon {
namespace {

// Bytes that may wait to be written. A client that neither reads nor ends (a
// debugger holds it) is cut off here instead of growing the daemon.
constexpr size_t kMaxOutboxBytes = 32u << 20;

void FillFailure(const Answer& answer, v1::Completion* completion) {
  completion->set_state(answer.rejected ? v1::STATE_REJECTED
                                        : v1::STATE_FAILED);
  const absl::string_view text = answer.status.message();
  v1::Failure* failure = completion->mutable_failure();
  failure->set_code(static_cast<uint32_t>(answer.status.code()));
  failure->set_message(
      Shorten({text.data(), text.size()}, limits::kStatusTextBytes));
  failure->set_label(ToValidUtf8(answer.label));
  if (answer.diagnostics != nullptr) {
    failure->set_diagnostics(CapDiagnostics(*answer.diagnostics));
  }
}

void FillFrontEnd(const Answer& answer, v1::FrontEnd* out) {
  out->set_program_id(std::string(answer.program.raw()));
  const Program& program = answer.compiled->program();
  const std::vector<Digest>& source_sets = answer.compiled->stage_hashes();
  std::string warnings;
  for (size_t i = 0; i < answer.front_end->modules.size(); ++i) {
    const Module& module = answer.front_end->modules[i];  // in order of stages
    const Digest name =
        sources::NameHash(program.stages[i].path, program.defines);
    v1::FrontEnd::Module* part = out->add_modules();
    part->set_stage(std::string(StageName(module.id.stage)));
    part->set_digest(std::string(module.id.module.raw()));
    part->set_bytes(module.spirv.size());
    part->set_interface(std::string(AsText(module.interface)));
    part->set_name_hash(std::string(name.raw()));
    part->set_source_set_hash(std::string(source_sets[i].raw()));
    warnings += module.warnings;
  }
  out->set_warnings(CapDiagnostics(warnings));
}

v1::ServerMessage ToMessage(uint64_t request_id, const Answer& answer) {
  v1::ServerMessage message;
  v1::Completion* completion = message.mutable_completion();
  completion->set_request_id(request_id);
  completion->set_generation(answer.generation);
  if (!answer.status.ok()) {
    FillFailure(answer, completion);
    return message;
  }
  completion->set_state(v1::STATE_READY);
  completion->set_origin(answer.origin == Origin::kCompiled
                             ? v1::ORIGIN_COMPILED
                             : v1::ORIGIN_STORE);
  if (answer.front_end != nullptr) {
    FillFrontEnd(answer, completion->mutable_front_end());
    return message;
  }
  wire::VariantToWire(*answer.artifact, answer.label,
                      answer.artifact->blob.size(),
                      completion->mutable_variant());
  return message;
}

}  // namespace

std::shared_ptr<StreamCall> StreamCall::Start(
    ServiceContext& context, grpc::CallbackServerContext* rpc) {
  std::shared_ptr<StreamCall> call(
      new StreamCall(context, rpc));  // private constructor
  call->self_ = call;
  call->StartRead(&call->incoming_);
  return call;
}

void StreamCall::OnReadDone(bool ok) {
  if (!ok) {  // the client has finished sending, or is gone
    End(absl::OkStatus());
    return;
  }
  if (absl::Status status = Handle(incoming_); !status.ok()) {
    End(status);
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    paused_ = !MayRead();
    if (paused_) {
      return;
    }
  }
  StartRead(&incoming_);
}

bool StreamCall::MayRead() {
  return unanswered_ < limits::kUnanswered;
}

absl::Status StreamCall::Handle(const v1::ClientMessage& message) {
  if (message.has_attach()) {
    return Attach(message.attach().session_id());
  }
  if (!session_) {
    return absl::FailedPreconditionError(
        "the first message of a stream must be `attach`");
  }
  if (message.has_batch()) {
    return HandleBatch(message.batch());
  }
  if (message.has_ping()) {
    v1::ServerMessage pong;
    pong.mutable_pong()->set_number(message.ping().number());
    Send(std::move(pong));
  } else if (message.has_feedback()) {
    HandleFeedback(message.feedback());
  } else if (message.has_release()) {
    return HandleRelease(message.release());
  } else if (message.has_set_activity()) {
    context_.sessions.SetActivity(
        session_id_, wire::ActivityFromWire(message.set_activity().activity()));
    TellActivity();
  }
  return absl::OkStatus();  // a message of a newer contract is ignored
}

absl::Status StreamCall::Attach(uint64_t session_id) {
  if (session_) {
    return absl::FailedPreconditionError("the stream has a session already");
  }
  session_ = context_.sessions.Attach(session_id);
  if (!session_) {
    return absl::FailedPreconditionError(
        fmt::format("session_id {:#x} is not an open session", session_id));
  }
  session_id_ = session_id;
  TellActivity();
  return absl::OkStatus();
}

absl::Status StreamCall::HandleBatch(const v1::ClientMessage::Batch& batch) {
  const size_t size = static_cast<size_t>(batch.requests_size()) +
                      static_cast<size_t>(batch.shaders_size());
  if (size > limits::kRequestsPerBatch) {
    return absl::InvalidArgumentError(
        fmt::format("batch.requests has {} entries, over the limit of {}", size,
                    limits::kRequestsPerBatch));
  }
  {
    absl::MutexLock lock(&mutex_);
    unanswered_ += size;
  }
  Reloader::Batch programs;
  for (const v1::ShaderRequest& request : batch.shaders()) {
    HandleShader(request, programs);
  }
  for (const v1::VariantRequest& request : batch.requests()) {
    HandleRequest(request, programs);
  }
  return absl::OkStatus();
}

void StreamCall::Reject(uint64_t request_id, const absl::Status& why) {
  Answer rejected;
  rejected.status = why;
  rejected.rejected = true;
  context_.counters.Add(Counter::kRequestsRejected);
  Deliver(request_id, rejected, /*first=*/true);
}

void StreamCall::HandleShader(const v1::ShaderRequest& request,
                              Reloader::Batch& batch) {
  const auto program = Digest::FromRaw(request.program_id());
  if (!program.ok()) {
    Reject(request.request_id(), program.status());
    return;
  }
  Wish wish{request.request_id(), session_->target, {}, true};
  wish.key.program = *program;
  wish.client = session_id_;
  wish.urgency = wire::UrgencyFromWire(request.urgency());
  context_.reloader.Request(shared_from_this(), std::move(wish), batch);
}

void StreamCall::HandleRequest(const v1::VariantRequest& request,
                               Reloader::Batch& batch) {
  absl::StatusOr<VariantKey> key = wire::KeyFromWire(request);
  if (!key.ok()) {
    Reject(request.request_id(), key.status());
    return;
  }
  Wish wish{request.request_id(), session_->target, *std::move(key)};
  wish.client = session_id_;
  wish.urgency = wire::UrgencyFromWire(request.urgency());
  wish.keep = request.keep();
  context_.reloader.Request(shared_from_this(), std::move(wish), batch);
}

absl::Status StreamCall::HandleRelease(
    const v1::ClientMessage::Release& release) {
  if (release.request_ids_size() >
      static_cast<int>(limits::kRequestsPerBatch)) {
    return absl::InvalidArgumentError(
        fmt::format("release.request_ids has {} entries, over the limit of {}",
                    release.request_ids_size(), limits::kRequestsPerBatch));
  }
  const std::vector<uint64_t> ids(release.request_ids().begin(),
                                  release.request_ids().end());
  // The answers first: they are those of subscriptions, too.
  context_.scheduler.Release(session_id_, ids, /*tell=*/true);
  context_.reloader.Forget(this, {ids.begin(), ids.end()});
  return absl::OkStatus();
}

// The pool lives on the io thread; what it is told is what holds then.
void StreamCall::TellActivity() {
  boost::asio::post(context_.io, [&context = context_] {
    context.pool.SetActivity(context.sessions.activities());
  });
}

void StreamCall::Deliver(uint64_t request_id, const Answer& answer,
                         bool first) {
  if (absl::IsAborted(answer.status)) {  // the session's target is no more
    End(absl::UnavailableError(answer.status.message()));
    return;
  }
  v1::ServerMessage message = ToMessage(request_id, answer);
  {
    absl::MutexLock lock(&mutex_);
    // A program that does not compile fails key after key for one reason.
    if (std::exchange(last_diagnostics_, answer.diagnostics) ==
            answer.diagnostics &&
        answer.diagnostics != nullptr) {
      message.mutable_completion()->mutable_failure()->clear_diagnostics();
    }
  }
  Send(std::move(message), first);
}

void StreamCall::HandleFeedback(const v1::ClientMessage::Feedback& feedback) {
  const bool hit = feedback.feedback() == v1::HIT_FEEDBACK_CACHE_HIT;
  context_.counters.Add(hit ? Counter::kFeedbackHits
                            : Counter::kFeedbackMisses);
  if (!hit) {
    const auto key = Digest::FromRaw(feedback.key_id());
    spdlog::warn(
        "client driver missed key={} client=\"{}\" target={} feedback={}",
        key.ok() ? key->ShortHex() : "malformed", session_->client_name,
        session_->target->spec, v1::HitFeedback_Name(feedback.feedback()));
  }
}

void StreamCall::Send(v1::ServerMessage message, bool answers) {
  absl::MutexLock lock(&mutex_);
  if (finished_ || ending_) {
    return;
  }
  outbox_bytes_ += message.ByteSizeLong();
  outbox_.push_back({std::move(message), answers});
  if (outbox_bytes_ > kMaxOutboxBytes) {
    // The message being written must stay; the call ends once it is through or
    // the client is gone.
    outbox_.erase(outbox_.begin() + (writing_ ? 1 : 0), outbox_.end());
    ending_ =
        absl::ResourceExhaustedError("the client does not read its stream");
    call_->TryCancel();
  }
  StartNext();
}

void StreamCall::End(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (!ending_) {
    ending_ = status;
    StartNext();
  }
}

void StreamCall::StartNext() {
  if (writing_ || finished_) {
    return;
  }
  if (!outbox_.empty()) {
    writing_ = true;
    StartWrite(&outbox_.front().message);
  } else if (ending_) {
    finished_ = true;
    Finish(wire::ToGrpc(*ending_));
  }
}

void StreamCall::OnWriteDone(bool ok) {
  bool read = false;
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    outbox_bytes_ -= outbox_.front().message.ByteSizeLong();
    unanswered_ -= outbox_.front().answers ? 1 : 0;
    outbox_.pop_front();
    if (!ok) {  // the client is gone
      outbox_.clear();
      ending_ = absl::CancelledError("the client is gone");
    }
    StartNext();
    read = paused_ && !ending_ && !finished_ && MayRead();
    paused_ = paused_ && !read;
  }
  if (read) {
    StartRead(&incoming_);
  }
}

void StreamCall::OnCancel() {
  End(absl::CancelledError("the client is gone"));
}

void StreamCall::Drain() {
  v1::ServerMessage notice;
  notice.mutable_draining();
  Send(std::move(notice));
  End(absl::UnavailableError("the daemon is stopping"));
}

void StreamCall::OnDone() {
  ServiceContext& context = context_;
  const uint64_t client = session_ ? session_id_ : 0;
  context.reloader.Forget(this);
  if (client != 0) {
    context.sessions.Close(client);
    TellActivity();
  }
  self_.reset();  // may delete this
  if (client != 0) {
    // After the last moment in which the reloader may ask for more.
    context.scheduler.Release(client);
  }
}

}  // namespace kiln::daemon
