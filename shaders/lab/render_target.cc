// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/render_target.h"

#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/lab/commands.h"
#include "shaders/lab/texel_format.h"
#include "shaders/pipeline/attachments.h"

namespace kiln::lab {
namespace {

constexpr const char* kDepthRead = "r32_sfloat";

VkImageCreateInfo ImageInfo(const TargetSize& size, VkFormat format,
                            VkImageUsageFlags usage) {
  VkImageCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = format;
  info.extent = {size.width, size.height, 1};
  info.mipLevels = 1;
  info.arrayLayers = 1;
  info.samples = static_cast<VkSampleCountFlagBits>(size.samples);
  info.tiling = VK_IMAGE_TILING_OPTIMAL;
  info.usage = usage;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  info.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  return info;
}

// Texels are read as unsigned integers of their size, so that no bit of theirs
// is interpreted on the way. All of these can be sampled on every device.
absl::StatusOr<VkFormat> BitsFormat(const std::string& name, uint32_t bytes) {
  switch (bytes) {
    case 1:
      return VK_FORMAT_R8_UINT;
    case 2:
      return VK_FORMAT_R16_UINT;
    case 4:
      return VK_FORMAT_R32_UINT;
    case 8:
      return VK_FORMAT_R32G32_UINT;
    case 16:
      return VK_FORMAT_R32G32B32A32_UINT;
    default:
      return absl::InvalidArgumentError(
          fmt::format("{}: no attachment with texels of {} bytes can be read",
                      name, bytes));
  }
}

VkRenderingAttachmentInfo AttachmentInfo(VkImageView view,
                                         VkImageLayout layout) {
  VkRenderingAttachmentInfo info{};
  info.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO;
  info.imageView = view;
  info.imageLayout = layout;
  info.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
  info.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
  return info;
}

VkClearColorValue ClearColor(const float (&color)[4], bool is_integer) {
  VkClearColorValue value{};
  for (int i = 0; i < 4; ++i) {
    if (is_integer) {
      value.int32[i] = static_cast<int32_t>(color[i]);
    } else {
      value.float32[i] = color[i];
    }
  }
  return value;
}

}  // namespace

absl::StatusOr<RenderTarget> RenderTarget::Make(
    const DeviceHandles& device, const PipelineSkeleton& skeleton,
    TargetSize size, bool readable) {
  const VkPhysicalDeviceLimits& limits = device.properties.limits;
  if (size.width == 0 || size.height == 0 ||
      size.width > limits.maxFramebufferWidth ||
      size.height > limits.maxFramebufferHeight) {
    return absl::InvalidArgumentError(fmt::format(
        "a picture of {}x{}; the device draws up to {}x{}", size.width,
        size.height, limits.maxFramebufferWidth, limits.maxFramebufferHeight));
  }
  KILN_ASSIGN_OR_RETURN(const pipeline::Attachments formats,
                        pipeline::ReadAttachments(device, skeleton, {}));
  RenderTarget made;
  made.size_ = size;
  made.readable_ = readable;
  for (size_t i = 0; i < formats.colors.size(); ++i) {
    KILN_RETURN_IF_ERROR(
        made.AddColor(device, formats.colors[i], skeleton.color_formats[i]));
  }
  if (formats.depth != VK_FORMAT_UNDEFINED) {
    KILN_RETURN_IF_ERROR(made.AddDepth(device, formats.depth,
                                       skeleton.depth_format,
                                       formats.stencil != VK_FORMAT_UNDEFINED));
  }
  return made;
}

absl::Status RenderTarget::AddColor(const DeviceHandles& device,
                                    VkFormat format, const std::string& name) {
  KILN_ASSIGN_OR_RETURN(const TexelFormat texel, ParseTexelFormat(name));
  VkImageCreateInfo info =
      ImageInfo(size_, format, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
  if (readable_) {
    info.usage |= VK_IMAGE_USAGE_SAMPLED_BIT;
    info.flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT;
  }
  Attachment made;
  made.is_integer =
      texel.form == NumberForm::kUint || texel.form == NumberForm::kSint;
  KILN_ASSIGN_OR_RETURN(made.image,
                        MakeImage(device, info, "color attachment"));
  const VkImage image = made.image.image.get();
  KILN_ASSIGN_OR_RETURN(
      made.view, MakeView(device, image, VK_IMAGE_VIEW_TYPE_2D, format,
                          made.aspect, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT));
  if (readable_) {
    KILN_ASSIGN_OR_RETURN(const VkFormat bits, BitsFormat(name, texel.bytes));
    ReadableLayer layer{name, texel.bytes, false, {}};
    KILN_ASSIGN_OR_RETURN(layer.view,
                          MakeView(device, image, VK_IMAGE_VIEW_TYPE_2D, bits,
                                   made.aspect, VK_IMAGE_USAGE_SAMPLED_BIT));
    layers_.push_back(std::move(layer));
  }
  attachments_.push_back(std::move(made));
  return absl::OkStatus();
}

absl::Status RenderTarget::AddDepth(const DeviceHandles& device,
                                    VkFormat format, const std::string& name,
                                    bool has_stencil) {
  has_depth_ = true;
  has_stencil_ = has_stencil;
  VkImageCreateInfo info =
      ImageInfo(size_, format, VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT);
  if (readable_) {
    info.usage |= VK_IMAGE_USAGE_SAMPLED_BIT;
  }
  Attachment made;
  made.layout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
  made.aspect = VK_IMAGE_ASPECT_DEPTH_BIT;
  if (has_stencil) {
    made.aspect |= VK_IMAGE_ASPECT_STENCIL_BIT;
  }
  KILN_ASSIGN_OR_RETURN(made.image, MakeImage(device, info, name));
  const VkImage image = made.image.image.get();
  KILN_ASSIGN_OR_RETURN(
      made.view,
      MakeView(device, image, VK_IMAGE_VIEW_TYPE_2D, format, made.aspect,
               VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT));
  if (readable_) {
    ReadableLayer layer{kDepthRead, sizeof(float), true, {}};
    layer.layout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL;
    KILN_ASSIGN_OR_RETURN(
        layer.view,
        MakeView(device, image, VK_IMAGE_VIEW_TYPE_2D, format,
                 VK_IMAGE_ASPECT_DEPTH_BIT, VK_IMAGE_USAGE_SAMPLED_BIT));
    layers_.push_back(std::move(layer));
  }
  attachments_.push_back(std::move(made));
  return absl::OkStatus();
}

void RenderTarget::Begin(VkCommandBuffer commands,
                         const DrawInputs& inputs) const {
  std::vector<VkRenderingAttachmentInfo> infos;
  for (const Attachment& attachment : attachments_) {
    ChangeLayout(commands, {attachment.image.image.get(), attachment.aspect,
                            VK_IMAGE_LAYOUT_UNDEFINED, attachment.layout});
    infos.push_back(AttachmentInfo(attachment.view.get(), attachment.layout));
    infos.back().clearValue.color =
        ClearColor(inputs.clear_color, attachment.is_integer);
  }
  VkRenderingInfo info{};
  info.sType = VK_STRUCTURE_TYPE_RENDERING_INFO;
  info.renderArea.extent = {size_.width, size_.height};
  info.layerCount = 1;
  info.colorAttachmentCount =
      static_cast<uint32_t>(infos.size() - (has_depth_ ? 1 : 0));
  info.pColorAttachments = infos.data();
  if (has_depth_) {
    infos.back().clearValue.depthStencil = {inputs.clear_depth, 0};
    info.pDepthAttachment = &infos.back();
    info.pStencilAttachment = has_stencil_ ? &infos.back() : nullptr;
  }
  vkCmdBeginRendering(commands, &info);
  const VkViewport viewport{
      0, 0, static_cast<float>(size_.width), static_cast<float>(size_.height),
      0, 1};
  vkCmdSetViewport(commands, 0, 1, &viewport);
  vkCmdSetScissor(commands, 0, 1, &info.renderArea);
}

void RenderTarget::End(VkCommandBuffer commands) const {
  vkCmdEndRendering(commands);
  for (size_t i = 0; i < layers_.size(); ++i) {
    ChangeLayout(commands,
                 {attachments_[i].image.image.get(), attachments_[i].aspect,
                  attachments_[i].layout, layers_[i].layout});
  }
}

}  // namespace kiln::lab
