// SPDX-License-Identifier: Apache-2.0
#pragma once

// The descriptor set layouts and pipeline layout of a program's skeleton.
// Internal.

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "shaders/pipeline/device_handles.h"

namespace kiln::pipeline {

// Destroyed in reverse: the pipeline layout first.
struct PipelineLayout {
  std::vector<OwnedSetLayout>
      sets;  // by set number; unused numbers are empty sets
  OwnedPipelineLayout layout;
};

VkShaderStageFlagBits StageBit(Stage stage);

VkShaderStageFlags StageBits(std::span<const Stage> stages);

// Errors: InvalidArgument naming the descriptor or limit at fault; Internal
// when the driver refuses.
absl::StatusOr<PipelineLayout> MakeLayout(const DeviceHandles& device,
                                          const PipelineSkeleton& skeleton);

}  // namespace kiln::pipeline
