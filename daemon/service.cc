// SPDX-License-Identifier: Apache-2.0
#include "daemon/service.h"

#include <unistd.h>

#include <atomic>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <spdlog/spdlog.h>

#include "daemon/artifact_call.h"
#include "daemon/explain_call.h"
#include "daemon/failures_call.h"
#include "daemon/module_call.h"
#include "daemon/register_call.h"
#include "daemon/roots_call.h"
#include "daemon/stream_call.h"
#include "daemon/surface_call.h"
#include "daemon/tuning_call.h"
#include "daemon/version.h"
#include "kiln/v1/kiln.grpc.pb.h"
#include "proto/grpc_lifetime.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "proto/wire.h"
#include "storage/variant_store.h"

namespace kiln::daemon {
namespace {

absl::Status Agree(const v1::HandshakeRequest& request,
                   v1::HandshakeResponse* response) {
  const uint32_t newest =
      std::min(request.newest_version(), limits::kProtocolVersion);
  const uint32_t oldest =
      std::max(request.oldest_version(), limits::kOldestProtocolVersion);
  if (oldest > newest) {
    return absl::FailedPreconditionError(fmt::format(
        "no common protocol version: client speaks {} to {}, kilnd {} speaks "
        "{} to {}",
        request.oldest_version(), request.newest_version(), kVersion,
        limits::kOldestProtocolVersion, limits::kProtocolVersion));
  }
  response->set_version(newest);
  response->set_daemon_version(std::string(kVersion));
  response->set_pid(static_cast<uint32_t>(getpid()));
  return absl::OkStatus();
}

absl::Status List(ServiceContext& context,
                  const v1::ListVariantsRequest& request,
                  v1::ListVariantsResponse* response) {
  const size_t page =
      request.page_size() == 0
          ? limits::kListPageSize
          : std::min(request.page_size(), limits::kListPageSize);
  KILN_ASSIGN_OR_RETURN(
      const storage::ArtifactPage found,
      context.store.ListArtifacts(request.page_token(), page));
  for (const storage::ListedArtifact& listed : found.artifacts) {
    auto program = context.registry.Find(listed.artifact.key.program);
    wire::VariantToWire(
        listed.artifact,
        program.ok() ? KeyLabel((*program)->program(), listed.artifact.key)
                     : "",
        listed.blob_bytes, response->add_variants());
  }
  response->set_next_page_token(found.next_row);
  return absl::OkStatus();
}

void FillQueue(const PoolSnapshot& pool, v1::GetStatusResponse* response) {
  v1::QueueStatus* queue = response->mutable_queue();
  auto queued = [&](Urgency urgency) {
    return static_cast<uint32_t>(pool.queued_by_class[IndexOf(urgency)]);
  };
  auto clients = [&](Activity activity) {
    return static_cast<uint32_t>(pool.activity[IndexOf(activity)]);
  };
  queue->set_on_screen(queued(Urgency::kOnScreen));
  queue->set_warm_up(queued(Urgency::kWarmUp));
  queue->set_speculative(queued(Urgency::kSpeculative));
  queue->set_background_running(static_cast<uint32_t>(pool.background_running));
  queue->set_background_limit(static_cast<uint32_t>(pool.background_limit));
  queue->set_workers(static_cast<uint32_t>(pool.workers_limit));
  queue->set_playing(clients(Activity::kPlaying));
  queue->set_loading(clients(Activity::kLoading));
  queue->set_idle(clients(Activity::kIdle));
  v1::PressureStatus* pressure = response->mutable_pressure();
  if (pool.pressure.cpu) {
    pressure->set_cpu(*pool.pressure.cpu);
  }
  if (pool.pressure.memory) {
    pressure->set_memory(*pool.pressure.memory);
  }
  if (pool.pressure.io) {
    pressure->set_io(*pool.pressure.io);
  }
  pressure->set_background(std::string(BackoffText(pool.pressure.backoff)));
}

void FillStatus(const ServiceContext& context, bool draining,
                const PoolSnapshot& pool, v1::GetStatusResponse* response) {
  const storage::StoreCounts counts = context.store.counts();
  response->set_daemon_version(std::string(kVersion));
  response->set_pid(static_cast<uint32_t>(getpid()));
  response->set_uptime_ms(static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::steady_clock::now() - context.started)
          .count()));
  response->set_socket(ToValidUtf8(context.socket));
  response->set_state_folder(ToValidUtf8(context.state_folder));
  response->set_draining(draining);
  response->set_sealed(context.sealed);
  response->set_stored_artifacts(counts.artifacts);
  response->set_stored_bytes(counts.disk_bytes);
  response->set_open_sessions(static_cast<uint32_t>(context.sessions.size()));
  response->set_jobs_queued(static_cast<uint32_t>(pool.jobs_queued));
  response->set_jobs_running(static_cast<uint32_t>(pool.jobs_running));
  FillQueue(pool, response);
  const sources::SourceCache::Counters sources =
      context.live_programs.source_counters();
  context.counters.Set(Counter::kSourceStats, sources.stats);
  context.counters.Set(Counter::kSourceReads, sources.reads);
  for (const auto& [name, value] : context.counters.Snapshot()) {
    (*response->mutable_counters())[name] = value;
  }
  (*response->mutable_counters())["store_damaged_entries"] =
      context.store.counters().damaged_entries.load();
  for (const WorkerSnapshot& worker : pool.workers) {
    v1::WorkerStatus* out = response->add_workers();
    out->set_pid(worker.pid);
    out->set_target(worker.target);
    out->set_state(worker.state);
    out->set_job(ToValidUtf8(worker.job));
    out->set_jobs_done(worker.jobs_done);
    for (const SandboxLayer& layer : worker.sandbox) {
      v1::SandboxLayer* told = out->add_sandbox();
      told->set_name(layer.name);
      told->set_holds(layer.holds);
      told->set_detail(layer.detail);
    }
  }
}

