// SPDX-License-Identifier: Apache-2.0
#pragma once

// A variant as it reaches an engine: the decoded artifact, its SPIR-V, and
// where it came from. Plain data; client.h says how to get one.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proto/artifact.h"
#include "proto/digest.h"
#include "proto/module_interface.h"
#include "proto/program.h"
#include "proto/target.h"

namespace kiln::client {

// Where a ready variant came from, seen from this client's request.
enum class Origin : uint8_t {
  kCompiled = 1,  // compiled for this request or one that it joined
  kStore = 2,     // it was there already
};

// "compiled" or "store".
inline std::string_view OriginText(Origin origin) {
  return origin == Origin::kStore ? "store" : "compiled";
}

// One stage's SPIR-V. The words are shared between all variants that use the
// same module, hence the shared_ptr.
struct ModuleCode {
  Stage stage = Stage::kVertex;
  Digest digest;  // SHA-256 of the words
  std::shared_ptr<const std::vector<uint32_t>> spirv;
  // What the words declare; null where kilnd does not know.
  std::shared_ptr<const ModuleInterface> interface {};
};

// What GetArtifact delivers, every part checked against its SHA-256.
struct Delivery {
  std::string label;  // KeyLabel of the key
  Artifact artifact;
  std::vector<ModuleCode> modules;  // in the order of Artifact::modules
};

// A variant that may be drawn with. Immutable; shared between threads as
// `std::shared_ptr<const ReadyVariant>`.
struct ReadyVariant {
  std::string label;
  Artifact artifact;
  std::vector<ModuleCode> modules;
  Origin origin = Origin::kCompiled;
  // The device it was compiled for, as the daemon's worker opened it.
  std::shared_ptr<const TargetIdentity> target;
};

}  // namespace kiln::client
