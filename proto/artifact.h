// SPDX-License-Identifier: Apache-2.0
#pragma once

// An artifact: what one compile of one variant key for one target produced.
// Modules are named by digest and kept once, since all variants of a program
// share them until the specialiser (a later format version) makes them differ.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/bytes.h"
#include "proto/digest.h"
#include "proto/program.h"
#include "proto/variant_key.h"

namespace kiln {

// What re-creating the pipeline from the stored blob on a second, equal device
// with fail-on-compile-required said (DESIGN D4).
enum class Proof : uint8_t {
  kProven = 1,       // the driver answered from the blob alone
  kNotProvable = 2,  // the driver's cache holds only its header (lavapipe)
  kRefused =
      3,  // the driver had to compile again although it was given its blob
};

// "proven", "not provable", "refused".
std::string_view ProofText(Proof proof);

// A number the driver reports about one executable of the pipeline, as
// VK_KHR_pipeline_executable_properties names it. Both texts valid UTF-8.
struct Statistic {
  std::string executable;  // e.g. "Fragment Shader"
  std::string name;        // e.g. "VGPRs"
  double value = 0;
};

// The costs every driver calls something else, of the fragment stage if there
// is one. Absent where the driver does not say.
struct VariantCost {
  std::optional<uint32_t> registers;     // vector registers per lane
  std::optional<uint32_t> waves;         // subgroups per SIMD
  std::optional<uint32_t> instructions;  // machine instructions
  std::optional<uint32_t> spills;        // registers spilled to memory
  std::optional<uint32_t> code_bytes;
};

struct StageModule {
  Stage stage = Stage::kVertex;
  Digest module;  // SHA-256 of the SPIR-V

  friend auto operator<=>(const StageModule&, const StageModule&) = default;
};

// What the front end made of a program's sources.
struct FrontEnd {
  std::vector<StageModule> modules;
  // Overrides that no code reads: their values are left out of keys, so that
  // equal code is stored once (KNOWN_FAULTS 34). Sorted.
  std::vector<std::string> unused_overrides{};

  friend auto operator<=>(const FrontEnd&, const FrontEnd&) = default;
};

// The override values of a program that ran fastest on a target, measured by
// `kiln tune`.
struct Tuning {
  std::vector<OverrideValue> overrides;  // sorted by name
  uint64_t median_ns = 0;                // of one dispatch, with these values
  uint32_t candidates = 0;               // combinations measured

  friend auto operator<=>(const Tuning&, const Tuning&) = default;
};

// Thread-compatible value; shared between threads as `const`.
struct Artifact {
  Digest target;  // TargetIdentity::Id()
  VariantKey key;
  std::vector<StageModule> modules;
  // KeyConstants(program, key), those known by name resolved to their ids.
  std::vector<Constant> constants;
  // True: the modules have the constants' values in them, and a pipeline is
  // made of them without VkSpecializationInfo.
  bool specialized = false;
  Bytes blob;  // VkPipelineCache data
  Proof proof = Proof::kRefused;
  uint64_t compile_us = 0;  // the call that creates it alone, wall clock
  VariantCost cost;
  std::vector<Statistic> statistics;
  std::string provenance;  // compiler and driver versions, for people
};

// Canonical bytes (storage/FORMAT.md, "Artifact").
Bytes EncodeArtifact(const Artifact& artifact);

// Errors: InvalidArgument when `bytes` are not a canonical artifact.
absl::StatusOr<Artifact> DecodeArtifact(ByteView bytes);

}  // namespace kiln
