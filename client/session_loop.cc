// SPDX-License-Identifier: Apache-2.0
#include "client/session_loop.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "client/fetcher.h"
#include "client/stream.h"
#include "proto/module_interface.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "proto/wire.h"

namespace kiln::client {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{50};
// After the daemon said "not now" about a request.
constexpr milliseconds kRetryPause{1000};
constexpr milliseconds kShortestTimeout{1000};

SteadyTime Now() {
  return std::chrono::steady_clock::now();
}

std::string MessageOf(const absl::Status& status) {
  return ToValidUtf8({status.message().data(), status.message().size()});
}

// What an ended connection or a failed attempt says about the daemon.
ConnectionState StateAfter(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kDataLoss:
      return ConnectionState::kRefused;
    case absl::StatusCode::kDeadlineExceeded:
      return ConnectionState::kStalled;
    default:
      return ConnectionState::kConnecting;
  }
}

}  // namespace

struct SessionLoop::Link {
  Link(RpcClient& client, const Session& opened, Wakeup* wakeup)
      : rpc(client),
        target(opened.target),
        identity(std::make_shared<const TargetIdentity>(opened.identity)),
        stream(client.channel(), opened.id, wakeup),
        fetcher(client.channel(), opened.target, client.options().slow_timeout,
                wakeup),
        surfaces(client.channel(), opened.target_spec,
                 client.options().compile_timeout, wakeup) {}

  RpcClient& rpc;
  const Digest target;
  const std::shared_ptr<const TargetIdentity> identity;
  Stream stream;
  Fetcher fetcher;
  SurfaceCaller surfaces;

  bool ready = false;
  bool stalled = false;
  bool draining = false;
  uint64_t ping = 0;  // the number of the last one
  bool ping_unanswered = false;
  SteadyTime next_ping = Now();
  // Since when the daemon owes us a sign of life; none: it does not.
  std::optional<SteadyTime> asked_at;
  std::optional<SteadyTime> retry_at;
  Activity told = Activity::kPlaying;  // what the daemon takes it for
};

SessionLoop::SessionLoop(ClientOptions options, Exchange& exchange)
    : options_(std::move(options)), exchange_(exchange), pause_(kFirstPause) {}

SessionLoop::~SessionLoop() = default;

void SessionLoop::Run() {
  try {
    Loop();
  } catch (const std::exception& error) {
    exchange_.SetConnection(
        ConnectionState::kRefused,
        fmt::format("client stopped: {}", ToValidUtf8(error.what())));
  } catch (...) {
    exchange_.SetConnection(ConnectionState::kRefused,
                            "client stopped: unknown exception");
  }
}

void SessionLoop::Stop() {
  stopping_.store(true);
  {
    absl::MutexLock lock(&rpc_mutex_);
    if (rpc_ != nullptr) {
      rpc_->CancelAll();
    }
  }
  exchange_.wakeup().Notify();
}

void SessionLoop::Loop() {
  while (!stopping()) {
    const absl::Status status = ServeConnection();
    Disconnect();
    if (!stopping()) {
      Report(status);
      Pause(status);
    }
  }
}

void SessionLoop::Report(const absl::Status& status) {
  exchange_.SetConnection(StateAfter(status), MessageOf(status));
}

void SessionLoop::Pause(const absl::Status& status) {
  const bool refused = StateAfter(status) == ConnectionState::kRefused;
  const SteadyTime until = Now() + (refused ? options_.refused_retry : pause_);
  pause_ = std::min(pause_ * 2, options_.reconnect_max);
  while (!stopping() && Now() < until) {
    exchange_.wakeup().WaitUntil(until);
  }
}

RpcClient* SessionLoop::Connect(absl::Status& status) {
  RpcOptions options;
  options.socket = options_.socket;
  options.client_name = options_.client_name;
  options.timeout = std::max(options_.heartbeat, kShortestTimeout);
  absl::StatusOr<std::unique_ptr<RpcClient>> rpc =
      RpcClient::Create(std::move(options));
  status = rpc.status();
  absl::MutexLock lock(&rpc_mutex_);
  if (status.ok() && stopping()) {  // Stop() has not seen this client
    status = absl::CancelledError("client is stopping");
  }
  if (status.ok()) {
    rpc_ = *std::move(rpc);
  }
  return rpc_.get();
}

void SessionLoop::Disconnect() {
  absl::MutexLock lock(&rpc_mutex_);
  rpc_.reset();
}

absl::Status SessionLoop::ServeConnection() {
  absl::Status status;
  RpcClient* const rpc = Connect(status);
  KILN_RETURN_IF_ERROR(status);
  KILN_ASSIGN_OR_RETURN(DaemonInfo daemon, rpc->Handshake());
  exchange_.SetDaemon(daemon.pid, daemon.daemon_version);
  KILN_ASSIGN_OR_RETURN(Session session, rpc->OpenSession(options_.target));
  exchange_.SetTarget(session.target, session.identity.device_name);
  jobs_.Restart();
  uploaded_ = 0;
  Link link(*rpc, session, &exchange_.wakeup());
  return Converse(link);
}

