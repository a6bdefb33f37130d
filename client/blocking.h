// SPDX-License-Identifier: Apache-2.0
#pragma once

// Asking for variants and waiting for the answers, for command lines and
// tests. Unlike client.h it blocks, delivers only what completions say (no
// blobs) and does not survive its daemon. Not for engines.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/rpc.h"
#include "client/stream.h"
#include "client/wakeup.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/digest.h"
#include "proto/limits.h"
#include "proto/urgency.h"
#include "proto/variant_key.h"

namespace kiln::client {

// How keys are asked for.
struct SendOptions {
  Urgency urgency = Urgency::kOnScreen;
  bool keep = false;  // the daemon goes on when this session has ended
};

// One session and its stream, of a client that says it is loading. Confined to
// the thread that opened it.
class BlockingSession {
 public:
  // Lifetime: `rpc` outlives the session.
  // Errors: those of RpcClient::OpenSession. Blocks: as it does.
  static absl::StatusOr<std::unique_ptr<BlockingSession>> Open(
      RpcClient& rpc, std::string_view target);

  BlockingSession(const BlockingSession&) = delete;  // gRPC holds its address
  BlockingSession& operator=(const BlockingSession&) = delete;

  const Session& session() const { return session_; }

  // Sends requests for `keys`, of registered programs; the request id of each
  // is its index in all that was sent so far, keys and shaders. Past
  // limits::kUnanswered without an answer it waits for answers: whoever wants
  // to show progress sends no more than `room()` at a time. Errors: Unavailable
  // or DeadlineExceeded. Blocks: until they are sent.
  absl::Status Send(std::span<const VariantKey> keys,
                    const SendOptions& options = {});

  // The same for the front ends of registered programs alone.
  absl::Status SendShaders(std::span<const Digest> programs,
                           const SendOptions& options = {});

  // How many requests may be sent without waiting.
  size_t room() const { return limits::kUnanswered - unanswered_; }

  // The id that the next request will have.
  uint64_t next_request_id() const { return next_request_id_; }

  // Returns: the next completion, or nothing at `deadline`. Of a living program
  // there may be later ones with the same request id.
  // Errors: Unavailable when the daemon goes away.
  absl::StatusOr<std::optional<v1::Completion>> Next(SteadyTime deadline);

  // Sends a ping behind the requests.
  // Returns: what was completed before its pong.
  // Errors: Unavailable, DeadlineExceeded. Blocks: a round trip.
  absl::StatusOr<std::vector<v1::Completion>> CompletedBeforePong();

 private:
  BlockingSession(RpcClient& rpc, Session session);

  absl::Status SendMessage(v1::ClientMessage message);
  absl::Status WhyEnded();

  // Blocks: until the stream has something new. Errors: why it ended, or
  // DeadlineExceeded naming the socket.
  absl::Status WaitForNews(SteadyTime deadline);
  void Receive();

  // Blocks: until `count` more requests may be sent.
  absl::Status WaitForRoom(size_t count);

  RpcClient& rpc_;
  const Session session_;
  Wakeup wakeup_;
  Stream stream_;
  std::deque<v1::Completion> completions_;
  uint64_t next_request_id_ = 0;
  std::vector<bool> answered_;  // by request id
  size_t unanswered_ = 0;
  uint64_t ping_ = 0;
  uint64_t pong_ = 0;
};

}  // namespace kiln::client
