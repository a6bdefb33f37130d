// SPDX-License-Identifier: Apache-2.0
#include "client/surface_caller.h"

#include <algorithm>
#include <string_view>

#include <grpcpp/grpcpp.h>

#include "client/call_end.h"
#include "kiln/v1/kiln.grpc.pb.h"
#include "proto/text.h"
#include "proto/wire.h"

namespace kiln::client {
namespace {

constexpr std::chrono::milliseconds kLostPause{1000};
// Each attempt costs the daemon a compile.
constexpr std::chrono::milliseconds kJudgePause{3000};

SurfaceAnswer ToAnswer(const absl::Status& status,
                       const v1::RegisterSurfaceResponse& response) {
  SurfaceAnswer answer;
  if (!status.ok()) {
    answer.message =
        ToValidUtf8({status.message().data(), status.message().size()});
    return answer;
  }
  answer.accepted = response.accepted();
  answer.index = response.index();
  answer.message = response.message();
  answer.diagnostics = CapDiagnostics(response.diagnostics());
  return answer;
}

// What is said of a state that no edit changes, among the preconditions.
bool IsForGood(std::string_view message) {
  return message.starts_with("sealed") ||
         message.find("takes no surface shaders") != std::string_view::npos;
}

// How long until a call is made again that brought no verdict.
SteadyTime RetryAt(const absl::Status& status) {
  const bool lost = absl::IsUnavailable(status) || absl::IsCancelled(status);
  return std::chrono::steady_clock::now() + (lost ? kLostPause : kJudgePause);
}

}  // namespace

void Remember(SurfaceRequest request, std::vector<KnownSurface>& surfaces) {
  auto same = std::ranges::find_if(surfaces, [&](const KnownSurface& known) {
    return known.request.program == request.program &&
           known.request.name == request.name;
  });
  if (same == surfaces.end()) {
    KnownSurface& added = surfaces.emplace_back();
    added.request = std::move(request);
    return;
  }
  same->request = std::move(request);
  same->answer.reset();
  ++same->waiting;
  ++same->version;
}

bool IsVerdict(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kResourceExhausted:  // every index is taken
      return true;
    case absl::StatusCode::kFailedPrecondition:
      return IsForGood({status.message().data(), status.message().size()});
    default:
      return false;
  }
}

struct SurfaceCaller::Shared {
  std::unique_ptr<v1::Kiln::Stub> stub;
  std::string target;
  std::chrono::milliseconds timeout;
  Wakeup* wakeup;
};

// One call. gRPC answers on a thread of its own.
class SurfaceCaller::Call {
 public:
  Call(const Shared& shared, const SurfaceRequest& surface)
      : end_(shared.wakeup) {
    request_.set_program_id(std::string(surface.program.raw()));
    request_.set_name(ToValidUtf8(surface.name));
    request_.set_source(surface.source);
    request_.set_target(shared.target);
    context_.set_deadline(std::chrono::system_clock::now() + shared.timeout);
    shared.stub->async()->RegisterSurface(&context_, &request_, &response_,
                                          [this](const grpc::Status& status) {
                                            end_.Set(wire::FromGrpc(status));
                                          });
  }

  ~Call() {
    context_.TryCancel();
    end_.Await();
  }

  Call(const Call&) = delete;  // gRPC holds its address
  Call& operator=(const Call&) = delete;

  bool done() const { return end_.done(); }

  // Requires: done().
  absl::Status status() const { return end_.status(); }

  const v1::RegisterSurfaceResponse& response() const { return response_; }

 private:
  v1::RegisterSurfaceRequest request_;
  v1::RegisterSurfaceResponse response_;
  grpc::ClientContext context_;
  CallEnd end_;
};

SurfaceCaller::SurfaceCaller(const std::shared_ptr<grpc::Channel>& channel,
                             std::string target,
                             std::chrono::milliseconds timeout, Wakeup* wakeup)
    : shared_(std::make_unique<Shared>(Shared{
          v1::Kiln::NewStub(channel), std::move(target), timeout, wakeup})) {}

SurfaceCaller::~SurfaceCaller() = default;

void SurfaceCaller::StartNext(const std::vector<KnownSurface>& surfaces) {
  const SteadyTime now = std::chrono::steady_clock::now();
  judged_.resize(surfaces.size(), 0);
  for (size_t i = 0; i < surfaces.size(); ++i) {
    if (judged_[i] == surfaces[i].version) {
      continue;
    }
    const SurfaceRequest& request = surfaces[i].request;
    auto paused = paused_.find(request.program);
    if (paused != paused_.end() && now < paused->second) {
      continue;
    }
    if (paused != paused_.end()) {
      paused_.erase(paused);
    }
    call_ = std::make_unique<Call>(*shared_, request);
    called_ = i;
    called_version_ = surfaces[i].version;
    return;
  }
}

std::optional<std::pair<size_t, SurfaceAnswer>> SurfaceCaller::Step(
    const std::vector<KnownSurface>& surfaces) {
  std::optional<std::pair<size_t, SurfaceAnswer>> answered;
  if (call_ != nullptr) {
    if (!call_->done()) {
      return std::nullopt;
    }
    const absl::Status status = call_->status();
    const KnownSurface& surface = surfaces[called_];
    if (!IsVerdict(status)) {
      paused_[surface.request.program] = RetryAt(status);
    } else {
      judged_[called_] = called_version_;
      if (surface.version == called_version_) {  // else replaced meanwhile
        answered.emplace(called_, ToAnswer(status, call_->response()));
      }
    }
    call_.reset();
  }
  StartNext(surfaces);
  return answered;
}

std::optional<SteadyTime> SurfaceCaller::retry_at() const {
  std::optional<SteadyTime> next;
  if (call_ != nullptr) {
    return next;  // its end wakes the thread
  }
  for (const auto& [program, until] : paused_) {
    next = next ? std::min(*next, until) : until;
  }
  return next;
}

}  // namespace kiln::client