absl::Status SessionLoop::Converse(Link& link) {
  while (!stopping()) {
    TakeRequests();
    if (!link.draining) {
      KILN_RETURN_IF_ERROR(UploadPrograms(link.rpc));
      TellSurfaces(link);
    }
    Receive(link);
    Fetch(link);
    KILN_RETURN_IF_ERROR(FetchShaders(link.rpc));
    if (link.stream.ended()) {
      // Whatever a stream says, asking again is right: a new session, at once.
      const absl::Status status = link.stream.Close();
      return absl::UnavailableError(MessageOf(ExplainTransport(
          absl::UnavailableError(status.ok() ? "stream ended"
                                             : MessageOf(status)),
          options_.socket)));
    }
    Write(link);
    CheckHeartbeat(link);
    exchange_.wakeup().WaitUntil(NextDeadline(link));
  }
  return absl::CancelledError("client is stopping");
}

void SessionLoop::TakeRequests() {
  Exchange::Outbox outbox = exchange_.TakeOutbox();
  for (auto& program : outbox.programs) {
    programs_.push_back(std::move(program));
  }
  activity_ = outbox.activity.value_or(activity_);
  for (const Digest& key : outbox.withdrawn) {
    jobs_.Withdraw(key);
  }
  for (KeyRequest& request : outbox.keys) {
    if (auto refused = refused_programs_.find(request.key.program);
        refused != refused_programs_.end()) {
      exchange_.Failed(request.id, request.label, refused->second, "");
    } else {
      jobs_.Want(std::move(request));
    }
  }
  for (const Digest& program : outbox.releases) {
    jobs_.Drop(program);
  }
  for (ShaderRequest& request : outbox.shaders) {
    jobs_.Want(std::move(request));
  }
  for (SurfaceRequest& request : outbox.surfaces) {
    Remember(std::move(request), surfaces_);
  }
  for (const FeedbackReport& report : outbox.feedback) {
    if (feedback_.size() < kFeedbackReports) {
      feedback_.push_back(report);
    }
  }
}

