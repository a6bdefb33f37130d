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
  return std::unique_ptr<BlockingSession>(
      new BlockingSession(rpc, std::move(session)));
}

void BlockingSession::Receive() {
  for (v1::ServerMessage& message : stream_.Take()) {
    if (message.has_completion()) {
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

absl::Status BlockingSession::Send(std::span<const VariantKey> keys) {
  while (!keys.empty()) {
    v1::ClientMessage message;
    v1::ClientMessage::Batch* batch = message.mutable_batch();
    size_t bytes = 0;
    while (!keys.empty() && bytes < limits::kBatchBytes &&
           batch->requests_size() <
               static_cast<int>(limits::kRequestsPerBatch)) {
      v1::VariantRequest* request = batch->add_requests();
      request->set_request_id(next_request_id_++);
      wire::KeyToWire(keys.front(), request);
      bytes += request->ByteSizeLong();
      keys = keys.subspan(1);
    }
    KILN_RETURN_IF_ERROR(SendMessage(std::move(message)));
  }
  return absl::OkStatus();
}

absl::Status BlockingSession::SendShaders(std::span<const Digest> programs) {
  while (!programs.empty()) {
    v1::ClientMessage message;
    v1::ClientMessage::Batch* batch = message.mutable_batch();
    const size_t count =
        std::min<size_t>(programs.size(), limits::kRequestsPerBatch);
    for (const Digest& program : programs.first(count)) {
      v1::ShaderRequest* request = batch->add_shaders();
      request->set_request_id(next_request_id_++);
      request->set_program_id(std::string(program.raw()));
    }
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
