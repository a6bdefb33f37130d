// SPDX-License-Identifier: Apache-2.0
#include "client/rpc.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/assembler.h"
#include "client/socket_probe.h"
#include "kiln/v1/kiln.grpc.pb.h"
#include "proto/grpc_lifetime.h"
#include "proto/limits.h"
#include "proto/socket_path.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "proto/wire.h"

namespace kiln::client {
namespace {

// A program is a few 100 KB; the slowest disk still takes this much a second.
constexpr size_t kUploadBytesPerMs = 4096;
constexpr std::chrono::milliseconds kUploadAtLeast{5000};

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(
      static_cast<int>(limits::kMaxMessageBytes));
  // One channel, one socket: gRPC would share it between equal channels, and a
  // new client would inherit the back-off of a broken one.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A daemon that starts after us is found quickly (KNOWN_FAULTS 21). No
  // keepalive: servers throw out clients that ping too often (45).
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // Also the longest that one attempt to connect may take. Long, so that a
  // frozen daemon shows as the call's own deadline and a busy one has time.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 60000);
  KeepGrpcRunning();
  return grpc::CreateCustomChannel(
      "unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

// Made printable it would be another root's.
absl::Status CheckRootName(std::string_view name) {
  return ToValidUtf8(name) == name
             ? absl::OkStatus()
             : absl::InvalidArgumentError(fmt::format(
                   "root name {} is not printable UTF-8", QuoteName(name)));
}

absl::StatusOr<Session> SessionFromWire(
    const v1::OpenSessionResponse& response) {
  Session session;
  session.id = response.session_id();
  session.target_spec = response.target().spec();
  session.identity.device_name = response.target().device_name();
  for (const v1::IdentityField& field : response.target().fields()) {
    session.identity.fields.push_back({field.name(), field.value()});
  }
  std::ranges::sort(session.identity.fields);
  session.target = session.identity.Id();
  if (session.target.raw() != response.target().digest()) {
    return absl::DataLossError(
        fmt::format("target {}: its digest is not that of its fields",
                    Shorten(session.target_spec, 100)));
  }
  return session;
}

}  // namespace

struct RpcClient::Impl {
  RpcOptions options;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Kiln::Stub> stub;

  absl::Mutex mutex;
  bool cancelled ABSL_GUARDED_BY(mutex) = false;
  std::set<grpc::ClientContext*> active ABSL_GUARDED_BY(mutex);

  // A call in flight: has a deadline and can be cancelled from outside.
  class Call {
   public:
    Call(Impl& impl, std::chrono::milliseconds timeout) : impl_(impl) {
      context_.set_deadline(std::chrono::system_clock::now() + timeout);
      trusted_ = CheckSocketOwner(impl_.options.socket);
      absl::MutexLock lock(&impl_.mutex);
      impl_.active.insert(&context_);
      if (impl_.cancelled || !trusted_.ok()) {
        context_.TryCancel();
      }
    }

    ~Call() {
      absl::MutexLock lock(&impl_.mutex);
      impl_.active.erase(&context_);
    }

    Call(const Call&) = delete;  // registered by address
    Call& operator=(const Call&) = delete;

    grpc::ClientContext* context() { return &context_; }

    absl::Status Result(const grpc::Status& status) const {
      if (!trusted_.ok()) {
        return trusted_;  // the call was cancelled before it said anything
      }
      return ExplainTransport(wire::FromGrpc(status), impl_.options.socket);
    }

   private:
    Impl& impl_;
    absl::Status trusted_;
    grpc::ClientContext context_;
  };

