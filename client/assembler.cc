// SPDX-License-Identifier: Apache-2.0
#include "client/assembler.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "kiln/v1/kiln.pb.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::client {
namespace {

// An artifact is its blob and a little text and statistics.
constexpr size_t kArtifactBytes = limits::kBlobBytes + (4u << 20);
constexpr int kMaxModules = 8;

}  // namespace

ByteView ArtifactAssembler::Part::view() const {
  return AsBytes(std::span(words)).first(bytes);
}

ArtifactAssembler::ArtifactAssembler(std::string key) : key_(std::move(key)) {}

absl::Status ArtifactAssembler::Bad(std::string_view why) const {
  return absl::DataLossError(
      fmt::format("artifact {}: {}", key_.substr(0, 12), why));
}

absl::Status ArtifactAssembler::Add(const v1::GetArtifactResponse& message) {
  if (message.has_header()) {
    return AddHeader(message.header());
  }
  if (message.part_case() == v1::GetArtifactResponse::kChunk) {
    return AddChunk(message.chunk());
  }
  return Bad("message without header or chunk");
}

absl::Status ArtifactAssembler::AddHeader(
    const v1::GetArtifactResponse_Header& header) {
  if (!parts_.empty()) {
    return Bad("second header");
  }
  if (header.modules_size() > kMaxModules) {
    return Bad(fmt::format("{} modules, over the limit of {}",
                           header.modules_size(), kMaxModules));
  }
  label_ = ToValidUtf8(header.variant().label());
  target_ = header.variant().target();
  KILN_RETURN_IF_ERROR(AddPart("artifact", header.artifact_digest(),
                               header.artifact_bytes(), kArtifactBytes));
  for (const v1::GetArtifactResponse::Module& module : header.modules()) {
    absl::StatusOr<Stage> stage = StageFromName(module.stage());
    if (!stage.ok() || module.bytes() % sizeof(uint32_t) != 0) {
      return Bad(fmt::format("module '{}' of {} bytes is not SPIR-V of a stage",
                             Shorten(module.stage(), 100), module.bytes()));
    }
    KILN_RETURN_IF_ERROR(AddPart(fmt::format("module {}", module.stage()),
                                 module.digest(), module.bytes(),
                                 limits::kModuleBytes));
    parts_.back().stage = *stage;
    if (!module.interface().empty()) {
      auto interface = DecodeInterface(AsBytes(module.interface()));
      if (!interface.ok()) {
        return Bad(fmt::format("module {}: {}", module.stage(),
                               std::string(interface.status().message())));
      }
      parts_.back().interface =
          std::make_shared<const ModuleInterface>(*std::move(interface));
    }
  }
  return absl::OkStatus();
}

absl::Status ArtifactAssembler::AddPart(std::string name,
                                        std::string_view digest, uint64_t bytes,
                                        size_t limit) {
  if (bytes == 0 || bytes > limit) {
    return Bad(fmt::format("{} has {} bytes, not 1 to {}", name, bytes, limit));
  }
  absl::StatusOr<Digest> wanted = Digest::FromRaw(digest);
  if (!wanted.ok()) {
    return Bad(fmt::format("{} comes without a digest", name));
  }
  Part& part = parts_.emplace_back();
  part.name = std::move(name);
  part.digest = *wanted;
  part.bytes = bytes;
  part.words.resize((bytes + sizeof(uint32_t) - 1) / sizeof(uint32_t));
  return absl::OkStatus();
}

absl::Status ArtifactAssembler::AddChunk(std::string_view chunk) {
  if (parts_.empty()) {
    return Bad("chunk before the header");
  }
  if (chunk.size() > limits::kChunkBytes) {
    return Bad(fmt::format("chunk of {} bytes, over the limit of {}",
                           chunk.size(), limits::kChunkBytes));
  }
  while (!chunk.empty()) {
    if (current_ == parts_.size()) {
      return Bad(fmt::format("{} bytes too many", chunk.size()));
    }
    Part& part = parts_[current_];
    const size_t count = std::min(chunk.size(), part.bytes - part.filled);
    std::memcpy(reinterpret_cast<std::byte*>(part.words.data()) + part.filled,
                chunk.data(), count);
    part.filled += count;
    chunk.remove_prefix(count);
    current_ += part.filled == part.bytes ? 1 : 0;
  }
  return absl::OkStatus();
}

absl::Status ArtifactAssembler::CheckParts() const {
  if (parts_.empty()) {
    return Bad("no header");
  }
  for (const Part& part : parts_) {
    if (part.filled != part.bytes) {
      return Bad(fmt::format("{} ends after {} of {} bytes", part.name,
                             part.filled, part.bytes));
    }
    if (Digest::Of(part.view()) != part.digest) {
      return Bad(fmt::format("checksum mismatch in {}", part.name));
    }
  }
  return absl::OkStatus();
}

absl::Status ArtifactAssembler::CheckArtifact(const Artifact& artifact) const {
  const std::string id = KeyId(artifact.key).Hex();
  if (id.compare(0, key_.size(), key_) != 0) {
    return Bad(fmt::format("delivered for another key, {}", id.substr(0, 12)));
  }
  if (artifact.target.raw() != target_) {
    return Bad("header and artifact name different targets");
  }
  auto same = [](const StageModule& wanted, const Part& part) {
    return wanted.stage == part.stage && wanted.module == part.digest;
  };
  if (!std::equal(artifact.modules.begin(), artifact.modules.end(),
                  parts_.begin() + 1, parts_.end(), same)) {
    return Bad("the modules delivered are not those the artifact names");
  }
  return absl::OkStatus();
}

absl::StatusOr<Delivery> ArtifactAssembler::Finish() {
  KILN_RETURN_IF_ERROR(CheckParts());
  absl::StatusOr<Artifact> artifact = DecodeArtifact(parts_.front().view());
  if (!artifact.ok()) {
    return Bad(std::string(artifact.status().message()));
  }
  KILN_RETURN_IF_ERROR(CheckArtifact(*artifact));
  Delivery delivery;
  delivery.label = std::move(label_);
  delivery.artifact = *std::move(artifact);
  for (size_t i = 1; i < parts_.size(); ++i) {
    delivery.modules.push_back({parts_[i].stage, parts_[i].digest,
                                std::make_shared<const std::vector<uint32_t>>(
                                    std::move(parts_[i].words)),
                                std::move(parts_[i].interface)});
  }
  return delivery;
}

}  // namespace kiln::client
