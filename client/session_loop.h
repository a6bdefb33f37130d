// SPDX-License-Identifier: Apache-2.0
#pragma once

// The client's background thread: connects, opens a session, uploads programs,
// asks, fetches, and starts again from there when the connection ends.
//
//   Handshake -> OpenSession -> Stream -+-> (programs, batches, pings) -+
//       ^                               '-------------------------------'
//       '--- pause: 50 ms doubling, or 5 s after a refusal ---'  end of stream
//
// Nothing that an engine asked for lives here only in flight: programs and
// unsettled keys are kept until settled and asked for again on every new
// connection. Internal; engines use client.h.

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/exchange.h"
#include "client/jobs.h"
#include "client/module_pool.h"
#include "client/rpc.h"
#include "client/surface_caller.h"
#include "client/wakeup.h"

namespace kiln::client {

// Confined to the thread that calls `Run`, but for `Stop`.
class SessionLoop {
 public:
  SessionLoop(ClientOptions options, Exchange& exchange);
  ~SessionLoop();
  SessionLoop(const SessionLoop&) = delete;  // refers to the exchange
  SessionLoop& operator=(const SessionLoop&) = delete;

  // Returns after `Stop`. Never throws.
  void Run();

  // Thread-safe. Ends `Run` promptly, also in the middle of a call that a
  // frozen daemon will not answer.
  void Stop();

 private:
  struct Link;  // one connection: stream, fetches and heartbeat

  void Loop();

  bool stopping() const { return stopping_.load(); }

  // Returns: why the connection could not be made, or why it ended.
  absl::Status ServeConnection();
  absl::Status Converse(Link& link);
  RpcClient* Connect(absl::Status& status);
  void Disconnect();
  void Report(const absl::Status& status);
  void Pause(const absl::Status& status);

  void TakeRequests();
  absl::Status UploadPrograms(RpcClient& rpc);
  void Receive(Link& link);
  void Fetch(Link& link);
  absl::Status FetchShaders(RpcClient& rpc);
  void TellSurfaces(Link& link);
  std::optional<v1::ClientMessage> NextMessage(Link& link);
  void Write(Link& link);
  void CheckHeartbeat(Link& link);
  void Heard(Link& link);
  SteadyTime NextDeadline(const Link& link) const;
  void Fail(const Jobs::Failure& failure);

  const ClientOptions options_;
  Exchange& exchange_;
  std::atomic<bool> stopping_{false};

  absl::Mutex rpc_mutex_;
  std::unique_ptr<RpcClient> rpc_ ABSL_GUARDED_BY(rpc_mutex_);

  Jobs jobs_;
  ModulePool modules_;
  std::vector<std::shared_ptr<const KnownProgram>> programs_;
  size_t uploaded_ = 0;  // how many of them, on this connection
  absl::flat_hash_map<Digest, std::string> refused_programs_;
  std::deque<FeedbackReport> feedback_;
  std::vector<KnownSurface> surfaces_;      // told again to every daemon
  Activity activity_ = Activity::kPlaying;  // the same
  std::chrono::milliseconds pause_;
};

}  // namespace kiln::client
