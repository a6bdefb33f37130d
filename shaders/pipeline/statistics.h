// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a driver says about a pipeline it made with CAPTURE_STATISTICS, and the
// few costs that every driver calls something else. Internal.

#include "absl/status/statusor.h"
#include "shaders/pipeline/device_handles.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::pipeline {

// Returns: empty where the driver has no statistics.
absl::StatusOr<PipelineStatistics> ReadStatistics(const DeviceHandles& device,
                                                  VkPipeline pipeline);

}  // namespace kiln::pipeline
