// SPDX-License-Identifier: Apache-2.0
#include "client/fetcher.h"

#include <utility>

#include <grpcpp/grpcpp.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/assembler.h"
#include "kiln/v1/kiln.grpc.pb.h"
#include "proto/wire.h"

namespace kiln::client {

struct Fetcher::Shared {
  std::unique_ptr<v1::Kiln::Stub> stub;
  Digest target;
  std::chrono::milliseconds timeout;
  Wakeup* wakeup;
};

// Reads one answer into an assembler. gRPC calls OnReadDone one at a time and
// OnDone last, so that only `status_` and `done_` need the lock.
class Fetcher::Call final
    : public grpc::ClientReadReactor<v1::GetArtifactResponse> {
 public:
  Call(const Shared& shared, const Digest& key_id, const Digest& stored_as)
      : key_id_(key_id), assembler_(stored_as.Hex()), wakeup_(shared.wakeup) {
    request_.set_key_id(stored_as.Hex());
    request_.set_target(std::string(shared.target.raw()));
    context_.set_deadline(std::chrono::system_clock::now() + shared.timeout);
    shared.stub->async()->GetArtifact(&context_, &request_, this);
    StartRead(&incoming_);
    StartCall();
  }

  ~Call() override {
    context_.TryCancel();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&done_));
  }

  Call(const Call&) = delete;  // gRPC holds its address
  Call& operator=(const Call&) = delete;

  bool done() const {
    absl::MutexLock lock(&mutex_);
    return done_;
  }

  // Requires: done().
  Result Finish() {
    absl::MutexLock lock(&mutex_);
    if (!bad_.ok()) {
      return {key_id_, bad_};
    }
    if (!status_.ok()) {
      return {key_id_, status_};
    }
    return {key_id_, assembler_.Finish()};
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      return;
    }
    bad_ = assembler_.Add(incoming_);
    if (bad_.ok()) {
      StartRead(&incoming_);
    } else {
      context_.TryCancel();
    }
  }

  void OnDone(const grpc::Status& status) override {
    absl::MutexLock lock(&mutex_);
    status_ = wire::FromGrpc(status);
    done_ = true;
    // Before the lock is free: the owner may then destroy this, and soon the
    // wakeup as well.
    wakeup_->Notify();
  }

 private:
  const Digest key_id_;
  v1::GetArtifactRequest request_;
  v1::GetArtifactResponse incoming_;
  grpc::ClientContext context_;
  ArtifactAssembler assembler_;
  absl::Status bad_;
  Wakeup* const wakeup_;

  mutable absl::Mutex mutex_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

Fetcher::Fetcher(const std::shared_ptr<grpc::Channel>& channel,
                 const Digest& target, std::chrono::milliseconds timeout,
                 Wakeup* wakeup)
    : shared_(std::make_unique<Shared>(
          Shared{v1::Kiln::NewStub(channel), target, timeout, wakeup})) {}

Fetcher::~Fetcher() = default;

bool Fetcher::full() const {
  return calls_.size() >= kInFlight;
}

void Fetcher::Start(const Digest& key_id, const Digest& stored_as) {
  calls_.push_back(std::make_unique<Call>(*shared_, key_id, stored_as));
}

std::vector<Fetcher::Result> Fetcher::Take() {
  std::vector<Result> results;
  std::erase_if(calls_, [&](const std::unique_ptr<Call>& call) {
    if (!call->done()) {
      return false;
    }
    results.push_back(call->Finish());
    return true;
  });
  return results;
}

}  // namespace kiln::client