class Service final : public v1::Kiln::CallbackService {
 public:
  explicit Service(ServiceContext context) : context_(std::move(context)) {}

  grpc::ServerUnaryReactor* Handshake(
      grpc::CallbackServerContext* call, const v1::HandshakeRequest* request,
      v1::HandshakeResponse* response) override {
    return Answer(call, Agree(*request, response));
  }

  grpc::ServerUnaryReactor* OpenSession(
      grpc::CallbackServerContext* call, const v1::OpenSessionRequest* request,
      v1::OpenSessionResponse* response) override {
    absl::StatusOr<TargetSpec> spec = TargetSpec::Parse(request->target());
    if (!spec.ok()) {
      return Answer(call, spec.status());
    }
    if (request->client_name().size() > limits::kNameBytes) {
      return Answer(call,
                    absl::InvalidArgumentError(fmt::format(
                        "client_name is over {} bytes", limits::kNameBytes)));
    }
    grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
    boost::asio::post(context_.io, [this, request, response, reactor,
                                    spec = *std::move(spec)] {
      context_.pool.Open(spec, [this, request, response, reactor](auto opened) {
        FinishOpen(*request, std::move(opened), response, reactor);
      });
    });
    return reactor;
  }

  grpc::ServerReadReactor<v1::RegisterProgramRequest>* RegisterProgram(
      grpc::CallbackServerContext*,
      v1::RegisterProgramResponse* response) override {
    return StartRegisterCall(context_, response);
  }

  grpc::ServerBidiReactor<v1::ClientMessage, v1::ServerMessage>* Stream(
      grpc::CallbackServerContext* rpc) override {
    std::shared_ptr<StreamCall> call = StreamCall::Start(context_, rpc);
    bool draining = false;
    {
      absl::MutexLock lock(&mutex_);
      std::erase_if(streams_,
                    [](const auto& stream) { return stream.expired(); });
      streams_.push_back(call);
      draining = draining_;
    }
    if (draining) {
      call->Drain();
    }
    return call.get();
  }

