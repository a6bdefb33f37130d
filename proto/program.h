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
// Who gives a variant's constants their values. Persisted: do not renumber.
enum class Specialization : uint8_t {
  // Kiln, before the driver sees the module: unused code is gone by then.
  kModule = 1,
  // The driver, by VkSpecializationInfo, from the whole module.
  kDriver = 2,
};

// "module", "driver".
std::string_view SpecializationName(Specialization specialization);

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

// What a stage is written in. SPIR-V, of any compiler, is taken as it is.
enum class Language : uint8_t { kGlsl = 1, kHlsl = 2, kSpirv = 3 };

// "glsl", "hlsl" or "spirv".
std::string_view LanguageName(Language language);

// Errors: InvalidArgument naming the unknown language.
absl::StatusOr<Language> LanguageFromName(std::string_view name);

// By the end of its name: .hlsl, .spv, else GLSL.
Language LanguageOfPath(std::string_view path);

struct StageSource {
  Stage stage = Stage::kVertex;
  std::string path;  // one of Program::files; of a recipe, a virtual path
  Language language = Language::kGlsl;
  std::string entry = "main";  // GLSL knows no other
};

// Virtual path ('/'-separated, relative, no "..") and content.
struct SourceFile {
  std::string path;
  std::string text;  // bytes, where it is SPIR-V
};

// What one `#include` of a source opens, found by whoever gathered the files.
struct IncludeEdge {
  std::string from;     // path of the file that includes
  std::string name;     // as it is written there
  bool angled = false;  // <name>, not "name"
  std::string path;     // one of Program::files; empty: it does not open
  std::string problem;  // why not, one line

  friend auto operator<=>(const IncludeEdge&, const IncludeEdge&) = default;
};

// Where a program takes user code (SPEC section 5, shaders/surface/).
struct SurfaceSlot {
  // The name by which its shaders include the generated file; empty: the
  // program takes no surface shaders.
  std::string include;
  std::string function = "surface";  // what each surface shader defines
  std::string parameters;            // of that function, as GLSL writes them
};

struct Define {
  std::string name;
  std::string value;
};

// Either whole, with every file its stages need, or a *recipe* (`rooted`): then
// stages name virtual paths, and kilnd finds the files in its search roots and
// makes a whole program of them, a *snapshot*, again whenever one changes. A
// program of one stage that is no pipeline is a *shader*: it has a front end
// and no variants.
//
// Thread-compatible value. `Validate` states the invariants.
struct Program {
  std::string name;
  bool rooted = false;
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
  Specialization specialization = Specialization::kModule;
  // A compute shader among `files` that reads what a draw reads and writes the
  // bits this draw needs (shaders/lab/derivation.h); empty: there is none.
  std::string derivation;
  SurfaceSlot surface;
  PipelineSkeleton pipeline;
  std::vector<SourceFile> files;  // sorted by path; none in a recipe
  // Sorted. Empty: includes are looked up among `files` as they are met.
  std::vector<IncludeEdge> includes;

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

  // True when the stages do not make a pipeline.
  bool IsShader() const;

  // True when what its keys mean can change while it is used: a recipe, or a
  // program that takes surface shaders.
  bool IsLiving() const { return rooted || !surface.include.empty(); }

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
