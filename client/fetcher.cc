// SPDX-License-Identifier: Apache-2.0
#include "client/fetcher.h"

#include <utility>

#include <grpcpp/grpcpp.h>

#include "client/assembler.h"
#include "client/call_end.h"
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
// OnDone last, so that nothing but the end needs a lock.
class Fetcher::Call final
    : public grpc::ClientReadReactor<v1::GetArtifactResponse> {
 public:
  Call(const Shared& shared, const Digest& key_id, const Digest& stored_as)
      : key_id_(key_id), assembler_(stored_as.Hex()), end_(shared.wakeup) {
    request_.set_key_id(stored_as.Hex());
    request_.set_target(std::string(shared.target.raw()));
    context_.set_deadline(std::chrono::system_clock::now() + shared.timeout);
    shared.stub->async()->GetArtifact(&context_, &request_, this);
    StartRead(&incoming_);
    StartCall();
  }

  ~Call() override {
    context_.TryCancel();
    end_.Await();
  }

  Call(const Call&) = delete;  // gRPC holds its address
  Call& operator=(const Call&) = delete;

  bool done() const { return end_.done(); }

  // Requires: done().
  Result Finish() {
    if (!bad_.ok()) {
      return {key_id_, bad_};
    }
    if (absl::Status status = end_.status(); !status.ok()) {
      return {key_id_, std::move(status)};
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
    end_.Set(wire::FromGrpc(status));
  }

 private:
  const Digest key_id_;
  v1::GetArtifactRequest request_;
  v1::GetArtifactResponse incoming_;
  grpc::ClientContext context_;
  ArtifactAssembler assembler_;
  absl::Status bad_;
  CallEnd end_;
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
