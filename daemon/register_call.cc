// SPDX-License-Identifier: Apache-2.0
#include "daemon/register_call.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/wire.h"

namespace kiln::daemon {
namespace {

// gRPC serialises the callbacks of one reactor, so there is no lock.
class RegisterCall final
    : public grpc::ServerReadReactor<v1::RegisterProgramRequest> {
 public:
  RegisterCall(ServiceContext& context, v1::RegisterProgramResponse* response)
      : context_(context), response_(response) {
    StartRead(&incoming_);
  }

  void OnReadDone(bool ok) override {
    absl::Status status = ok ? Receive() : Complete();
    if (ok && status.ok()) {
      StartRead(&incoming_);
    } else {
      Finish(wire::ToGrpc(status));
    }
  }

  void OnDone() override { delete this; }

 private:
  absl::Status Receive() {
    if (incoming_.has_header()) {
      if (total_ != 0) {
        return absl::InvalidArgumentError("header is sent twice");
      }
      KILN_ASSIGN_OR_RETURN(id_,
                            Digest::FromRaw(incoming_.header().program_id()));
      total_ = incoming_.header().total_bytes();
      if (total_ == 0) {
        return absl::InvalidArgumentError("header.total_bytes is 0");
      }
      if (total_ > limits::kProgramBytes) {
        return absl::InvalidArgumentError(
            fmt::format("header.total_bytes is {}, over the limit of {}",
                        total_, limits::kProgramBytes));
      }
      return absl::OkStatus();
    }
    const std::string& chunk = incoming_.chunk();
    if (total_ == 0) {
      return absl::InvalidArgumentError("the first message must be a header");
    }
    if (chunk.size() > limits::kChunkBytes ||
        bytes_.size() + chunk.size() > total_) {
      return absl::InvalidArgumentError(
          fmt::format("chunk of {} bytes goes past total_bytes ({}) or the "
                      "chunk limit ({})",
                      chunk.size(), total_, limits::kChunkBytes));
    }
    const ByteView view = AsBytes(chunk);
    bytes_.insert(bytes_.end(), view.begin(), view.end());
    return absl::OkStatus();
  }

  absl::Status Complete() {
    if (total_ == 0 || bytes_.size() != total_) {
      return absl::InvalidArgumentError(fmt::format(
          "{} bytes arrived, total_bytes is {}", bytes_.size(), total_));
    }
    KILN_ASSIGN_OR_RETURN(const bool is_new,
                          context_.registry.Register(id_, std::move(bytes_)));
    if (is_new) {
      context_.counters.Add(Counter::kProgramsRegistered);
      spdlog::info("program registered id={} bytes={}", id_.ShortHex(), total_);
    }
    response_->set_program_id(std::string(id_.raw()));
    response_->set_already_known(!is_new);
    return absl::OkStatus();
  }

  ServiceContext& context_;
  v1::RegisterProgramResponse* const response_;
  v1::RegisterProgramRequest incoming_;
  Digest id_;
  uint64_t total_ = 0;
  Bytes bytes_;
};

}  // namespace

grpc::ServerReadReactor<v1::RegisterProgramRequest>* StartRegisterCall(
    ServiceContext& context, v1::RegisterProgramResponse* response) {
  return new RegisterCall(context, response);
}

}  // namespace kiln::daemon
