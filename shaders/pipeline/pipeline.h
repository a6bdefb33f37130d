// SPDX-License-Identifier: Apache-2.0
#pragma once

// Program + variant key + SPIR-V -> VkPipeline, its cache blob and the
// driver's statistics; a compute pipeline where the program IsCompute, else a
// graphics pipeline. The worker compiles with it and clients create with it:
// the same code on both sides is what makes their driver keys equal.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/artifact.h"
#include "proto/bytes.h"
#include "proto/program.h"
#include "proto/variant_key.h"
#include "shaders/pipeline/device.h"

namespace kiln::pipeline {

struct StageCode {
  Stage stage = Stage::kVertex;
  std::span<const uint32_t> spirv;  // validated
};

// Everything a pipeline is made from. Lifetime: the referenced program, key
// and code must outlive the call it is passed to.
struct PipelineInput {
  const Program& program;
  const VariantKey& key;  // normalised for `program`
  std::span<const StageCode> code;
  // True: `code` has the key's constants in it (Artifact::specialized), and the
  // driver is given none.
  bool specialized = false;
};

struct CompiledPipeline {
  Bytes blob;               // the whole VkPipelineCache
  uint64_t compile_us = 0;  // the call that creates it alone, wall clock
};

struct PipelineStatistics {
  std::vector<Statistic> statistics;
  VariantCost cost;
};

// How a driver answered a creation that was not allowed to compile.
enum class HitFeedback : uint8_t {
  kCacheHit = 1,  // feedback: APPLICATION_PIPELINE_CACHE_HIT
  kCreatedWithoutHit =
      2,  // created, but the feedback does not say from our cache
  kCompileRequired = 3,  // VK_PIPELINE_COMPILE_REQUIRED
};

// "cache hit", "created, no hit reported", "compile required".
std::string_view HitFeedbackText(HitFeedback feedback);

// A VkPipeline and its owner. Move-only; destroyed with the object, which must
// not outlive its device.
class Pipeline {
 public:
  struct Handles;
  explicit Pipeline(std::unique_ptr<Handles> handles);
  Pipeline(const Pipeline&) = delete;  // owns the VkPipeline
  Pipeline& operator=(const Pipeline&) = delete;
  Pipeline(Pipeline&&) noexcept;
  Pipeline& operator=(Pipeline&&) noexcept;
  ~Pipeline();

  // The VkPipeline, for vkCmdBindPipeline. Null if none was created.
  void* vk_pipeline() const;

  // The VkPipelineLayout and its VkDescriptorSetLayouts, for binding resources.
  // Null if no pipeline was created or the program has no such set.
  void* vk_layout() const;
  void* vk_set_layout(uint32_t set) const;

 private:
  std::unique_ptr<Handles> handles_;
};

struct CreatedPipeline {
  Pipeline pipeline;  // null handle when `feedback` is kCompileRequired
  HitFeedback feedback = HitFeedback::kCompileRequired;
  uint64_t create_us = 0;
};

// Compiles with a fresh, empty VkPipelineCache of its own (KNOWN_FAULTS 19).
// Errors: InvalidArgument when the program's skeleton or state names something
// Vulkan has not got, or the code is of another stage, naming the field;
// Internal with the VkResult when the driver refuses. Blocks: for as long as
// the driver takes.
absl::StatusOr<CompiledPipeline> CompilePipeline(Device& device,
                                                 const PipelineInput& input);

// Compiles once more with statistics capture: the flag is part of the driver's
// key, so this must not share the first compile's cache (DESIGN section 1).
// Returns: empty statistics where the driver has none. Errors, Blocks: as
// above.
absl::StatusOr<PipelineStatistics> MeasurePipeline(Device& device,
                                                   const PipelineInput& input);

// Creates the pipeline from `blob` with FAIL_ON_PIPELINE_COMPILE_REQUIRED and
// reads the creation feedback. Never compiles. The blob must have been
// verified by checksum: drivers trust it (KNOWN_FAULTS 5).
absl::StatusOr<CreatedPipeline> CreateFromBlob(Device& device,
                                               const PipelineInput& input,
                                               ByteView blob);

// Creates the pipeline without a cache: it compiles. For tools and tests, which
// draw on drivers whose blobs hold no code. Errors, Blocks: as CompilePipeline.
absl::StatusOr<CreatedPipeline> CreatePipeline(Device& device,
                                               const PipelineInput& input);

// Gives each constant that is known by its name only (kIdByName) the
// constant_id that the modules declare for that OpName. Returns: sorted by id.
// Errors: InvalidArgument naming one that no module or more than one id has.
absl::StatusOr<std::vector<Constant>> ResolveConstants(
    std::vector<Constant> constants, std::span<const StageCode> code);

// True when `blob` is only the 32-byte VkPipelineCacheHeaderVersionOne, that
// is, when the driver exports no compiled code (KNOWN_FAULTS 51).
bool IsHeaderOnlyBlob(ByteView blob);

}  // namespace kiln::pipeline
