// SPDX-License-Identifier: Apache-2.0
#include "tests/support/stream_client.h"

#include <chrono>

#include <grpcpp/create_channel.h>

#include "proto/status_macros.h"
#include "proto/wire.h"
#include "tests/support/eventually.h"

namespace kiln::testing {
namespace {

std::unique_ptr<grpc::ClientContext> MakeContext() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + 2 * kLongEnough);
  return context;
}

}  // namespace

StreamClient::StreamClient(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  stub_ = v1::Kiln::NewStub(grpc::CreateCustomChannel(
      "unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
}

StreamClient::~StreamClient() {
  if (stream_ != nullptr) {
    context_->TryCancel();
    (void)Finish();
  }
}

absl::StatusOr<v1::OpenSessionResponse> StreamClient::OpenSession(
    const std::string& target) {
  v1::OpenSessionRequest request;
  request.set_target(target);
  request.set_client_name("test");
  v1::OpenSessionResponse response;
  const auto context = MakeContext();
  KILN_RETURN_IF_ERROR(
      wire::FromGrpc(stub_->OpenSession(context.get(), request, &response)));
  return response;
}

absl::Status StreamClient::Attach(const std::string& target) {
  KILN_ASSIGN_OR_RETURN(const v1::OpenSessionResponse session,
                        OpenSession(target));
  OpenStream();
  v1::ClientMessage message;
  message.mutable_attach()->set_session_id(session.session_id());
  return Send(message) ? absl::OkStatus() : Finish();
}

void StreamClient::OpenStream() {
  context_ = MakeContext();
  stream_ = stub_->Stream(context_.get());
}

bool StreamClient::Send(const v1::ClientMessage& message) {
  return stream_->Write(message);
}

bool StreamClient::Ask(const std::vector<v1::VariantRequest>& requests) {
  v1::ClientMessage message;
  for (size_t i = 0; i < requests.size(); ++i) {
    v1::VariantRequest* request = message.mutable_batch()->add_requests();
    *request = requests[i];
    request->set_request_id(i);
  }
  return Send(message);
}

absl::StatusOr<v1::ServerMessage> StreamClient::Next() {
  v1::ServerMessage message;
  if (!stream_->Read(&message)) {
    const absl::Status status = Finish();
    return status.ok() ? absl::OutOfRangeError("the stream ended") : status;
  }
  return message;
}

absl::StatusOr<v1::Completion> StreamClient::AskOne(
    const v1::VariantRequest& request) {
  if (!Ask({request})) {
    return Finish();
  }
  KILN_ASSIGN_OR_RETURN(const v1::ServerMessage message, Next());
  return message.completion();
}

void StreamClient::Cancel() {
  context_->TryCancel();
}

absl::Status StreamClient::Finish() {
  return wire::FromGrpc(std::exchange(stream_, nullptr)->Finish());
}

v1::VariantRequest MakeRequest(const Digest& program, const std::string& kind,
                               uint32_t features) {
  v1::VariantRequest request;
  request.set_program_id(std::string(program.raw()));
  request.set_kind(kind);
  request.set_features(features);
  return request;
}

}  // namespace kiln::testing
