// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/pipeline.h"

#include <utility>

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/variant_key.h"
#include "shaders/pipeline/device_handles.h"
#include "shaders/pipeline/pipeline_description.h"
#include "shaders/pipeline/statistics.h"

namespace kiln::pipeline {

struct Pipeline::Handles {
  PipelineLayout layout;
  OwnedPipeline pipeline;
};

namespace {

// A driver that still compiles in the background may ask for more room between
// two calls (KNOWN_FAULTS 19); one that always does is at fault.
constexpr int kReadAttempts = 16;

absl::StatusOr<OwnedPipelineCache> MakeCache(const DeviceHandles& device,
                                             ByteView initial) {
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = initial.size();
  info.pInitialData = initial.empty() ? nullptr : initial.data();
  VkPipelineCache cache = VK_NULL_HANDLE;
  if (const VkResult result =
          vkCreatePipelineCache(device.device.get(), &info, nullptr, &cache);
      result != VK_SUCCESS) {
    return VulkanError("vkCreatePipelineCache", result);
  }
  return OwnedPipelineCache(device.device.get(), cache);
}

// The whole cache. Half of one (VK_INCOMPLETE) loads without an error, and is
// therefore never returned.
absl::StatusOr<Bytes> ReadCache(const DeviceHandles& device,
                                VkPipelineCache cache) {
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    size_t size = 0;
    VkResult result =
        vkGetPipelineCacheData(device.device.get(), cache, &size, nullptr);
    if (result == VK_SUCCESS && size > limits::kBlobBytes) {
      return absl::ResourceExhaustedError(
          fmt::format("the driver's cache has {} bytes, over the limit of {}",
                      size, limits::kBlobBytes));
    }
    Bytes blob(size);
    if (result == VK_SUCCESS) {
      result = vkGetPipelineCacheData(device.device.get(), cache, &size,
                                      blob.data());
    }
    if (result == VK_SUCCESS) {
      blob.resize(size);
      return blob;
    }
    if (result != VK_INCOMPLETE) {
      return VulkanError("vkGetPipelineCacheData", result);
    }
  }
  return VulkanError("vkGetPipelineCacheData", VK_INCOMPLETE);
}

}  // namespace

std::string_view HitFeedbackText(HitFeedback feedback) {
  switch (feedback) {
    case HitFeedback::kCacheHit:
      return "cache hit";
    case HitFeedback::kCreatedWithoutHit:
      return "created, no hit reported";
    case HitFeedback::kCompileRequired:
      return "compile required";
  }
  return "unknown";
}

Pipeline::Pipeline(std::unique_ptr<Handles> handles)
    : handles_(std::move(handles)) {}

Pipeline::Pipeline(Pipeline&&) noexcept = default;

Pipeline& Pipeline::operator=(Pipeline&&) noexcept = default;

Pipeline::~Pipeline() = default;

void* Pipeline::vk_pipeline() const {
  return handles_ == nullptr ? nullptr : handles_->pipeline.get();
}

void* Pipeline::vk_layout() const {
  return handles_ == nullptr ? nullptr : handles_->layout.layout.get();
}

void* Pipeline::vk_set_layout(uint32_t set) const {
  return handles_ == nullptr || set >= handles_->layout.sets.size()
             ? nullptr
             : handles_->layout.sets[set].get();
}

absl::StatusOr<CompiledPipeline> CompilePipeline(Device& device,
                                                 const PipelineInput& input) {
  const DeviceHandles& handles = device.handles();
  KILN_ASSIGN_OR_RETURN(const auto description,
                        PipelineDescription::Make(handles, input));
  KILN_ASSIGN_OR_RETURN(const OwnedPipelineCache cache, MakeCache(handles, {}));
  const PipelineDescription::Created created =
      description->Create(cache.get(), 0);
  if (created.result != VK_SUCCESS) {
    return VulkanError(description->call(), created.result);
  }
  CompiledPipeline compiled;
  compiled.compile_us = created.microseconds;
  KILN_ASSIGN_OR_RETURN(compiled.blob, ReadCache(handles, cache.get()));
  return compiled;
}

absl::StatusOr<PipelineStatistics> MeasurePipeline(Device& device,
                                                   const PipelineInput& input) {
  const DeviceHandles& handles = device.handles();
  if (handles.get_statistics == nullptr) {
    return PipelineStatistics{};
  }
  KILN_ASSIGN_OR_RETURN(const auto description,
                        PipelineDescription::Make(handles, input));
  KILN_ASSIGN_OR_RETURN(const OwnedPipelineCache cache, MakeCache(handles, {}));
  const PipelineDescription::Created created = description->Create(
      cache.get(), VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR);
  if (created.result != VK_SUCCESS) {
    return VulkanError(description->call(), created.result);
  }
  return ReadStatistics(handles, created.pipeline.get());
}

absl::StatusOr<CreatedPipeline> CreateFromBlob(Device& device,
                                               const PipelineInput& input,
                                               ByteView blob) {
  const DeviceHandles& handles = device.handles();
  KILN_ASSIGN_OR_RETURN(const auto description,
                        PipelineDescription::Make(handles, input));
  KILN_ASSIGN_OR_RETURN(const OwnedPipelineCache cache,
                        MakeCache(handles, blob));
  PipelineDescription::Created made = description->Create(
      cache.get(), VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT);
  CreatedPipeline created{Pipeline(nullptr), HitFeedback::kCompileRequired,
                          made.microseconds};
  if (made.result == VK_PIPELINE_COMPILE_REQUIRED) {
    return created;
  }
  if (made.result != VK_SUCCESS) {
    return VulkanError(description->call(), made.result);
  }
  constexpr VkPipelineCreationFeedbackFlags kHit =
      VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT |
      VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
  created.feedback = (made.feedback.flags & kHit) == kHit
                         ? HitFeedback::kCacheHit
                         : HitFeedback::kCreatedWithoutHit;
  created.pipeline = Pipeline(std::make_unique<Pipeline::Handles>(
      Pipeline::Handles{description->TakeLayout(), std::move(made.pipeline)}));
  return created;
}

absl::StatusOr<CreatedPipeline> CreatePipeline(Device& device,
                                               const PipelineInput& input) {
  KILN_ASSIGN_OR_RETURN(const auto description,
                        PipelineDescription::Make(device.handles(), input));
  PipelineDescription::Created made = description->Create(VK_NULL_HANDLE, 0);
  if (made.result != VK_SUCCESS) {
    return VulkanError(description->call(), made.result);
  }
  return CreatedPipeline{
      Pipeline(std::make_unique<Pipeline::Handles>(Pipeline::Handles{
          description->TakeLayout(), std::move(made.pipeline)})),
      HitFeedback::kCreatedWithoutHit, made.microseconds};
}

bool IsHeaderOnlyBlob(ByteView blob) {
  return blob.size() <= sizeof(VkPipelineCacheHeaderVersionOne);
}

}  // namespace kiln::pipeline