  grpc::ServerUnaryReactor* GetStatus(
      grpc::CallbackServerContext* call, const v1::GetStatusRequest*,
      v1::GetStatusResponse* response) override {
    grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
    boost::asio::post(context_.io, [this, response, reactor] {
      FillStatus(context_, draining(), context_.pool.Snapshot(), response);
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

  grpc::ServerUnaryReactor* ListVariants(
      grpc::CallbackServerContext* call, const v1::ListVariantsRequest* request,
      v1::ListVariantsResponse* response) override {
    return Answer(call, List(context_, *request, response));
  }

  grpc::ServerUnaryReactor* ListFailures(
      grpc::CallbackServerContext* call, const v1::ListFailuresRequest* request,
      v1::ListFailuresResponse* response) override {
    return Answer(call, AnswerListFailures(context_, *request, response));
  }

  grpc::ServerUnaryReactor* LiftFailures(
      grpc::CallbackServerContext* call, const v1::LiftFailuresRequest* request,
      v1::LiftFailuresResponse* response) override {
    return Answer(call, AnswerLiftFailures(context_, *request, response));
  }

  grpc::ServerUnaryReactor* PutTuning(grpc::CallbackServerContext* call,
                                      const v1::PutTuningRequest* request,
                                      v1::PutTuningResponse*) override {
    return Answer(call, RememberTuning(context_, *request));
  }

  grpc::ServerUnaryReactor* GetTuning(
      grpc::CallbackServerContext* call, const v1::GetTuningRequest* request,
      v1::GetTuningResponse* response) override {
    return Answer(call, FindTuning(context_, *request, response));
  }

  grpc::ServerUnaryReactor* ListRoots(
      grpc::CallbackServerContext* call, const v1::ListRootsRequest* request,
      v1::ListRootsResponse* response) override {
    return Answer(call, AnswerListRoots(context_, *request, response));
  }

  grpc::ServerUnaryReactor* AddRoot(grpc::CallbackServerContext* call,
                                    const v1::AddRootRequest* request,
                                    v1::AddRootResponse* response) override {
    return Answer(call, AnswerAddRoot(context_, *request, response));
  }

  grpc::ServerUnaryReactor* RemoveRoot(grpc::CallbackServerContext* call,
                                       const v1::RemoveRootRequest* request,
                                       v1::RemoveRootResponse*) override {
    return Answer(call, AnswerRemoveRoot(context_, *request));
  }

  grpc::ServerUnaryReactor* MarkRoots(grpc::CallbackServerContext* call,
                                      const v1::MarkRootsRequest* request,
                                      v1::MarkRootsResponse*) override {
    return Answer(call, AnswerMarkRoots(context_, *request));
  }

  grpc::ServerUnaryReactor* RegisterSurface(
      grpc::CallbackServerContext* call,
      const v1::RegisterSurfaceRequest* request,
      v1::RegisterSurfaceResponse* response) override {
    grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
    AnswerRegisterSurface(context_, *request, response, reactor);
    return reactor;
  }

  grpc::ServerUnaryReactor* RemoveSurface(
      grpc::CallbackServerContext* call,
      const v1::RemoveSurfaceRequest* request,
      v1::RemoveSurfaceResponse* response) override {
    return Answer(call, AnswerRemoveSurface(context_, *request, response));
  }

  grpc::ServerUnaryReactor* ListSurfaces(
      grpc::CallbackServerContext* call, const v1::ListSurfacesRequest* request,
      v1::ListSurfacesResponse* response) override {
    return Answer(call, AnswerListSurfaces(context_, *request, response));
  }

  grpc::ServerUnaryReactor* Explain(grpc::CallbackServerContext* call,
                                    const v1::ExplainRequest* request,
                                    v1::ExplainResponse* response) override {
    auto current = [this](const Digest& id)
        -> absl::StatusOr<std::shared_ptr<RegisteredProgram>> {
      KILN_ASSIGN_OR_RETURN(ProgramState state,
                            context_.live_programs.Current(id));
      KILN_RETURN_IF_ERROR(state.status);
      return std::move(state.program);
    };
    const ExplainContext context{context_.store, context_.registry,
                                 context_.asked, current};
    return Answer(call, AnswerExplain(context, *request, response));
  }

  grpc::ServerWriteReactor<v1::GetModuleResponse>* GetModule(
      grpc::CallbackServerContext*,
      const v1::GetModuleRequest* request) override {
    return StartModuleCall(context_, *request);
  }

  grpc::ServerWriteReactor<v1::GetArtifactResponse>* GetArtifact(
      grpc::CallbackServerContext*,
      const v1::GetArtifactRequest* request) override {
    return StartArtifactCall(context_, *request);
  }

  void Drain() {
    std::vector<std::weak_ptr<StreamCall>> streams;
    {
      absl::MutexLock lock(&mutex_);
      draining_ = true;
      streams = streams_;
    }
    for (const std::weak_ptr<StreamCall>& stream : streams) {
      if (std::shared_ptr<StreamCall> call = stream.lock()) {
        call->Drain();
      }
    }
  }

 private:
  static grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* call,
                                          const absl::Status& status) {
    grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
    reactor->Finish(wire::ToGrpc(status));
    return reactor;
  }

  void FinishOpen(const v1::OpenSessionRequest& request,
                  absl::StatusOr<OpenTargetPtr> opened,
                  v1::OpenSessionResponse* response,
                  grpc::ServerUnaryReactor* reactor) {
    if (opened.ok()) {
      wire::TargetToWire((*opened)->spec, (*opened)->identity,
                         response->mutable_target());
      response->set_session_id(context_.sessions.Open(
          {*opened, ToValidUtf8(request.client_name())}));
      context_.counters.Add(Counter::kSessionsOpened);
      // So that `kiln why` can tell it from others. Off the io thread: disk.
      boost::asio::post(context_.store_thread, [this, target = *opened] {
        if (!context_.store.PutTarget(target->identity).ok()) {
          context_.counters.Add(Counter::kStoreErrors);
        }
      });
      spdlog::info("session open client=\"{}\" target={}",
                   ToValidUtf8(request.client_name()), (*opened)->spec);
    }
    reactor->Finish(wire::ToGrpc(opened.status()));
  }

  bool draining() {
    absl::MutexLock lock(&mutex_);
    return draining_;
  }

  ServiceContext context_;
  absl::Mutex mutex_;
  std::vector<std::weak_ptr<StreamCall>> streams_ ABSL_GUARDED_BY(mutex_);
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
};

class GrpcHost final : public ServiceHost {
 public:
  explicit GrpcHost(ServiceContext context) : service_(std::move(context)) {
    KeepGrpcRunning();
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    builder.SetMaxReceiveMessageSize(
        static_cast<int>(limits::kMaxMessageBytes));
    builder.SetMaxSendMessageSize(static_cast<int>(limits::kMaxMessageBytes));
    server_ = builder.BuildAndStart();
  }

  bool started() const { return server_ != nullptr; }

  void AddConnection(int fd) override {
    grpc::AddInsecureChannelFromFd(server_.get(), fd);
  }

  void Drain() override { service_.Drain(); }

  void Shutdown(std::chrono::milliseconds grace) override {
    server_->Shutdown(std::chrono::system_clock::now() + grace);
  }

 private:
  Service service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ServiceHost>> ServiceHost::Start(
    ServiceContext context) {
  auto host = std::make_unique<GrpcHost>(std::move(context));
  if (!host->started()) {
    return absl::InternalError("gRPC server did not start");
  }
  return host;
}

}  // namespace kiln::daemon
