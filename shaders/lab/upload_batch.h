// SPDX-License-Identifier: Apache-2.0
#pragma once

// Collects the buffers and images of a case and fills them in one submission.
// Internal.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shaders/lab/commands.h"
#include "shaders/lab/draw_inputs.h"
#include "shaders/lab/lab_device.h"

namespace kiln::lab {

// An image that shaders read, with the view and sampler they read it through.
struct ShaderImage {
  DeviceImage image;
  OwnedView view;
  OwnedSampler sampler;
  VkImageLayout layout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
};

enum class ImageAccess : uint8_t { kSampled, kStorage };

// Thread-compatible.
class UploadBatch {
 public:
  // Lifetime: `device` outlives the batch.
  explicit UploadBatch(const DeviceHandles& device) : device_(device) {}

  // Each makes the resource now; its content is there after Run. A buffer can
  // also be copied from, to read it back.
  absl::StatusOr<DeviceBuffer> AddBuffer(ByteView content,
                                         VkBufferUsageFlags usage);

  // `what` names the image in errors: InvalidArgument when its format or shape
  // is none the device has, or when it has not the texels its shape says.
  absl::StatusOr<ShaderImage> AddImage(const ImageInput& input,
                                       ImageAccess access,
                                       const std::string& what);

  absl::Status Run(CommandRunner& runner);

 private:
  // Appends to the staging buffer. Returns: the offset.
  VkDeviceSize Stage(ByteView content);

  const DeviceHandles& device_;
  Bytes staged_;
  std::vector<std::function<void(VkCommandBuffer, VkBuffer staging)>> copies_;
};

}  // namespace kiln::lab
