// SPDX-License-Identifier: Apache-2.0
#pragma once

// A program: one whole shader and its pipeline skeleton, as data. It is made
// once (from a *.program.toml file, program_file.h, or by an engine), named by
// the SHA-256 of its canonical bytes, and never changes. What may vary from
// draw to draw is in variant_key.h; what comes out of it in artifact.h.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/bytes.h"
#include "proto/constant.h"
#include "proto/digest.h"

namespace kiln {

// A set of feature bits: bit n of the program's schema is 1 << n. The shader
// sees it as 32-bit words, one specialization constant each.
using FeatureMask = uint64_t;

// One pipeline state, e.g. {"depth_write", "true"}. The vocabulary is in
// shaders/pipeline/pipeline_state.h.
struct StateSetting {
  std::string name;
  std::string value;

  friend auto operator<=>(const StateSetting&, const StateSetting&) = default;
};

// Who decides a feature bit: see SPEC section 2.
enum class FeatureOwner : uint8_t { kMaterial = 1, kFrame = 2, kBoth = 3 };

struct FeatureBit {
  uint32_t bit = 0;  // 0 to 63; 32 and up lie in the second features constant
  std::string name;
  FeatureOwner owner = FeatureOwner::kMaterial;
};

// One value of an axis of the key: a backdrop or a blend, and what it changes.
struct AxisValue {
  std::string name;
  std::vector<Constant> constants;
  std::vector<StateSetting> state;
};

// A kind, and which other axes it depends on. An axis a kind does not use is
// normalised to its first value: "an opaque key ignores blend". So are the
// feature bits that change nothing in it: they are cleared.
struct Kind {
  AxisValue value;
  bool uses_backdrop = false;
  bool uses_blend = false;
  FeatureMask ignored_features = 0;  // bits whose blocks it cannot reach
};

// A named override constant (SPEC section 4). Values are bits of `type`, as
// in Constant.
struct Override {
  std::string name;
  // Absent: found by name, the OpName of the SPIR-V.
  std::optional<uint32_t> constant_id;
  ConstantType type = ConstantType::kUint32;
  uint64_t default_value = 0;
  // What a request may ask for; absent: all that the type holds.
  std::optional<uint64_t> min{};
  std::optional<uint64_t> max{};
  // Ascending; a request is rounded up to the next one, so that counts that
  // hardly differ share a variant. Empty: every value is a variant of its own.
  std::vector<uint64_t> steps{};
};

struct VertexBinding {
  uint32_t binding = 0;
  uint32_t stride_bytes = 0;
  bool per_instance = false;
};

struct VertexAttribute {
  uint32_t location = 0;
  uint32_t binding = 0;
  std::string format;  // a VkFormat: "r32g32b32_sfloat"
  uint32_t offset_bytes = 0;
};

enum class Stage : uint8_t { kVertex = 1, kFragment = 2, kCompute = 3 };

// "vertex", "fragment" or "compute".
std::string_view StageName(Stage stage);

// Errors: InvalidArgument naming the unknown stage.
absl::StatusOr<Stage> StageFromName(std::string_view name);

struct Descriptor {
  uint32_t set = 0;
  uint32_t binding = 0;
  std::string type;  // a VkDescriptorType: "combined_image_sampler"
  uint32_t count = 1;
  std::vector<Stage> stages;
};

// Everything of a VkGraphicsPipelineCreateInfo that no key changes.
struct PipelineSkeleton {
  std::string topology = "triangle_list";
  std::vector<std::string> color_formats;
  std::string depth_format;  // empty: no depth attachment
  uint32_t samples = 1;
  std::vector<VertexBinding> vertex_bindings;
  std::vector<VertexAttribute> vertex_attributes;
  std::vector<Descriptor> descriptors;
  uint32_t push_constant_bytes = 0;
  std::vector<Stage> push_constant_stages;
};

struct StageSource {
  Stage stage = Stage::kVertex;
  std::string path;  // one of Program::files
};

// Virtual path ('/'-separated, relative, no "..") and content.
struct SourceFile {
  std::string path;
  std::string text;
};

struct Define {
  std::string name;
  std::string value;
};

// Thread-compatible value. `Validate` states the invariants.
struct Program {
  std::string name;
  std::vector<StageSource> stages;
  std::vector<Define> defines;
  // constant_id of each 32-bit word of a feature mask, the low word first.
  std::vector<uint32_t> features_constant_ids;
  std::vector<FeatureBit> features;
  // Bits that hardly ever differ: a key with one of a group has all of it.
  std::vector<FeatureMask> merged;
  std::vector<Kind> kinds;
  std::vector<AxisValue> backdrops;  // the first is the default
  std::vector<AxisValue> blends;     // the first is the default
  std::vector<Override> overrides;
  // Compute programs: the overrides that are the workgroup's x, y and z size.
  std::vector<std::string> workgroup_size;
  // Drivers may not fuse multiplications with additions, which they do more
  // or less in a variant than in the whole shader (shaders/contraction.h).
  // True: pictures agree to the last bit; false: some arithmetic is faster.
  bool no_contraction = false;
  // A compute shader among `files` that reads what a draw reads and writes the
  // bits this draw needs (shaders/lab/derivation.h); empty: there is none.
  std::string derivation;
  PipelineSkeleton pipeline;
  std::vector<SourceFile> files;  // sorted by path

  // The mask with every declared bit: the features of the whole shader.
  FeatureMask AllFeatures() const;

  // The declared names of the bits in `mask`, in bit order, joined by '|';
  // "none" for 0 and "whole" for every declared bit.
  std::string FeatureText(FeatureMask mask) const;

  // Returns: the mask of comma-separated bit names; "all" and "none" are
  // understood. Errors: InvalidArgument naming the unknown bit.
  absl::StatusOr<FeatureMask> ParseFeatures(std::string_view names) const;

  // Returns: the named element or nullptr. Lifetime: that of the program.
  const FeatureBit* FindFeature(std::string_view name) const;
  const Kind* FindKind(std::string_view name) const;
  const AxisValue* FindBackdrop(std::string_view name) const;
  const AxisValue* FindBlend(std::string_view name) const;
  const Override* FindOverride(std::string_view name) const;
  const SourceFile* FindFile(std::string_view path) const;

  // True for one compute stage, false for vertex and maybe fragment.
  bool IsCompute() const;

  // Checks every rule the rest of Kiln relies on: names unique and valid
  // UTF-8, bits distinct and within the declared constants, at least one kind,
  // backdrop and blend, overrides whose default, range and steps agree, stages
  // that make one pipeline, stage files present, paths inside the program,
  // sizes within limits.h.
  // Errors: InvalidArgument naming the field.
  absl::Status Validate() const;
};

// Canonical bytes (storage/FORMAT.md, "Program"). Requires: a valid program.
Bytes EncodeProgram(const Program& program);

// Errors: InvalidArgument when `bytes` are not the canonical encoding of a
// program that `Validate`s.
absl::StatusOr<Program> DecodeProgram(ByteView bytes);

}  // namespace kiln
