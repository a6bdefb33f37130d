// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything a VkGraphicsPipelineCreateInfo points to, checked and owned: the
// one translation of (program, key, code) to Vulkan, for compiling, measuring
// and creating from a blob. Their driver keys are equal because this is.
// Internal.

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "shaders/pipeline/attachments.h"
#include "shaders/pipeline/device_handles.h"
#include "shaders/pipeline/pipeline.h"
#include "shaders/pipeline/pipeline_layout.h"
#include "shaders/pipeline/pipeline_state.h"
#include "shaders/pipeline/specialization.h"

namespace kiln::pipeline {

// Thread-compatible. Not movable: its structures point at each other.
class GraphicsDescription {
 public:
  // Errors: InvalidArgument naming the field that Vulkan or the device has
  // not got; Internal when the driver refuses a module or layout.
  static absl::StatusOr<std::unique_ptr<GraphicsDescription>> Make(
      const DeviceHandles& device, const PipelineInput& input);

  GraphicsDescription(const GraphicsDescription&) = delete;
  GraphicsDescription& operator=(const GraphicsDescription&) = delete;

  struct Created {
    VkResult result = VK_SUCCESS;
    OwnedPipeline pipeline;
    VkPipelineCreationFeedback feedback{};
    uint64_t microseconds = 0;  // vkCreateGraphicsPipelines alone
  };

  // Blocks: for as long as the driver takes.
  Created Create(VkPipelineCache cache, VkPipelineCreateFlags flags) const;

  // Hands the layout out, for the owner of a created pipeline. `Create` must
  // not be called after it.
  PipelineLayout TakeLayout() && { return std::move(layout_); }

 private:
  explicit GraphicsDescription(const DeviceHandles& device) : device_(device) {}

  absl::Status AddStages(const PipelineInput& input);
  absl::Status CheckState() const;
  void FillStates(const PipelineSkeleton& skeleton);

  const DeviceHandles& device_;
  PipelineLayout layout_;
  std::vector<OwnedShaderModule> modules_;
  std::vector<StageSpecialization> constants_;
  std::vector<VkSpecializationInfo> specializations_;
  std::vector<VkPipelineShaderStageCreateInfo> stages_;
  PipelineState state_;
  Attachments attachments_;
  VertexInput vertices_;
  std::vector<VkPipelineColorBlendAttachmentState> blends_;

  VkPipelineVertexInputStateCreateInfo vertex_input_{};
  VkPipelineInputAssemblyStateCreateInfo assembly_{};
  VkPipelineViewportStateCreateInfo viewport_{};
  VkPipelineRasterizationStateCreateInfo raster_{};
  VkPipelineMultisampleStateCreateInfo samples_{};
  VkPipelineDepthStencilStateCreateInfo depth_{};
  VkPipelineColorBlendStateCreateInfo blend_{};
  VkPipelineDynamicStateCreateInfo dynamic_{};
  VkPipelineRenderingCreateInfo rendering_{};
};

}  // namespace kiln::pipeline
