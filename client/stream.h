// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one long-lived stream of a client: batches, pings and feedback up,
// completions and pongs down. Built on gRPC's callback interface, so it costs
// no thread. Internal; engines use client.h.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "client/wakeup.h"
#include "kiln/v1/kiln.pb.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace kiln::client {

// Confined to the thread that opened it; gRPC's threads only fill its inbox
// and notify `wakeup`, which must outlive it.
class Stream {
 public:
  // Starts the stream and sends Attach. Never waits.
  Stream(const std::shared_ptr<grpc::Channel>& channel, uint64_t session_id,
         Wakeup* wakeup);

  // Cancels, and waits for gRPC to let go, which needs no answer from the peer.
  ~Stream();
  Stream(const Stream&) = delete;  // gRPC holds its address
  Stream& operator=(const Stream&) = delete;

  // True when `Send` may be called: nothing is being written. A daemon that
  // does not read makes this stay false; that is the stream's whole outgoing
  // queue, so a frozen daemon costs no memory.
  bool idle() const;

  // Starts to write `message`. Requires: idle().
  void Send(v1::ClientMessage message);

  // Everything received since the last call. Past a few thousand messages not
  // taken, reading pauses and the daemon has to wait.
  std::vector<v1::ServerMessage> Take();

  // True once nothing more will be received.
  bool ended() const;

  // Why it ended, as the daemon or gRPC put it.
  // Requires: ended(). Blocks: at most 0.5 s, for the daemon's last word.
  absl::Status Close();

 private:
  class Reactor;

  std::unique_ptr<Reactor> reactor_;
};

}  // namespace kiln::client
