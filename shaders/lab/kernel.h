// SPDX-License-Identifier: Apache-2.0
#pragma once

// A compute pipeline and its layout, made from raw SPIR-V. Internal; compute.h
// is the door.

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "shaders/lab/lab_device.h"
#include "shaders/pipeline/pipeline_layout.h"

namespace kiln::lab {

// Destroyed in reverse: the pipeline first.
struct Kernel {
  pipeline::PipelineLayout layout;
  pipeline::OwnedPipeline pipeline;
};

struct KernelInput {
  std::span<const uint32_t> spirv;  // validated; entry point "main"
  std::vector<Descriptor> descriptors;
  uint32_t push_constant_bytes = 0;
  std::vector<Constant> constants;
};

// Errors: InvalidArgument naming the descriptor or constant at fault; Internal
// when the driver refuses. Blocks: for as long as the driver compiles.
absl::StatusOr<Kernel> MakeKernel(const DeviceHandles& device,
                                  KernelInput input);

}  // namespace kiln::lab
