// SPDX-License-Identifier: Apache-2.0
#include "daemon/module_call.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/wire.h"
#include "storage/variant_store.h"

namespace kiln::daemon {
namespace {

// gRPC serialises the callbacks of one reactor, so there is no lock.
class ModuleCall final
    : public grpc::ServerWriteReactor<v1::GetModuleResponse> {
 public:
  ModuleCall(ServiceContext& context, const v1::GetModuleRequest& request) {
    if (absl::Status status = Read(context, request); !status.ok()) {
      Finish(wire::ToGrpc(status));
      return;
    }
    outgoing_.set_total_bytes(spirv_.size());
    WriteNext();
  }

  void OnWriteDone(bool ok) override {
    if (!ok || offset_ == spirv_.size()) {
      Finish(ok ? grpc::Status::OK
                : grpc::Status(grpc::StatusCode::CANCELLED, "client is gone"));
      return;
    }
    outgoing_.clear_total_bytes();
    WriteNext();
  }

  void OnDone() override { delete this; }

 private:
  absl::Status Read(ServiceContext& context,
                    const v1::GetModuleRequest& request) {
    KILN_ASSIGN_OR_RETURN(const Digest id,
                          wire::DigestFromWire("digest", request.digest()));
    KILN_ASSIGN_OR_RETURN(std::optional<Bytes> spirv,
                          context.store.GetModule(id));
    if (!spirv.has_value()) {
      return absl::NotFoundError(
          fmt::format("module {} is not stored", id.Hex()));
    }
    spirv_ = *std::move(spirv);
    return absl::OkStatus();
  }

  void WriteNext() {
    const size_t size = std::min(limits::kChunkBytes, spirv_.size() - offset_);
    outgoing_.set_chunk(
        std::string(AsText(ByteView(spirv_).subspan(offset_, size))));
    offset_ += size;
    StartWrite(&outgoing_);
  }

  Bytes spirv_;
  size_t offset_ = 0;
  v1::GetModuleResponse outgoing_;
};

}  // namespace

grpc::ServerWriteReactor<v1::GetModuleResponse>* StartModuleCall(
    ServiceContext& context, const v1::GetModuleRequest& request) {
  return new ModuleCall(context, request);
}

}  // namespace kiln::daemon
