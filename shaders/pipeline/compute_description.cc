// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/compute_description.h"

#include <vector>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "proto/variant_key.h"

namespace kiln::pipeline {
namespace {

// A setting that nothing obeys is a mistake somewhere.
absl::Status CheckNoGraphics(const PipelineInput& input) {
  const PipelineSkeleton& skeleton = input.program.pipeline;
  const std::vector<StateSetting> state = KeyState(input.program, input.key);
  if (!state.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "state {}: a compute pipeline has no state", state.front().name));
  }
  if (!skeleton.color_formats.empty() || !skeleton.depth_format.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: a compute pipeline has no attachments",
        skeleton.color_formats.empty() ? "depth_format" : "color_formats"));
  }
  if (!skeleton.vertex_bindings.empty() ||
      !skeleton.vertex_attributes.empty()) {
    return absl::InvalidArgumentError(
        "vertex_bindings: a compute pipeline has no vertices");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<PipelineDescription>> ComputeDescription::Make(
    const DeviceHandles& device, const PipelineInput& input) {
  KILN_RETURN_IF_ERROR(CheckNoGraphics(input));
  std::unique_ptr<ComputeDescription> made(new ComputeDescription(device));
  KILN_RETURN_IF_ERROR(made->AddStages(input));
  return made;
}

VkResult ComputeDescription::CallDriver(
    VkPipelineCache cache, VkPipelineCreateFlags flags,
    VkPipelineCreationFeedbackCreateInfo& feedback,
    VkPipeline& pipeline) const {
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.pNext = &feedback;
  info.flags = flags;
  info.stage = stages().front();
  info.layout = layout();
  info.basePipelineIndex = -1;
  return vkCreateComputePipelines(device().device.get(), cache, 1, &info,
                                  nullptr, &pipeline);
}

}  // namespace kiln::pipeline
