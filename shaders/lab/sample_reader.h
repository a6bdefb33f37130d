// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads every sample of an attachment, bit for bit. A resolve would average
// samples, and a copy refuses images that have several, so a compute shader
// reads them. Internal.

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/bytes.h"
#include "shaders/lab/commands.h"
#include "shaders/lab/kernel.h"
#include "shaders/lab/render_target.h"

namespace kiln::lab {

// Thread-compatible.
class SampleReader {
 public:
  // Lifetime: `device` outlives the reader.
  static absl::StatusOr<SampleReader> Make(const DeviceHandles& device);

  // Returns: the texels as PictureLayer has them. Requires: the layer was drawn
  // and its pass has ended. Errors: ResourceExhausted when the picture is
  // larger than a buffer can be; Internal.
  absl::StatusOr<Bytes> Read(CommandRunner& runner, const TargetSize& size,
                             const ReadableLayer& layer);

 private:
  explicit SampleReader(const DeviceHandles& device) : device_(&device) {}

  absl::StatusOr<const Kernel*> KernelFor(bool multisampled, bool is_depth);

  const DeviceHandles* device_;
  OwnedSampler sampler_;
  // By (multisampled, is_depth); made when first used.
  std::map<std::pair<bool, bool>, std::unique_ptr<Kernel>> kernels_;
};

}  // namespace kiln::lab
