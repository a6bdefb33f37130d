// SPDX-License-Identifier: Apache-2.0
#pragma once

// What graphics and compute pipelines have in common: layout, modules,
// specialization, and a creation that is timed and asks for feedback. The one
// translation of (program, key, code) to Vulkan, for compiling, measuring and
// creating from a blob: their driver keys are equal because this is. What only
// one of them has is in graphics_description.h and compute_description.h.
// Internal.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shaders/pipeline/device_handles.h"
#include "shaders/pipeline/pipeline.h"
#include "shaders/pipeline/pipeline_layout.h"
#include "shaders/pipeline/specialization.h"

namespace kiln::pipeline {

// Thread-compatible. Not movable: its structures point at each other.
class PipelineDescription {
 public:
  // The description that fits the program. Lifetime: `device` outlives it;
  // nothing of `input` is kept. Errors: InvalidArgument naming the field that
  // Vulkan or the device has not got; Internal when the driver refuses a
  // module or layout.
  static absl::StatusOr<std::unique_ptr<PipelineDescription>> Make(
      const DeviceHandles& device, const PipelineInput& input);

  PipelineDescription(const PipelineDescription&) = delete;
  PipelineDescription& operator=(const PipelineDescription&) = delete;
  virtual ~PipelineDescription() = default;

  struct Created {
    VkResult result = VK_SUCCESS;
    OwnedPipeline pipeline;
    VkPipelineCreationFeedback feedback{};
    uint64_t microseconds = 0;  // of the call that creates it, alone
  };

  // Blocks: for as long as the driver takes.
  Created Create(VkPipelineCache cache, VkPipelineCreateFlags flags) const;

  // The call that creates it, for errors: "vkCreateGraphicsPipelines".
  virtual std::string_view call() const = 0;

  // Hands the layout out, for the owner of a created pipeline. `Create` must
  // not be called after it.
  PipelineLayout TakeLayout() { return std::move(layout_); }

 protected:
  explicit PipelineDescription(const DeviceHandles& device) : device_(device) {}

  // Makes the layout, the modules and their specialization.
  absl::Status AddStages(const PipelineInput& input);

  const DeviceHandles& device() const { return device_; }

  const std::vector<VkPipelineShaderStageCreateInfo>& stages() const {
    return stages_;
  }

  VkPipelineLayout layout() const { return layout_.layout.get(); }

 private:
  // Calls the driver with `feedback` in the create info's chain.
  virtual VkResult CallDriver(VkPipelineCache cache,
                              VkPipelineCreateFlags flags,
                              VkPipelineCreationFeedbackCreateInfo& feedback,
                              VkPipeline& pipeline) const = 0;

  const DeviceHandles& device_;
  PipelineLayout layout_;
  std::vector<OwnedShaderModule> modules_;
  std::vector<StageSpecialization> constants_;
  std::vector<VkSpecializationInfo> specializations_;
  std::vector<std::string> entries_;
  std::vector<VkPipelineShaderStageCreateInfo> stages_;
};

}  // namespace kiln::pipeline