  // `method` of the stub with the usual deadline, or another.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Ask(
      grpc::Status (v1::Kiln::Stub::*method)(grpc::ClientContext*,
                                             const Request&, Response*),
      const Request& request, std::chrono::milliseconds timeout) {
    Response response;
    Call call(*this, timeout);
    KILN_RETURN_IF_ERROR(
        call.Result((stub.get()->*method)(call.context(), request, &response)));
    return response;
  }
};

RpcClient::RpcClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RpcClient::~RpcClient() = default;

absl::StatusOr<std::unique_ptr<RpcClient>> RpcClient::Create(
    RpcOptions options) {
  KILN_RETURN_IF_ERROR(CheckSocketPath(options.socket));
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  impl->channel = MakeChannel(impl->options.socket);
  impl->stub = v1::Kiln::NewStub(impl->channel);
  return std::unique_ptr<RpcClient>(new RpcClient(std::move(impl)));
}

absl::StatusOr<DaemonInfo> RpcClient::Handshake() {
  v1::HandshakeRequest request;
  request.set_oldest_version(limits::kOldestProtocolVersion);
  request.set_newest_version(limits::kProtocolVersion);
  request.set_client_name(
      Shorten(impl_->options.client_name, limits::kNameBytes));
  v1::HandshakeResponse response;
  Impl::Call call(*impl_, impl_->options.timeout);
  KILN_RETURN_IF_ERROR(
      call.Result(impl_->stub->Handshake(call.context(), request, &response)));
  if (response.version() < limits::kOldestProtocolVersion ||
      response.version() > limits::kProtocolVersion) {
    return absl::FailedPreconditionError(fmt::format(
        "kilnd {} at '{}' speaks protocol version {}, this client {} to {}",
        response.daemon_version(), impl_->options.socket, response.version(),
        limits::kOldestProtocolVersion, limits::kProtocolVersion));
  }
  return DaemonInfo{response.version(), response.daemon_version(),
                    response.pid()};
}

absl::StatusOr<Session> RpcClient::OpenSession(std::string_view target) {
  v1::OpenSessionRequest request;
  request.set_target(ToValidUtf8(target));
  request.set_client_name(
      Shorten(impl_->options.client_name, limits::kNameBytes));
  v1::OpenSessionResponse response;
  Impl::Call call(*impl_, impl_->options.slow_timeout);
  KILN_RETURN_IF_ERROR(call.Result(
      impl_->stub->OpenSession(call.context(), request, &response)));
  return SessionFromWire(response);
}

absl::StatusOr<Digest> RpcClient::RegisterProgram(const Program& program) {
  const Bytes bytes = EncodeProgram(program);
  const Digest id = Digest::Of(bytes);
  v1::RegisterProgramResponse response;
  Impl::Call call(
      *impl_, std::max(impl_->options.timeout, kUploadAtLeast) +
                  std::chrono::milliseconds(bytes.size() / kUploadBytesPerMs));
  auto writer = impl_->stub->RegisterProgram(call.context(), &response);
  v1::RegisterProgramRequest message;
  message.mutable_header()->set_program_id(std::string(id.raw()));
  message.mutable_header()->set_total_bytes(bytes.size());
  // A daemon that knows the program may answer before all chunks are written:
  // Write then says false, and Finish has the answer.
  bool open = writer->Write(message);
  std::string_view rest = AsText(bytes);
  while (open && !rest.empty()) {
    message.set_chunk(std::string(rest.substr(0, limits::kChunkBytes)));
    rest.remove_prefix(message.chunk().size());
    open = writer->Write(message);
  }
  writer->WritesDone();
  KILN_RETURN_IF_ERROR(call.Result(writer->Finish()));
  if (response.program_id() != id.raw()) {
    return absl::DataLossError(
        fmt::format("program {}: kilnd stored it under another id than {}",
                    program.name, id.ShortHex()));
  }
  return id;
}

absl::StatusOr<v1::GetStatusResponse> RpcClient::GetStatus() {
  v1::GetStatusResponse response;
  Impl::Call call(*impl_, impl_->options.timeout);
  KILN_RETURN_IF_ERROR(
      call.Result(impl_->stub->GetStatus(call.context(), {}, &response)));
  return response;
}

absl::StatusOr<v1::ListVariantsResponse> RpcClient::ListVariants(
    std::string_view page_token) {
  v1::ListVariantsRequest request;
  request.set_page_token(std::string(page_token));
  v1::ListVariantsResponse response;
  Impl::Call call(*impl_, impl_->options.timeout);
  KILN_RETURN_IF_ERROR(call.Result(
      impl_->stub->ListVariants(call.context(), request, &response)));
  return response;
}

absl::StatusOr<v1::ListFailuresResponse> RpcClient::ListFailures(
    std::string_view page_token) {
  v1::ListFailuresRequest request;
  request.set_page_token(std::string(page_token));
  v1::ListFailuresResponse response;
  Impl::Call call(*impl_, impl_->options.timeout);
  KILN_RETURN_IF_ERROR(call.Result(
      impl_->stub->ListFailures(call.context(), request, &response)));
  return response;
}

absl::StatusOr<uint32_t> RpcClient::LiftFailures(std::string_view key_prefix) {
  v1::LiftFailuresRequest request;
  request.set_key_id(std::string(key_prefix));
  request.set_all(key_prefix.empty());
  v1::LiftFailuresResponse response;
  Impl::Call call(*impl_, impl_->options.timeout);
  KILN_RETURN_IF_ERROR(call.Result(
      impl_->stub->LiftFailures(call.context(), request, &response)));
  return response.lifted();
}

absl::Status RpcClient::PutTuning(const Digest& target, const Digest& program,
                                  const Tuning& tuning) {
  v1::PutTuningRequest request;
  request.set_target(std::string(target.raw()));
  request.set_program_id(std::string(program.raw()));
  wire::TuningToWire(tuning, request.mutable_tuning());
  v1::PutTuningResponse response;
  Impl::Call call(*impl_, impl_->options.timeout);
  return call.Result(
      impl_->stub->PutTuning(call.context(), request, &response));
}

absl::StatusOr<Tuning> RpcClient::GetTuning(const Digest& target,
                                            const Digest& program) {
  v1::GetTuningRequest request;
  request.set_target(std::string(target.raw()));
  request.set_program_id(std::string(program.raw()));
  v1::GetTuningResponse response;
  Impl::Call call(*impl_, impl_->options.timeout);
  KILN_RETURN_IF_ERROR(
      call.Result(impl_->stub->GetTuning(call.context(), request, &response)));
  return wire::TuningFromWire(response.tuning());
}

absl::StatusOr<v1::ExplainResponse> RpcClient::Explain(
    const v1::ExplainRequest& request) {
  v1::ExplainResponse response;
  Impl::Call call(*impl_, impl_->options.slow_timeout);
  KILN_RETURN_IF_ERROR(
      call.Result(impl_->stub->Explain(call.context(), request, &response)));
  return response;
}

absl::StatusOr<Delivery> RpcClient::GetArtifact(std::string_view key,
                                                const Digest& target) {
  v1::GetArtifactRequest request;
  request.set_key_id(std::string(key));
  if (!target.is_none()) {
    request.set_target(std::string(target.raw()));
  }
  Impl::Call call(*impl_, impl_->options.slow_timeout);
  auto reader = impl_->stub->GetArtifact(call.context(), request);
  ArtifactAssembler assembler{std::string(key)};
  v1::GetArtifactResponse message;
  while (reader->Read(&message)) {
    if (absl::Status status = assembler.Add(message); !status.ok()) {
      call.context()->TryCancel();
      reader->Finish().IgnoreError();
      return status;
    }
  }
  KILN_RETURN_IF_ERROR(call.Result(reader->Finish()));
  return assembler.Finish();
}

absl::StatusOr<std::vector<uint32_t>> RpcClient::GetModule(
    const Digest& digest) {
  v1::GetModuleRequest request;
  request.set_digest(std::string(digest.raw()));
  Impl::Call call(*impl_, impl_->options.slow_timeout);
  auto reader = impl_->stub->GetModule(call.context(), request);
  std::string bytes;
  v1::GetModuleResponse message;
  while (reader->Read(&message)) {
    if (bytes.size() + message.chunk().size() > limits::kModuleBytes) {
      call.context()->TryCancel();
      reader->Finish().IgnoreError();
      return absl::DataLossError(fmt::format(
          "module {}: over {} bytes", digest.ShortHex(), limits::kModuleBytes));
    }
    bytes += message.chunk();
  }
  KILN_RETURN_IF_ERROR(call.Result(reader->Finish()));
  if (Digest::Of(AsBytes(bytes)) != digest ||
      bytes.size() % sizeof(uint32_t) != 0) {
    return absl::DataLossError(
        fmt::format("module {}: checksum mismatch", digest.ShortHex()));
  }
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

absl::StatusOr<v1::ListRootsResponse> RpcClient::ListRoots(bool with_files) {
  v1::ListRootsRequest request;
  request.set_with_files(with_files);
  return impl_->Ask(&v1::Kiln::Stub::ListRoots, request,
                    impl_->options.slow_timeout);
}

absl::StatusOr<bool> RpcClient::AddRoot(std::string_view name,
                                        std::string_view folder,
                                        std::string_view before) {
  // Made valid it would name another folder.
  if (!IsValidUtf8(folder)) {
    return absl::InvalidArgumentError(
        fmt::format("folder '{}' is not valid UTF-8", ToValidUtf8(folder)));
  }
  KILN_RETURN_IF_ERROR(CheckRootName(name));
  KILN_RETURN_IF_ERROR(CheckRootName(before));
  v1::AddRootRequest request;
  request.set_name(std::string(name));
  request.set_folder(std::string(folder));
  request.set_before(std::string(before));
  KILN_ASSIGN_OR_RETURN(
      const v1::AddRootResponse response,
      impl_->Ask(&v1::Kiln::Stub::AddRoot, request, impl_->options.timeout));
  return response.already_known();
}

absl::Status RpcClient::RemoveRoot(std::string_view name) {
  KILN_RETURN_IF_ERROR(CheckRootName(name));
  v1::RemoveRootRequest request;
  request.set_name(std::string(name));
  return impl_
      ->Ask(&v1::Kiln::Stub::RemoveRoot, request, impl_->options.timeout)
      .status();
}

absl::Status RpcClient::MarkRoots(std::span<const std::string> names,
                                  bool precompiled) {
  v1::MarkRootsRequest request;
  for (const std::string& name : names) {
    KILN_RETURN_IF_ERROR(CheckRootName(name));
    request.add_names(name);
  }
  request.set_precompiled(precompiled);
  return impl_->Ask(&v1::Kiln::Stub::MarkRoots, request, impl_->options.timeout)
      .status();
}

absl::StatusOr<v1::RegisterSurfaceResponse> RpcClient::RegisterSurface(
    const Digest& program, std::string_view name, std::string_view source,
    std::string_view target) {
  v1::RegisterSurfaceRequest request;
  request.set_program_id(std::string(program.raw()));
  request.set_name(ToValidUtf8(name));
  request.set_source(std::string(source));
  request.set_target(ToValidUtf8(target));
  return impl_->Ask(&v1::Kiln::Stub::RegisterSurface, request,
                    impl_->options.compile_timeout);
}

absl::StatusOr<Digest> RpcClient::RemoveSurface(const Digest& program,
                                                uint32_t index) {
  v1::RemoveSurfaceRequest request;
  request.set_program_id(std::string(program.raw()));
  request.set_index(index);
  KILN_ASSIGN_OR_RETURN(const v1::RemoveSurfaceResponse response,
                        impl_->Ask(&v1::Kiln::Stub::RemoveSurface, request,
                                   impl_->options.timeout));
  return wire::DigestFromWire("set_hash", response.set_hash());
}

absl::StatusOr<v1::ListSurfacesResponse> RpcClient::ListSurfaces(
    const Digest& program) {
  v1::ListSurfacesRequest request;
  request.set_program_id(std::string(program.raw()));
  return impl_->Ask(&v1::Kiln::Stub::ListSurfaces, request,
                    impl_->options.timeout);
}

void RpcClient::CancelAll() {
  absl::MutexLock lock(&impl_->mutex);
  impl_->cancelled = true;
  for (grpc::ClientContext* context : impl_->active) {
    context->TryCancel();
  }
}

const RpcOptions& RpcClient::options() const {
  return impl_->options;
}

const std::shared_ptr<grpc::Channel>& RpcClient::channel() const {
  return impl_->channel;
}

absl::Status ExplainTransport(const absl::Status& status,
                              std::string_view socket) {
  const std::string_view text(status.message().data(), status.message().size());
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      if (absl::Status probe = ProbeSocket(socket); !probe.ok()) {
        return probe;
      }
      break;
    case absl::StatusCode::kDeadlineExceeded:
      return absl::DeadlineExceededError(
          fmt::format("kilnd at '{}' does not answer; it is frozen or "
                      "overloaded",
                      ToValidUtf8(socket)));
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kUnimplemented:
      break;
    default:
      return status;  // the daemon's own words, which name the thing
  }
  return absl::Status(status.code(), fmt::format("kilnd at '{}': {}",
                                                 ToValidUtf8(socket), text));
}

}  // namespace kiln::client
