// SPDX-License-Identifier: Apache-2.0
#include "client/client.h"

#include <thread>
#include <utility>

#include <fmt/format.h>

#include "client/exchange.h"
#include "client/session_loop.h"
#include "proto/limits.h"
#include "proto/socket_path.h"
#include "proto/status_macros.h"

namespace kiln::client {

std::string_view ConnectionStateText(ConnectionState state) {
  switch (state) {
    case ConnectionState::kConnecting:
      return "connecting";
    case ConnectionState::kReady:
      return "ready";
    case ConnectionState::kStalled:
      return "stalled";
    case ConnectionState::kRefused:
      return "refused";
  }
  return "unknown";
}

class Client::Impl {
 public:
  explicit Impl(ClientOptions options)
      : loop_(std::move(options), exchange_),
        thread_([this] { loop_.Run(); }) {}

  ~Impl() {
    loop_.Stop();
    thread_.join();
  }

  Impl(const Impl&) = delete;  // owns a thread
  Impl& operator=(const Impl&) = delete;

  Exchange& exchange() { return exchange_; }

  const Exchange& exchange() const { return exchange_; }

 private:
  Exchange exchange_;
  SessionLoop loop_;
  std::thread thread_;
};

std::unique_ptr<Client> Client::Connect(ClientOptions options) {
  if (options.socket.empty()) {
    options.socket = DefaultSocketPath();
  }
  return std::unique_ptr<Client>(
      new Client(std::make_unique<Impl>(std::move(options))));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Client::~Client() = default;

absl::StatusOr<Digest> Client::Register(Program program) {
  KILN_RETURN_IF_ERROR(program.Validate());
  const Bytes bytes = EncodeProgram(program);
  if (bytes.size() > limits::kProgramBytes) {
    return absl::InvalidArgumentError(
        fmt::format("program {} has {} bytes, over the limit of {}",
                    program.name, bytes.size(), limits::kProgramBytes));
  }
  const Digest id = Digest::Of(bytes);
  impl_->exchange().AddProgram(std::make_shared<const KnownProgram>(
      KnownProgram{id, std::move(program)}));
  return id;
}

absl::StatusOr<Digest> Client::Request(const VariantKey& key) {
  const auto program = impl_->exchange().FindProgram(key.program);
  if (program == nullptr) {
    return absl::NotFoundError(
        fmt::format("program {} is not registered with this client",
                    key.program.ShortHex()));
  }
  KILN_ASSIGN_OR_RETURN(VariantKey normal, NormaliseKey(program->program, key));
  const Digest id = KeyId(normal);
  if (!impl_->exchange().KnowsKey(id)) {
    impl_->exchange().AddKey(program, std::move(normal), id);
  }
  return id;
}

bool Client::Poll(std::vector<Event>* events) {
  return impl_->exchange().Poll(events);
}

std::shared_ptr<const ReadyVariant> Client::Resolve(
    const Digest& key_id) const {
  return std::as_const(*impl_).exchange().Resolve(key_id);
}

VariantStatus Client::StateOf(const Digest& key_id) const {
  return std::as_const(*impl_).exchange().StateOf(key_id);
}

void Client::ReportFeedback(const Digest& key_id, HitFeedback feedback,
                            std::chrono::microseconds create_time) {
  impl_->exchange().AddFeedback({key_id, feedback, create_time});
}

Connection Client::connection() const {
  return std::as_const(*impl_).exchange().connection();
}

void Client::set_specialization_enabled(bool enabled) {
  impl_->exchange().set_enabled(enabled);
}

bool Client::specialization_enabled() const {
  return std::as_const(*impl_).exchange().enabled();
}

}  // namespace kiln::client
