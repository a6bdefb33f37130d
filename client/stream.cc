// SPDX-License-Identifier: Apache-2.0
#include "client/stream.h"

#include <utility>

#include <grpcpp/grpcpp.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kiln/v1/kiln.grpc.pb.h"
#include "proto/wire.h"

namespace kiln::client {
namespace {

// A notice has under 1 KiB as a rule; compiler output makes it 64 KiB, once
// where keys fail one after the other for one reason.
constexpr size_t kInboxMessages = 4096;
constexpr absl::Duration kLastWord = absl::Milliseconds(500);

}  // namespace

// One hold is kept from start to `Release`: while it is there gRPC does not
// call OnDone, so the owner may start reads and writes from its own thread.
class Stream::Reactor final
    : public grpc::ClientBidiReactor<v1::ClientMessage, v1::ServerMessage> {
 public:
  Reactor(const std::shared_ptr<grpc::Channel>& channel, Wakeup* wakeup)
      : stub_(v1::Kiln::NewStub(channel)), wakeup_(wakeup) {}

  void Start(uint64_t session_id) {
    stub_->async()->Stream(&context_, this);
    AddHold();
    outgoing_.mutable_attach()->set_session_id(session_id);
    StartWrite(&outgoing_);
    StartRead(&incoming_);
    StartCall();
  }

  void Send(v1::ClientMessage message) {
    {
      absl::MutexLock lock(&mutex_);
      writing_ = true;
    }
    outgoing_ = std::move(message);
    StartWrite(&outgoing_);
  }

  std::vector<v1::ServerMessage> Take() {
    std::vector<v1::ServerMessage> taken;
    bool resume = false;
    {
      absl::MutexLock lock(&mutex_);
      taken.swap(inbox_);
      resume = std::exchange(paused_, false);
    }
    if (resume) {
      StartRead(&incoming_);
    }
    return taken;
  }

  bool idle() const {
    absl::MutexLock lock(&mutex_);
    return !writing_ && !ended_;
  }

  bool ended() const {
    absl::MutexLock lock(&mutex_);
    return ended_ && inbox_.empty();
  }

  // Lets gRPC finish and waits for it: `patience` for the peer's status, then
  // by cancelling.
  absl::Status Release(absl::Duration patience) {
    if (!std::exchange(released_, true)) {
      RemoveHold();
    }
    {
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&done_), patience)) {
        return status_;
      }
    }
    context_.TryCancel();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&done_));
    return status_;
  }

  void OnReadDone(bool ok) override {
    bool more = false;
    {
      absl::MutexLock lock(&mutex_);
      if (ok) {
        inbox_.push_back(std::move(incoming_));
        incoming_.Clear();
        more = inbox_.size() < kInboxMessages;
        paused_ = !more;
      } else {
        ended_ = true;
      }
    }
    if (more) {
      StartRead(&incoming_);
    }
    wakeup_->Notify();
  }

  void OnWriteDone(bool /*ok*/) override {
    // A failed write means that the call is over; the read says so, too.
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    wakeup_->Notify();
  }

  void OnDone(const grpc::Status& status) override {
    absl::MutexLock lock(&mutex_);
    status_ = wire::FromGrpc(status);
    done_ = true;  // the owner may destroy this as soon as the lock is free
  }

 private:
  std::unique_ptr<v1::Kiln::Stub> stub_;
  grpc::ClientContext context_;
  Wakeup* const wakeup_;
  v1::ClientMessage outgoing_;  // gRPC's while `writing_`
  v1::ServerMessage incoming_;  // gRPC's while a read is under way
  bool released_ = false;       // the owner's

  // Taken before Wakeup's own lock, never after.
  mutable absl::Mutex mutex_;
  std::vector<v1::ServerMessage> inbox_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = true;  // Attach
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

Stream::Stream(const std::shared_ptr<grpc::Channel>& channel,
               uint64_t session_id, Wakeup* wakeup)
    : reactor_(std::make_unique<Reactor>(channel, wakeup)) {
  reactor_->Start(session_id);
}

Stream::~Stream() {
  reactor_->Release(absl::ZeroDuration()).IgnoreError();
}

bool Stream::idle() const {
  return reactor_->idle();
}

void Stream::Send(v1::ClientMessage message) {
  reactor_->Send(std::move(message));
}

std::vector<v1::ServerMessage> Stream::Take() {
  return reactor_->Take();
}

bool Stream::ended() const {
  return reactor_->ended();
}

absl::Status Stream::Close() {
  return reactor_->Release(kLastWord);
}

}  // namespace kiln::client
