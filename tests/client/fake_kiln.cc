// SPDX-License-Identifier: Apache-2.0
#include "tests/client/fake_kiln.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include <grpcpp/grpcpp.h>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "kiln/v1/kiln.grpc.pb.h"
#include "proto/artifact.h"
#include "proto/limits.h"
#include "proto/program.h"
#include "proto/target.h"
#include "proto/variant_key.h"
#include "proto/wire.h"

namespace kiln::testing {
namespace {

using Damage = FakeBehaviour::Damage;
using DeliveryWriter = grpc::ServerWriter<v1::GetArtifactResponse>;

TargetIdentity FakeTarget() {
  return {"Fake Device", {{"device_name", "Fake Device"}, {"vendor", "0x1"}}};
}

constexpr uint32_t kModule[] = {0x07230203, 0x00010600, 0, 1, 0};

Artifact FakeArtifact(const VariantKey& key) {
  Artifact artifact;
  artifact.target = FakeTarget().Id();
  artifact.key = key;
  const Digest module = Digest::Of(AsBytes(std::span(kModule)));
  artifact.modules = {{Stage::kVertex, module}, {Stage::kFragment, module}};
  artifact.blob = ToBytes(AsBytes("a pipeline cache of sorts"));
  artifact.proof = Proof::kProven;
  artifact.compile_us = 1500;
  return artifact;
}

}  // namespace

class FakeKiln::Service final : public v1::Kiln::Service {
 public:
  explicit Service(FakeBehaviour behaviour)
      : behaviour_(behaviour),
        to_reject_(behaviour.rejected_for_now),
        to_damage_(behaviour.damaged_deliveries) {}

  grpc::Status Handshake(grpc::ServerContext* context,
                         const v1::HandshakeRequest* /*request*/,
                         v1::HandshakeResponse* response) override {
    ++handshakes;
    while (!behaviour_.answers && !context->IsCancelled() && !stopping) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (behaviour_.refuses) {
      return {grpc::FAILED_PRECONDITION,
              "no common protocol version: client speaks 2 to 4, kilnd speaks "
              "7 to 9"};
    }
    response->set_version(behaviour_.protocol_version);
    response->set_daemon_version("fake");
    response->set_pid(4711);
    return grpc::Status::OK;
  }

  grpc::Status OpenSession(grpc::ServerContext* /*context*/,
                           const v1::OpenSessionRequest* request,
                           v1::OpenSessionResponse* response) override {
    response->set_session_id(1);
    wire::TargetToWire(request->target(), FakeTarget(),
                       response->mutable_target());
    return grpc::Status::OK;
  }

  grpc::Status RegisterProgram(
      grpc::ServerContext* /*context*/,
      grpc::ServerReader<v1::RegisterProgramRequest>* reader,
      v1::RegisterProgramResponse* response) override {
    v1::RegisterProgramRequest message;
    while (reader->Read(&message)) {
      if (message.has_header()) {
        response->set_program_id(message.header().program_id());
      }
    }
    return behaviour_.refuses_programs
               ? grpc::Status(grpc::INVALID_ARGUMENT, "program field files: no")
               : grpc::Status::OK;
  }

  grpc::Status Stream(
      grpc::ServerContext* /*context*/,
      grpc::ServerReaderWriter<v1::ServerMessage, v1::ClientMessage>* stream)
      override {
    v1::ClientMessage message;
    while (stream->Read(&message)) {
      for (const v1::VariantRequest& request : message.batch().requests()) {
        ++requests;
        stream->Write(Complete(request));
      }
      if (message.has_ping() && behaviour_.pongs) {
        v1::ServerMessage answer;
        answer.mutable_pong()->set_number(message.ping().number());
        stream->Write(answer);
      }
    }
    return grpc::Status::OK;
  }

  grpc::Status GetArtifact(grpc::ServerContext* /*context*/,
                           const v1::GetArtifactRequest* request,
                           DeliveryWriter* writer) override {
    ++deliveries;
    const Damage damage =
        to_damage_.fetch_sub(1) > 0 ? behaviour_.damage : Damage::kNone;
    if (damage == Damage::kNotFound) {
      return {grpc::NOT_FOUND, "no artifact " + request->key_id()};
    }
    VariantKey key;
    {
      absl::MutexLock lock(&mutex_);
      key = keys_[request->key_id()];
    }
    if (damage == Damage::kAnotherKey) {
      key.features ^= 1;
    }
    Deliver(FakeArtifact(key), damage, writer);
    return grpc::Status::OK;
  }

