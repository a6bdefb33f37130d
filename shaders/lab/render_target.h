// SPDX-License-Identifier: Apache-2.0
#pragma once

// The attachments of a program's pipelines at one size, and the pass that draws
// to them. Internal.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "shaders/lab/draw_inputs.h"
#include "shaders/lab/lab_device.h"

namespace kiln::lab {

// An attachment as sample_reader.h reads it.
struct ReadableLayer {
  std::string format;
  uint32_t texel_bytes = 0;
  bool is_depth = false;
  OwnedView view;  // as unsigned integers of the texel's size, or as the depth
  VkImageLayout layout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
};

struct TargetSize {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t samples = 1;

  friend bool operator==(const TargetSize&, const TargetSize&) = default;
};

// Thread-compatible.
class RenderTarget {
 public:
  // `readable`: the attachments can be read afterwards. Otherwise they are as a
  // game makes them, which is what times are taken of.
  // Errors: InvalidArgument naming the attachment that the device has not got.
  static absl::StatusOr<RenderTarget> Make(const DeviceHandles& device,
                                           const PipelineSkeleton& skeleton,
                                           TargetSize size, bool readable);

  const TargetSize& size() const { return size_; }

  // Colours in order, then depth. Empty unless `readable`.
  const std::vector<ReadableLayer>& layers() const { return layers_; }

  // Begins a pass over cleared attachments and sets viewport and scissor.
  void Begin(VkCommandBuffer commands, const DrawInputs& inputs) const;

  // Ends it; the layers can be read by what is recorded next.
  void End(VkCommandBuffer commands) const;

 private:
  struct Attachment {
    DeviceImage image;
    OwnedView view;
    VkImageAspectFlags aspect = VK_IMAGE_ASPECT_COLOR_BIT;
    VkImageLayout layout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
    bool is_integer = false;
  };

  absl::Status AddColor(const DeviceHandles& device, VkFormat format,
                        const std::string& name);
  absl::Status AddDepth(const DeviceHandles& device, VkFormat format,
                        const std::string& name, bool has_stencil);

  TargetSize size_;
  bool readable_ = false;
  std::vector<Attachment> attachments_;  // colours, then depth
  std::vector<ReadableLayer> layers_;
  bool has_depth_ = false;
  bool has_stencil_ = false;
};

}  // namespace kiln::lab
