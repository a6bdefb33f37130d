// SPDX-License-Identifier: Apache-2.0
#include "client/client.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "client/exchange.h"
#include "client/library.h"
#include "client/session_loop.h"
#include "client/shader_program.h"
#include "proto/limits.h"
#include "proto/socket_path.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::client {
namespace {

absl::Status NotRegistered(const Digest& program) {
  return absl::NotFoundError(fmt::format(
      "program {} is not registered with this client", program.ShortHex()));
}

// The shader's name in the library: "fx/lit.frag", "fx/lit.frag:PSMain[A=1,B]".
std::string LibraryName(const Program& program, const ShaderSource& source) {
  const StageSource& stage = program.stages.front();
  std::string name = source.text.has_value() ? program.name : source.path;
  if (stage.entry != "main") {
    name += ":" + stage.entry;
  }
  std::vector<std::string> defines;
  for (const Define& define : program.defines) {
    defines.push_back(define.value.empty() ? define.name
                                           : define.name + "=" + define.value);
  }
  std::ranges::sort(defines);
  if (!defines.empty()) {
    name += fmt::format("[{}]", fmt::join(defines, ","));
  }
  return name;
}

}  // namespace

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
  // Their order means nothing, and equal programs should have one id.
  std::ranges::sort(program.defines, {}, &Define::name);
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

absl::StatusOr<Digest> Client::Request(const VariantKey& key, Urgency urgency) {
  const auto program = impl_->exchange().FindProgram(key.program);
  if (program == nullptr) {
    return NotRegistered(key.program);
  }
  KILN_ASSIGN_OR_RETURN(VariantKey normal, NormaliseKey(program->program, key));
  const Digest id = KeyId(normal);
  if (!impl_->exchange().KnowsKey(id, urgency)) {
    impl_->exchange().AddKey(program, std::move(normal), id, urgency);
  }
  return id;
}

void Client::Withdraw(const Digest& key_id) {
  impl_->exchange().WithdrawKey(key_id);
}

void Client::SetActivity(Activity activity) {
  impl_->exchange().SetActivity(activity);
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

absl::StatusOr<ShaderHandle> Client::Compile(const ShaderSource& source) {
  Program program = ShaderProgram(source);
  const bool living = program.IsLiving();
  std::string name = LibraryName(program, source);
  KILN_ASSIGN_OR_RETURN(const Digest id, Register(std::move(program)));
  return impl_->exchange().AddShader(
      {id, std::move(name), living, source.debug_name});
}

absl::StatusOr<std::vector<ShaderHandle>> Client::Compile(
    std::span<const ShaderSource> sources) {
  std::vector<ShaderHandle> handles;
  for (const ShaderSource& source : sources) {
    KILN_ASSIGN_OR_RETURN(handles.emplace_back(), Compile(source));
  }
  return handles;
}

ShaderStatus Client::StateOf(ShaderHandle shader) const {
  return std::as_const(*impl_).exchange().StateOf(shader);
}

void Client::Release(ShaderHandle shader) {
  impl_->exchange().ReleaseShader(shader);
}

ShaderLibrary& Client::library() {
  return impl_->exchange().library();
}

absl::Status Client::RegisterSurface(const Digest& program,
                                     std::string_view name,
                                     std::string_view source) {
  const auto known = impl_->exchange().FindProgram(program);
  if (known == nullptr) {
    return NotRegistered(program);
  }
  if (known->program.surface.include.empty()) {
    return absl::FailedPreconditionError(
        fmt::format("program {} takes no surface shaders: it has no [surface]",
                    known->program.name));
  }
  if (source.size() > limits::kSurfaceBytes) {
    return absl::InvalidArgumentError(
        fmt::format("surface {} has {} bytes, over the limit of {}",
                    Shorten(name, limits::kNameBytes), source.size(),
                    limits::kSurfaceBytes));
  }
  impl_->exchange().AddSurface(
      {program, std::string(name), std::string(source)});
  return absl::OkStatus();
}

bool Client::HasPending() const {
  return std::as_const(*impl_).exchange().has_pending();
}

bool Client::Flush(std::chrono::milliseconds timeout,
                   std::vector<Event>* events) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + timeout;
  Poll(events);
  while (HasPending() && std::chrono::steady_clock::now() < deadline) {
    impl_->exchange().WaitForNews(deadline);
    Poll(events);
  }
  return !HasPending();
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