absl::Status SessionLoop::UploadPrograms(RpcClient& rpc) {
  for (; uploaded_ < programs_.size(); ++uploaded_) {
    const KnownProgram& program = *programs_[uploaded_];
    if (refused_programs_.contains(program.id)) {
      continue;
    }
    const absl::Status status = rpc.RegisterProgram(program.program).status();
    if (status.code() == absl::StatusCode::kInvalidArgument) {
      const std::string message = fmt::format(
          "program {} refused: {}", program.program.name, MessageOf(status));
      refused_programs_.emplace(program.id, message);
      exchange_.ProgramRefused(program, message);
      for (const auto& failure : jobs_.DropProgram(program.id, message)) {
        Fail(failure);
      }
    } else if (!status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

void SessionLoop::Fail(const Jobs::Failure& failure) {
  exchange_.Failed(failure.id, failure.label, failure.message,
                   failure.diagnostics);
}

void SessionLoop::Receive(Link& link) {
  for (const v1::ServerMessage& message : link.stream.Take()) {
    if (message.has_pong() && message.pong().number() == link.ping) {
      link.ping_unanswered = false;
    }
    Heard(link);
    if (message.has_completion()) {
      if (auto failure = jobs_.Completed(message.completion())) {
        Fail(*failure);
      }
      for (auto& [id, label] : jobs_.TakeRecovered()) {
        exchange_.Recovered(id, std::move(label));
      }
    } else if (message.has_draining()) {
      link.draining = true;
      exchange_.SetConnection(
          ConnectionState::kConnecting,
          fmt::format("kilnd at '{}' is stopping", options_.socket));
    }
  }
}

void SessionLoop::Heard(Link& link) {
  link.asked_at.reset();
  if (link.ping_unanswered) {
    link.asked_at = Now();
  }
  if ((!link.ready || link.stalled) && !link.draining) {
    link.ready = true;
    link.stalled = false;
    pause_ = kFirstPause;
    exchange_.SetConnection(ConnectionState::kReady, "");
  }
}

void SessionLoop::Fetch(Link& link) {
  for (Fetcher::Result& result : link.fetcher.Take()) {
    Jobs::Settled settled =
        jobs_.Delivered(result.key_id, std::move(result.delivery), link.target);
    if (settled.failure) {
      Fail(*settled.failure);
    }
    if (settled.variant != nullptr) {
      settled.variant->target = link.identity;
      for (ModuleCode& module : settled.variant->modules) {
        modules_.Share(module);
      }
      exchange_.Ready(result.key_id, std::move(settled.variant));
    }
  }
  while (!link.fetcher.full() && !link.stalled) {
    const std::optional<Digest> next = jobs_.NextArrival();
    if (!next) {
      break;
    }
    link.fetcher.Start(*next, jobs_.StoredAs(*next));
  }
  if (link.retry_at && Now() >= *link.retry_at) {
    link.retry_at.reset();
    jobs_.Retry();
  } else if (!link.retry_at && jobs_.has_retries()) {
    link.retry_at = Now() + kRetryPause;
  }
}

// The engine hears of an answer that differs from the last daemon's.
void SessionLoop::TellSurfaces(Link& link) {
  auto answered = link.surfaces.Step(surfaces_);
  if (!answered) {
    return;
  }
  auto& [index, answer] = *answered;
  KnownSurface& surface = surfaces_[index];
  if (!surface.answer || surface.answer->accepted != answer.accepted ||
      surface.answer->index != answer.index) {
    exchange_.SurfaceAnswered(surface.request, answer,
                              std::exchange(surface.waiting, 0));
  }
  surface.answer = std::move(answer);
}

// A module is a local read of some milliseconds: worth no thread of its own.
absl::Status SessionLoop::FetchShaders(RpcClient& rpc) {
  while (std::optional<Jobs::Made> made = jobs_.NextMade()) {
    absl::StatusOr<std::vector<uint32_t>> words = rpc.GetModule(made->module);
    if (!words.ok()) {
      // Damaged, or evicted: asked for again, it is compiled again.
      jobs_.ShaderLost(made->program);
      if (words.status().code() == absl::StatusCode::kUnavailable) {
        return words.status();
      }
      continue;
    }
    ShaderCode code;
    code.digest = made->module;
    code.spirv =
        std::make_shared<const std::vector<uint32_t>>(*std::move(words));
    if (auto interface = DecodeInterface(made->interface); interface.ok()) {
      code.interface =
          std::make_shared<const ModuleInterface>(*std::move(interface));
    }
    jobs_.ShaderDelivered(*made);
    exchange_.ShaderReady(made->program, std::move(code),
                          std::move(made->warnings));
  }
  return absl::OkStatus();
}

std::optional<v1::ClientMessage> SessionLoop::NextMessage(Link& link) {
  v1::ClientMessage message;
  if (!link.ping_unanswered && Now() >= link.next_ping) {
    message.mutable_ping()->set_number(++link.ping);
    link.ping_unanswered = true;
    link.next_ping = Now() + options_.heartbeat;
    link.asked_at = Now();
    return message;
  }
  if (link.told != activity_) {
    link.told = activity_;
    message.mutable_set_activity()->set_activity(
        wire::ActivityToWire(activity_));
    return message;
  }
  if (const std::vector<uint64_t> released = jobs_.TakeReleases();
      !released.empty()) {
    message.mutable_release()->mutable_request_ids()->Add(released.begin(),
                                                          released.end());
    return message;
  }
  if (jobs_.FillBatch(message.mutable_batch())) {
    return message;
  }
  if (!feedback_.empty()) {
    const FeedbackReport report = feedback_.front();
    feedback_.pop_front();
    v1::ClientMessage::Feedback* out = message.mutable_feedback();
    out->set_key_id(std::string(report.key_id.raw()));
    out->set_feedback(static_cast<v1::HitFeedback>(report.feedback));
    out->set_create_us(static_cast<uint64_t>(
        std::max<int64_t>(report.create_time.count(), 0)));
    return message;
  }
  return std::nullopt;
}

void SessionLoop::Write(Link& link) {
  if (!link.stream.idle() || link.draining) {
    return;
  }
  if (std::optional<v1::ClientMessage> message = NextMessage(link)) {
    link.stream.Send(*std::move(message));
  }
}

void SessionLoop::CheckHeartbeat(Link& link) {
  const bool writing = !link.stream.idle();
  if (writing && !link.asked_at) {
    link.asked_at = Now();
  } else if (!writing && !link.ping_unanswered) {
    link.asked_at.reset();
  }
  if (!link.stalled && link.asked_at &&
      Now() >= *link.asked_at + options_.heartbeat) {
    link.stalled = true;
    exchange_.SetConnection(
        ConnectionState::kStalled,
        fmt::format("kilnd at '{}' has not answered for {} ms", options_.socket,
                    options_.heartbeat.count()));
  }
}

SteadyTime SessionLoop::NextDeadline(const Link& link) const {
  SteadyTime next = Now() + options_.heartbeat;
  if (!link.ping_unanswered && link.stream.idle()) {
    next = std::min(next, link.next_ping);
  }
  if (link.asked_at && !link.stalled) {
    next = std::min(next, *link.asked_at + options_.heartbeat);
  }
  if (link.retry_at) {
    next = std::min(next, *link.retry_at);
  }
  if (const auto retry = link.surfaces.retry_at(); retry && !link.draining) {
    next = std::min(next, *retry);
  }
  return next;
}

}  // namespace kiln::client
