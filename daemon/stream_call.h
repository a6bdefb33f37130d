// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kiln.Stream, the long-lived stream of one client: requests in batches up,
// completions down. A client that asks for more than it reads answers to is not
// read from for a while: gRPC's flow control makes it wait, and nobody else.

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>

#include <grpcpp/support/server_callback.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "daemon/reloader.h"
#include "daemon/service.h"
#include "kiln/v1/kiln.pb.h"

namespace kiln::daemon {

// One call of Stream. Thread-safe. Keeps itself alive until gRPC is done with
// it; answers that come later find it closed and are dropped.
class StreamCall final
    : public grpc::ServerBidiReactor<v1::ClientMessage, v1::ServerMessage>,
      public Subscriber,
      public std::enable_shared_from_this<StreamCall> {
 public:
  static std::shared_ptr<StreamCall> Start(ServiceContext& context,
                                           grpc::CallbackServerContext* rpc);

  // Sends a `draining` notice and ends the call with Unavailable.
  void Drain();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void Deliver(uint64_t request_id, const Answer& answer, bool first) override;

 private:
  StreamCall(ServiceContext& context, grpc::CallbackServerContext* rpc)
      : context_(context), call_(rpc) {}

  absl::Status Handle(const v1::ClientMessage& message);
  absl::Status Attach(uint64_t session_id);
  absl::Status HandleBatch(const v1::ClientMessage::Batch& batch);
  void HandleFeedback(const v1::ClientMessage::Feedback& feedback);
  absl::Status HandleRelease(const v1::ClientMessage::Release& release);
  void TellActivity();
  void HandleRequest(const v1::VariantRequest& request, Reloader::Batch& batch);
  void HandleShader(const v1::ShaderRequest& request, Reloader::Batch& batch);
  void Reject(uint64_t request_id, const absl::Status& why);

  void Send(v1::ServerMessage message, bool answers = false);
  // Ends the call once everything queued has been written.
  void End(const absl::Status& status);
  void StartNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns: whether the next message is to be read now; else OnWriteDone
  // starts that once there is room.
  bool MayRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ServiceContext& context_;
  grpc::CallbackServerContext* const call_;  // lives until OnDone
  std::shared_ptr<StreamCall> self_;         // until OnDone
  v1::ClientMessage incoming_;               // one read is pending at a time

  // Set by the first message; read only from OnReadDone, which is serial.
  std::optional<Session> session_;
  uint64_t session_id_ = 0;

  absl::Mutex mutex_;

  struct Outgoing {
    v1::ServerMessage message;
    bool answers = false;  // a request that had no answer before
  };

  std::deque<Outgoing> outbox_ ABSL_GUARDED_BY(mutex_);
  size_t outbox_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  Diagnostics last_diagnostics_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> ending_ ABSL_GUARDED_BY(mutex_);
  // Requests without an answer that has been written. Past
  // limits::kUnanswered nothing is read, so it exceeds that by one batch at
  // most, and bounds the outbox too.
  size_t unanswered_ ABSL_GUARDED_BY(mutex_) = 0;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;  // no read is under way
};

}  // namespace kiln::daemon
