// SPDX-License-Identifier: Apache-2.0
#include "client/blocking.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/wire.h"

namespace kiln::client {
BlockingSession::BlockingSession(RpcClient& rpc, Session session)
    : rpc_(rpc),
      session_(std::move(session)),
      stream_(rpc.channel(), session_.id, &wakeup_) {}

absl::StatusOr<std::unique_ptr<BlockingSession>> BlockingSession::Open(
    RpcClient& rpc, std::string_view target) {
  KILN_ASSIGN_OR_RETURN(Session session, rpc.OpenSession(target));
  std::unique_ptr<BlockingSession> opened(
      new BlockingSession(rpc, std::move(session)));
  v1::ClientMessage message;
  message.mutable_set_activity()->set_activity(v1::ACTIVITY_LOADING);
  KILN_RETURN_IF_ERROR(opened->SendMessage(std::move(message)));
  return opened;
}

void BlockingSession::Receive() {
  for (v1::ServerMessage& message : stream_.Take()) {
    if (message.has_completion()) {
      const uint64_t id = message.completion().request_id();
      if (id < answered_.size() && !answered_[id]) {
        answered_[id] = true;
        --unanswered_;
      }
      completions_.push_back(std::move(*message.mutable_completion()));
    } else if (message.has_pong()) {
      pong_ = message.pong().number();
    }
  }
}

absl::Status BlockingSession::WhyEnded() {
  const absl::Status status = stream_.Close();
  return ExplainTransport(
      status.ok() ? absl::UnavailableError("stream ended") : status,
      rpc_.options().socket);
}

absl::Status BlockingSession::SendMessage(v1::ClientMessage message) {
  const SteadyTime deadline =
      std::chrono::steady_clock::now() + rpc_.options().timeout;
  while (!stream_.idle()) {
    Receive();  // a daemon that waits for us to read does not read either
    KILN_RETURN_IF_ERROR(WaitForNews(deadline));
  }
  stream_.Send(std::move(message));
  return absl::OkStatus();
}

absl::Status BlockingSession::WaitForRoom(size_t count) {
  while (room() < count) {
    Receive();
    if (room() < count) {
      KILN_RETURN_IF_ERROR(WaitForNews(SteadyTime::max()));
    }
  }
  return absl::OkStatus();
}

absl::Status BlockingSession::Send(std::span<const VariantKey> keys,
                                   const SendOptions& options) {
  while (!keys.empty()) {
    KILN_RETURN_IF_ERROR(
        WaitForRoom(std::min<size_t>(keys.size(), limits::kRequestsPerBatch)));
    v1::ClientMessage message;
    v1::ClientMessage::Batch* batch = message.mutable_batch();
    size_t bytes = 0;
    while (!keys.empty() && bytes < limits::kBatchBytes &&
           batch->requests_size() <
               static_cast<int>(limits::kRequestsPerBatch)) {
      v1::VariantRequest* request = batch->add_requests();
      request->set_request_id(next_request_id_++);
      wire::KeyToWire(keys.front(), request);
      request->set_urgency(wire::UrgencyToWire(options.urgency));
      request->set_keep(options.keep);
      bytes += request->ByteSizeLong();
      keys = keys.subspan(1);
    }
    answered_.resize(next_request_id_);
    unanswered_ += static_cast<size_t>(batch->requests_size());
    KILN_RETURN_IF_ERROR(SendMessage(std::move(message)));
  }
  return absl::OkStatus();
}

absl::Status BlockingSession::SendShaders(std::span<const Digest> programs,
                                          const SendOptions& options) {
  while (!programs.empty()) {
    v1::ClientMessage message;
    v1::ClientMessage::Batch* batch = message.mutable_batch();
    const size_t count =
        std::min<size_t>(programs.size(), limits::kRequestsPerBatch);
    KILN_RETURN_IF_ERROR(WaitForRoom(count));
    for (const Digest& program : programs.first(count)) {
      v1::ShaderRequest* request = batch->add_shaders();
      request->set_request_id(next_request_id_++);
      request->set_program_id(std::string(program.raw()));
      request->set_urgency(wire::UrgencyToWire(options.urgency));
    }
    answered_.resize(next_request_id_);
    unanswered_ += count;
    programs = programs.subspan(count);
    KILN_RETURN_IF_ERROR(SendMessage(std::move(message)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<v1::Completion>> BlockingSession::Next(
    SteadyTime deadline) {
  while (true) {
    Receive();
    if (!completions_.empty()) {
      v1::Completion completion = std::move(completions_.front());
      completions_.pop_front();
      return completion;
    }
    if (stream_.ended()) {
      return WhyEnded();
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return std::nullopt;
    }
    wakeup_.WaitUntil(deadline);
  }
}

absl::StatusOr<std::vector<v1::Completion>>
BlockingSession::CompletedBeforePong() {
  v1::ClientMessage message;
  message.mutable_ping()->set_number(++ping_);
  KILN_RETURN_IF_ERROR(SendMessage(std::move(message)));
  const SteadyTime deadline =
      std::chrono::steady_clock::now() + rpc_.options().timeout;
  while (pong_ != ping_) {
    Receive();
    if (pong_ == ping_) {
      break;
    }
    KILN_RETURN_IF_ERROR(WaitForNews(deadline));
  }
  std::vector<v1::Completion> completed(
      std::make_move_iterator(completions_.begin()),
      std::make_move_iterator(completions_.end()));
  completions_.clear();
  return completed;
}

absl::Status BlockingSession::WaitForNews(SteadyTime deadline) {
  if (stream_.ended()) {
    return WhyEnded();
  }
  if (std::chrono::steady_clock::now() >= deadline) {
    return ExplainTransport(absl::DeadlineExceededError(""),
                            rpc_.options().socket);
  }
  wakeup_.WaitUntil(deadline);
  return absl::OkStatus();
}

}  // namespace kiln::client
