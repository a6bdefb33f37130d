// SPDX-License-Identifier: Apache-2.0
#pragma once

// A program: one whole shader and its pipeline skeleton, as data. It is made
// once (from a *.program.toml file, program_file.h, or by an engine), named by
// the SHA-256 of its canonical bytes, and never changes. What may vary from
// draw to draw is in variant_key.h; what comes out of it in artifact.h.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/bytes.h"
#include "proto/digest.h"

namespace kiln {

// One 32-bit specialization constant. Integers as they are, bool as 0 or 1,
// float as its IEEE bits.
struct Constant {
  uint32_t id = 0;
  uint32_t value = 0;

  friend auto operator<=>(const Constant&, const Constant&) = default;
};

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
  uint32_t bit = 0;  // 0 to 31
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
// normalised to its first value: "an opaque key ignores blend".
struct Kind {
  AxisValue value;
  bool uses_backdrop = false;
  bool uses_blend = false;
};

enum class ConstantType : uint8_t {
  kBool = 1,
  kInt = 2,
  kUint = 3,
  kFloat = 4
};

// A named override constant (SPEC section 4).
struct Override {
  std::string name;
  uint32_t constant_id = 0;
  ConstantType type = ConstantType::kUint;
  uint32_t default_value = 0;  // bits, as in Constant
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

enum class Stage : uint8_t { kVertex = 1, kFragment = 2 };

// "vertex" or "fragment".
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
  uint32_t features_constant_id = 0;
  std::vector<FeatureBit> features;
  std::vector<Kind> kinds;
  std::vector<AxisValue> backdrops;  // the first is the default
  std::vector<AxisValue> blends;     // the first is the default
  std::vector<Override> overrides;
  PipelineSkeleton pipeline;
  std::vector<SourceFile> files;  // sorted by path

  // The mask with every declared bit: the features of the whole shader.
  uint32_t AllFeatures() const;

  // The declared names of the bits in `mask`, in bit order, joined by '|';
  // "none" for 0 and "whole" for every declared bit.
  std::string FeatureText(uint32_t mask) const;

  // Returns: the mask of comma-separated bit names; "all" and "none" are
  // understood. Errors: InvalidArgument naming the unknown bit.
  absl::StatusOr<uint32_t> ParseFeatures(std::string_view names) const;

  // Returns: the named element or nullptr. Lifetime: that of the program.
  const Kind* FindKind(std::string_view name) const;
  const AxisValue* FindBackdrop(std::string_view name) const;
  const AxisValue* FindBlend(std::string_view name) const;
  const Override* FindOverride(std::string_view name) const;
  const SourceFile* FindFile(std::string_view path) const;

  // Checks every rule the rest of Kiln relies on: names unique and valid
  // UTF-8, bits distinct and below 32, at least one kind, backdrop and blend,
  // stage files present, paths inside the program, sizes within limits.h.
  // Errors: InvalidArgument naming the field.
  absl::Status Validate() const;
};

// Canonical bytes (storage/FORMAT.md, "Program"). Requires: a valid program.
Bytes EncodeProgram(const Program& program);

// Errors: InvalidArgument when `bytes` are not the canonical encoding of a
// program that `Validate`s.
absl::StatusOr<Program> DecodeProgram(ByteView bytes);

}  // namespace kiln
