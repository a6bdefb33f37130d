// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a compute shader on plain data and hands back what it wrote: for
// derivations, for testing GLSL functions, for measuring workgroup sizes. No
// Vulkan header is needed to use it.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/bytes.h"
#include "proto/program.h"
#include "shaders/lab/draw_inputs.h"
#include "shaders/pipeline/device.h"

namespace kiln::lab {

// What is bound at (set, binding) of a compute shader.
struct ComputeInput {
  uint32_t set = 0;
  uint32_t binding = 0;
  std::string type = "storage_buffer";  // a VkDescriptorType, as in programs
  Bytes bytes;                          // of a buffer
  std::vector<ImageInput> images;       // of an image descriptor, one each
};

struct DispatchRequest {
  std::span<const uint32_t> spirv;  // validated; entry point "main"
  std::vector<ComputeInput> inputs;
  Bytes push_constants;
  std::vector<Constant> constants;  // every one must exist in the module
  uint32_t groups[3] = {1, 1, 1};   // workgroups

  // Above 0, the dispatch is run `warm_up` times untimed and then `timed`
  // times with a time stamp on both sides, in one submission. Each finds the
  // buffers as the one before left them.
  uint32_t timed = 0;
  uint32_t warm_up = 0;
};

struct DispatchResult {
  // By position in `inputs`: the content of a storage buffer afterwards, and
  // nothing for any other type.
  std::vector<Bytes> buffers;
  std::vector<double> microseconds;  // of the timed ones
};

// Errors: InvalidArgument naming what does not fit; FailedPrecondition on a
// device that runs no commands, or has no time stamps while `timed` asks for
// them; Internal when the driver fails. Blocks: until the device is done.
absl::StatusOr<DispatchResult> Dispatch(pipeline::Device& device,
                                        const DispatchRequest& request);

// The same shader many times on other inputs, compiled once.
// Thread-compatible; uses the device's queue.
class ComputeShader {
 public:
  // Takes spirv, the places and types of the inputs, the number of push
  // constants and the constants from `request`. Lifetime: `device` outlives
  // the shader. Errors: as Dispatch.
  static absl::StatusOr<std::unique_ptr<ComputeShader>> Make(
      pipeline::Device& device, const DispatchRequest& request);

  ComputeShader(const ComputeShader&) = delete;  // owns a pipeline
  ComputeShader& operator=(const ComputeShader&) = delete;
  ~ComputeShader();

  // Requires: inputs at the same places and of the same types as at Make;
  // `spirv` and `constants` are not looked at. Errors, Blocks: as Dispatch.
  absl::StatusOr<DispatchResult> Run(const DispatchRequest& request);

 private:
  struct Objects;
  explicit ComputeShader(std::unique_ptr<Objects> objects);

  std::unique_ptr<Objects> objects_;
};

}  // namespace kiln::lab
