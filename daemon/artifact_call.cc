// SPDX-License-Identifier: Apache-2.0
#include "daemon/artifact_call.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "daemon/key_prefix.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "proto/wire.h"
#include "storage/variant_store.h"

namespace kiln::daemon {
namespace {

// The one stored artifact that a request means.
absl::StatusOr<Artifact> FindOne(storage::VariantStore& store,
                                 const v1::GetArtifactRequest& request) {
  KILN_ASSIGN_OR_RETURN(const std::string prefix,
                        ReadKeyPrefix(request.key_id()));
  std::vector<Artifact> found;
  if (const auto key_id = Digest::FromHex(prefix);
      key_id.ok() && !request.target().empty()) {
    // What clients send: one read, no search.
    KILN_ASSIGN_OR_RETURN(const Digest target,
                          Digest::FromRaw(request.target()));
    KILN_ASSIGN_OR_RETURN(auto artifact,
                          store.GetArtifactById(target, *key_id));
    if (artifact) {
      return *std::move(artifact);
    }
  } else {
    KILN_ASSIGN_OR_RETURN(found, store.FindArtifacts(prefix, kMaxKeyMatches));
  }
  if (!request.target().empty()) {
    KILN_ASSIGN_OR_RETURN(const Digest target,
                          Digest::FromRaw(request.target()));
    std::erase_if(found, [&](const Artifact& artifact) {
      return artifact.target != target;
    });
  }
  if (found.empty()) {
    return absl::NotFoundError(
        fmt::format("no stored variant has key '{}'", Shorten(prefix, 100)));
  }
  if (found.size() > 1) {
    std::string names;
    for (const Artifact& artifact : found) {
      names += fmt::format(" {}@{}", KeyId(artifact.key).ShortHex(),
                           artifact.target.ShortHex());
    }
    return absl::InvalidArgumentError(
        fmt::format("key_id '{}' fits several variants (key@target):{}; give "
                    "more digits or a target",
                    Shorten(prefix, 100), names));
  }
  return std::move(found.front());
}

// gRPC serialises the callbacks of one reactor, so there is no lock.
class ArtifactCall final
    : public grpc::ServerWriteReactor<v1::GetArtifactResponse> {
 public:
  ArtifactCall(ServiceContext& context, const v1::GetArtifactRequest& request) {
    if (absl::Status status = Prepare(context, request); !status.ok()) {
      Finish(wire::ToGrpc(status));
      return;
    }
    StartWrite(&outgoing_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok || part_ == parts_.size()) {
      Finish(ok ? grpc::Status::OK
                : grpc::Status(grpc::StatusCode::CANCELLED, "client is gone"));
      return;
    }
    const ByteView part = parts_[part_];
    const size_t size = std::min(limits::kChunkBytes, part.size() - offset_);
    outgoing_.set_chunk(std::string(AsText(part.subspan(offset_, size))));
    offset_ += size;
    if (offset_ == part.size()) {
      ++part_;
      offset_ = 0;
    }
    StartWrite(&outgoing_);
  }

  void OnDone() override { delete this; }

 private:
  absl::Status Prepare(ServiceContext& context,
                       const v1::GetArtifactRequest& request) {
    KILN_ASSIGN_OR_RETURN(const Artifact artifact,
                          FindOne(context.store, request));
    v1::GetArtifactResponse::Header* header = outgoing_.mutable_header();
    parts_.push_back(EncodeArtifact(artifact));
    header->set_artifact_bytes(parts_.back().size());
    header->set_artifact_digest(std::string(Digest::Of(parts_.back()).raw()));
    for (const StageModule& module : artifact.modules) {
      KILN_ASSIGN_OR_RETURN(std::optional<Bytes> spirv,
                            context.store.GetModule(module.module));
      if (!spirv) {
        // Of no use without: gone, so that whoever asks again gets it compiled.
        KILN_RETURN_IF_ERROR(
            context.store.RemoveArtifact(artifact.target, KeyId(artifact.key)));
        return absl::NotFoundError(fmt::format(
            "module {} of variant {} was damaged; ask for the variant again",
            module.module.ShortHex(), KeyId(artifact.key).ShortHex()));
      }
      v1::GetArtifactResponse::Module* out = header->add_modules();
      out->set_stage(std::string(StageName(module.stage)));
      out->set_digest(std::string(module.module.raw()));
      out->set_bytes(spirv->size());
      if (auto interface = context.store.GetInterface(module.module);
          interface.ok() && interface->has_value()) {
        out->set_interface(std::string(AsText(**interface)));
      }
      parts_.push_back(*std::move(spirv));
    }
    auto program = context.registry.Find(artifact.key.program);
    wire::VariantToWire(
        artifact,
        program.ok() ? KeyLabel((*program)->program(), artifact.key) : "",
        artifact.blob.size(), header->mutable_variant());
    return absl::OkStatus();
  }

  std::vector<Bytes> parts_;  // the artifact, then its modules; none is empty
  size_t part_ = 0;
  size_t offset_ = 0;
  v1::GetArtifactResponse outgoing_;
};

}  // namespace

grpc::ServerWriteReactor<v1::GetArtifactResponse>* StartArtifactCall(
    ServiceContext& context, const v1::GetArtifactRequest& request) {
  return new ArtifactCall(context, request);
}

}  // namespace kiln::daemon
