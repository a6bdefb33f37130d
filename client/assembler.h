// SPDX-License-Identifier: Apache-2.0
#pragma once

// Puts the chunks of one GetArtifact answer together. Nothing of it is used
// before every part has the size and the SHA-256 that the header promised and
// the whole is about the key that was asked for: a driver trusts a blob
// blindly (KNOWN_FAULTS 5). Internal; engines use client.h.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/variant.h"
#include "proto/bytes.h"
#include "proto/digest.h"

namespace kiln::v1 {
class GetArtifactResponse;
class GetArtifactResponse_Header;
}  // namespace kiln::v1

namespace kiln::client {

// Thread-compatible. Call `Add` for every message in order, then `Finish`.
class ArtifactAssembler {
 public:
  // `key`: the key's hexadecimal digits or a prefix of them, as asked for.
  explicit ArtifactAssembler(std::string key);

  // Errors: DataLoss when the message cannot belong to a sound answer.
  absl::Status Add(const v1::GetArtifactResponse& message);

  // Returns: the checked artifact. Hashes everything, about 1 ms for 500 KB.
  // Errors: DataLoss naming the part that is short or does not match.
  absl::StatusOr<Delivery> Finish();

 private:
  // The artifact's canonical bytes, or one module. Held as words so that SPIR-V
  // needs no second copy.
  struct Part {
    std::string name;
    Digest digest;
    size_t bytes = 0;
    size_t filled = 0;
    std::vector<uint32_t> words;
    Stage stage = Stage::kVertex;  // modules only, as is the next
    std::shared_ptr<const ModuleInterface> interface {};

    ByteView view() const;
  };

  absl::Status Bad(std::string_view why) const;
  absl::Status AddHeader(const v1::GetArtifactResponse_Header& header);
  absl::Status AddChunk(std::string_view chunk);
  absl::Status AddPart(std::string name, std::string_view digest,
                       uint64_t bytes, size_t limit);
  absl::Status CheckParts() const;
  absl::Status CheckArtifact(const Artifact& artifact) const;

  std::string key_;
  std::string label_;
  std::string target_;       // digest, raw, from the header
  std::vector<Part> parts_;  // [0] is the artifact
  size_t current_ = 0;
};

}  // namespace kiln::client
