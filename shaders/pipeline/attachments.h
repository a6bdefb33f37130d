// SPDX-License-Identifier: Apache-2.0
#pragma once

// The formats of a program's skeleton, parsed and checked against a device: a
// driver handed a format it cannot render to is free to crash. Internal.

#include <vector>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "shaders/pipeline/device_handles.h"
#include "shaders/pipeline/pipeline_state.h"

namespace kiln::pipeline {

struct Attachments {
  std::vector<VkFormat> colors;
  VkFormat depth = VK_FORMAT_UNDEFINED;
  VkFormat stencil =
      VK_FORMAT_UNDEFINED;  // the depth format again, if it has stencil
};

// Errors: InvalidArgument naming the format or sample count at fault.
absl::StatusOr<Attachments> ReadAttachments(const DeviceHandles& device,
                                            const PipelineSkeleton& skeleton,
                                            const PipelineState& state);

struct VertexInput {
  std::vector<VkVertexInputBindingDescription> bindings;
  std::vector<VkVertexInputAttributeDescription> attributes;
};

// Errors: InvalidArgument naming the binding or attribute at fault.
absl::StatusOr<VertexInput> ReadVertexInput(const DeviceHandles& device,
                                            const PipelineSkeleton& skeleton);

}  // namespace kiln::pipeline
