// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a VkComputePipelineCreateInfo has: one stage and a layout. The rest of
// a program's skeleton is of graphics, and refused. Internal.

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "shaders/pipeline/pipeline_description.h"

namespace kiln::pipeline {

class ComputeDescription : public PipelineDescription {
 public:
  // Requires: one module per stage of the program, which IsCompute.
  // Errors: as PipelineDescription::Make.
  static absl::StatusOr<std::unique_ptr<PipelineDescription>> Make(
      const DeviceHandles& device, const PipelineInput& input);

  std::string_view call() const override { return "vkCreateComputePipelines"; }

 private:
  explicit ComputeDescription(const DeviceHandles& device)
      : PipelineDescription(device) {}

  VkResult CallDriver(VkPipelineCache cache, VkPipelineCreateFlags flags,
                      VkPipelineCreationFeedbackCreateInfo& feedback,
                      VkPipeline& pipeline) const override;
};

}  // namespace kiln::pipeline
