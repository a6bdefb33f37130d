// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a VkGraphicsPipelineCreateInfo points to beside the stages and layout of
// pipeline_description.h: fixed-function state and attachments, checked and
// owned. Internal.

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "shaders/pipeline/attachments.h"
#include "shaders/pipeline/pipeline_description.h"
#include "shaders/pipeline/pipeline_state.h"

namespace kiln::pipeline {

class GraphicsDescription : public PipelineDescription {
 public:
  // Requires: one module per stage of the program. Errors: as
  // PipelineDescription::Make.
  static absl::StatusOr<std::unique_ptr<PipelineDescription>> Make(
      const DeviceHandles& device, const PipelineInput& input);

  std::string_view call() const override { return "vkCreateGraphicsPipelines"; }

 private:
  explicit GraphicsDescription(const DeviceHandles& device)
      : PipelineDescription(device) {}

  absl::Status CheckState() const;
  void FillStates(const PipelineSkeleton& skeleton);
  VkResult CallDriver(VkPipelineCache cache, VkPipelineCreateFlags flags,
                      VkPipelineCreationFeedbackCreateInfo& feedback,
                      VkPipeline& pipeline) const override;

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