  std::atomic<bool> stopping{false};
  std::atomic<int> handshakes{0};
  std::atomic<int> requests{0};
  std::atomic<int> deliveries{0};

 private:
  v1::ServerMessage Complete(const v1::VariantRequest& request) {
    v1::ServerMessage message;
    v1::Completion* completion = message.mutable_completion();
    completion->set_request_id(request.request_id());
    if (to_reject_.fetch_sub(1) > 0) {
      completion->set_state(v1::STATE_REJECTED);
      completion->mutable_failure()->set_code(grpc::RESOURCE_EXHAUSTED);
      completion->mutable_failure()->set_message("queue is full");
      return message;
    }
    if (behaviour_.compiles_fail) {
      completion->set_state(v1::STATE_FAILED);
      completion->mutable_failure()->set_code(grpc::INVALID_ARGUMENT);
      completion->mutable_failure()->set_message("does not compile");
      completion->mutable_failure()->set_diagnostics("tiny.frag:4: error");
      return message;
    }
    const VariantKey key = wire::KeyFromWire(request).value();
    const Artifact artifact = FakeArtifact(key);
    completion->set_state(v1::STATE_READY);
    completion->set_origin(v1::ORIGIN_COMPILED);
    wire::VariantToWire(artifact, "label", artifact.blob.size(),
                        completion->mutable_variant());
    absl::MutexLock lock(&mutex_);
    keys_[KeyId(key).Hex()] = key;
    return message;
  }

  static void Deliver(const Artifact& artifact, Damage damage,
                      DeliveryWriter* writer) {
    const Bytes bytes = EncodeArtifact(artifact);
    v1::GetArtifactResponse message;
    v1::GetArtifactResponse::Header* header = message.mutable_header();
    wire::VariantToWire(artifact, "label", artifact.blob.size(),
                        header->mutable_variant());
    header->set_artifact_bytes(bytes.size());
    header->set_artifact_digest(std::string(Digest::Of(bytes).raw()));
    for (const StageModule& module : artifact.modules) {
      v1::GetArtifactResponse::Module* out = header->add_modules();
      out->set_stage(std::string(StageName(module.stage)));
      out->set_digest(std::string(module.module.raw()));
      out->set_bytes(sizeof(kModule));
    }
    writer->Write(message);
    message.set_chunk(std::string(AsText(bytes)));
    writer->Write(message);
    std::string code(AsText(AsBytes(std::span(kModule))));
    message.set_chunk(code);
    writer->Write(message);
    if (damage == Damage::kFlippedByte) {
      code[7] ^= 0x40;
    } else if (damage == Damage::kBigChunk) {
      code.resize(limits::kChunkBytes + 1);
    }
    message.set_chunk(code);
    if (damage != Damage::kCutShort) {
      writer->Write(message);
    }
  }

  const FakeBehaviour behaviour_;
  std::atomic<int> to_reject_;
  std::atomic<int> to_damage_;
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, VariantKey> keys_ ABSL_GUARDED_BY(mutex_);
};

struct FakeKiln::Server {
  std::unique_ptr<grpc::Server> server;
};

FakeKiln::FakeKiln(std::string socket, FakeBehaviour behaviour)
    : service_(std::make_unique<Service>(behaviour)),
      server_(std::make_unique<Server>()) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(service_.get());
  server_->server = builder.BuildAndStart();
  if (server_->server == nullptr) {
    std::fprintf(stderr, "cannot serve on %s\n", socket.c_str());
    std::abort();
  }
}

FakeKiln::~FakeKiln() {
  service_->stopping = true;
  server_->server->Shutdown(std::chrono::system_clock::now() +
                            std::chrono::milliseconds(100));
}

int FakeKiln::handshakes() const {
  return service_->handshakes;
}

int FakeKiln::requests() const {
  return service_->requests;
}

int FakeKiln::deliveries() const {
  return service_->deliveries;
}

}  // namespace kiln::testing
