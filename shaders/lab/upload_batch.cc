// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/upload_batch.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/lab/texel_format.h"

namespace kiln::lab {
namespace {

// A multiple of the size of every texel (1 to 32 bytes, 12 and 24 included),
// which is what offsets of image copies have to be.
constexpr size_t kStagingAlignment = 96;

uint32_t AtMip(uint32_t size, uint32_t mip) {
  return std::max(size >> mip, 1u);
}

bool IsDepth(std::string_view format) {
  return format.starts_with("d") || format.starts_with("x8_d");
}

VkImageCreateInfo ImageInfo(const ImageInput& input, VkFormat format,
                            ImageAccess access) {
  const bool is_3d = input.shape == ImageShape::k3D;
  VkImageCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
  info.imageType = is_3d ? VK_IMAGE_TYPE_3D : VK_IMAGE_TYPE_2D;
  info.format = format;
  info.extent = {input.width, input.height, is_3d ? input.layers : 1};
  info.mipLevels = input.mips;
  info.arrayLayers = is_3d ? 1 : input.layers;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.tiling = VK_IMAGE_TILING_OPTIMAL;
  info.usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT |
               (access == ImageAccess::kStorage ? VK_IMAGE_USAGE_STORAGE_BIT
                                                : VK_IMAGE_USAGE_SAMPLED_BIT);
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  info.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  return info;
}

VkImageViewType ViewType(ImageShape shape) {
  switch (shape) {
    case ImageShape::k2D:
      return VK_IMAGE_VIEW_TYPE_2D;
    case ImageShape::k2DArray:
      return VK_IMAGE_VIEW_TYPE_2D_ARRAY;
    case ImageShape::k3D:
      break;
  }
  return VK_IMAGE_VIEW_TYPE_3D;
}

absl::Status CheckShape(const ImageInput& input, const std::string& what) {
  constexpr uint32_t kMips = 32;
  if (input.width == 0 || input.height == 0 || input.layers == 0 ||
      input.mips == 0 || input.mips > kMips ||
      (input.shape == ImageShape::k2D && input.layers != 1)) {
    return absl::InvalidArgumentError(
        fmt::format("{}: an image of {}x{}, {} layers and {} mips", what,
                    input.width, input.height, input.layers, input.mips));
  }
  return absl::OkStatus();
}

// One region a mip; the texels lie one mip after the other. Returns: with the
// number of bytes they need.
std::pair<std::vector<VkBufferImageCopy>, size_t> Regions(
    const ImageInput& input, VkImageAspectFlags aspect, uint32_t texel_bytes) {
  std::vector<VkBufferImageCopy> regions;
  size_t offset = 0;
  const bool is_3d = input.shape == ImageShape::k3D;
  for (uint32_t mip = 0; mip < input.mips; ++mip) {
    VkBufferImageCopy region{};
    region.bufferOffset = offset;
    region.imageSubresource = {aspect, mip, 0, is_3d ? 1 : input.layers};
    region.imageExtent = {AtMip(input.width, mip), AtMip(input.height, mip),
                          is_3d ? AtMip(input.layers, mip) : 1};
    regions.push_back(region);
    offset += size_t{region.imageExtent.width} * region.imageExtent.height *
              region.imageExtent.depth * region.imageSubresource.layerCount *
              texel_bytes;
  }
  return {std::move(regions), offset};
}

absl::StatusOr<OwnedSampler> MakeSampler(const DeviceHandles& device,
                                         const ImageInput& input,
                                         VkFormat format) {
  VkFormatProperties properties;
  vkGetPhysicalDeviceFormatProperties(device.physical, format, &properties);
  // Integers have no filter, and not every depth format has one.
  const bool linear = (properties.optimalTilingFeatures &
                       VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT) != 0;
  VkSamplerCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
  info.magFilter = linear ? VK_FILTER_LINEAR : VK_FILTER_NEAREST;
  info.minFilter = info.magFilter;
  info.mipmapMode =
      linear ? VK_SAMPLER_MIPMAP_MODE_LINEAR : VK_SAMPLER_MIPMAP_MODE_NEAREST;
  info.addressModeU = input.repeat ? VK_SAMPLER_ADDRESS_MODE_REPEAT
                                   : VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  info.addressModeV = info.addressModeU;
  info.addressModeW = info.addressModeU;
  info.compareEnable = input.compare ? VK_TRUE : VK_FALSE;
  info.compareOp = VK_COMPARE_OP_LESS_OR_EQUAL;
  info.maxLod = VK_LOD_CLAMP_NONE;
  VkSampler sampler = VK_NULL_HANDLE;
  if (const VkResult result =
          vkCreateSampler(device.device.get(), &info, nullptr, &sampler);
      result != VK_SUCCESS) {
    return VulkanError("vkCreateSampler", result);
  }
  return OwnedSampler(device.device.get(), sampler);
}

}  // namespace

VkDeviceSize UploadBatch::Stage(ByteView content) {
  const size_t offset = (staged_.size() + kStagingAlignment - 1) /
                        kStagingAlignment * kStagingAlignment;
  staged_.resize(offset);
  staged_.insert(staged_.end(), content.begin(), content.end());
  return offset;
}

absl::StatusOr<DeviceBuffer> UploadBatch::AddBuffer(ByteView content,
                                                    VkBufferUsageFlags usage) {
  KILN_ASSIGN_OR_RETURN(DeviceBuffer made,
                        MakeBuffer(device_, content.size(),
                                   usage | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                       VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                                   MemoryUse::kDevice));
  const VkBuffer buffer = made.buffer.get();
  if (content.empty()) {
    // So that no run depends on what lay in the memory.
    copies_.emplace_back([buffer](VkCommandBuffer commands, VkBuffer) {
      vkCmdFillBuffer(commands, buffer, 0, VK_WHOLE_SIZE, 0);
    });
    return made;
  }
  const VkBufferCopy region{Stage(content), 0, content.size()};
  copies_.emplace_back(
      [buffer, region](VkCommandBuffer commands, VkBuffer staging) {
        vkCmdCopyBuffer(commands, staging, buffer, 1, &region);
      });
  return made;
}

absl::StatusOr<ShaderImage> UploadBatch::AddImage(const ImageInput& input,
                                                  ImageAccess access,
                                                  const std::string& what) {
  KILN_RETURN_IF_ERROR(CheckShape(input, what));
  KILN_ASSIGN_OR_RETURN(const VkFormat format, ParseFormat(what, input.format));
  KILN_ASSIGN_OR_RETURN(const TexelFormat texel,
                        ParseTexelFormat(input.format));
  const VkImageAspectFlags aspect = IsDepth(input.format)
                                        ? VK_IMAGE_ASPECT_DEPTH_BIT
                                        : VK_IMAGE_ASPECT_COLOR_BIT;
  auto [regions, bytes] = Regions(input, aspect, texel.bytes);
  if (input.texels.size() != bytes) {
    return absl::InvalidArgumentError(
        fmt::format("{}: an image of {} bytes of texels has {}", what, bytes,
                    input.texels.size()));
  }
  ShaderImage made;
  KILN_ASSIGN_OR_RETURN(
      made.image, MakeImage(device_, ImageInfo(input, format, access), what));
  const VkImage image = made.image.image.get();
  KILN_ASSIGN_OR_RETURN(
      made.view,
      MakeView(device_, image, ViewType(input.shape), format, aspect));
  KILN_ASSIGN_OR_RETURN(made.sampler, MakeSampler(device_, input, format));
  if (access == ImageAccess::kStorage) {
    made.layout = VK_IMAGE_LAYOUT_GENERAL;
  }
  const VkDeviceSize offset = Stage(input.texels);
  for (VkBufferImageCopy& region : regions) {
    region.bufferOffset += offset;
  }
  const LayoutChange before{image, aspect, VK_IMAGE_LAYOUT_UNDEFINED,
                            VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL};
  const LayoutChange after{image, aspect, before.to, made.layout};
  copies_.emplace_back([image, before, after, regions = std::move(regions)](
                           VkCommandBuffer commands, VkBuffer staging) {
    ChangeLayout(commands, before);
    vkCmdCopyBufferToImage(commands, staging, image, before.to,
                           static_cast<uint32_t>(regions.size()),
                           regions.data());
    ChangeLayout(commands, after);
  });
  return made;
}

absl::Status UploadBatch::Run(CommandRunner& runner) {
  KILN_ASSIGN_OR_RETURN(const DeviceBuffer staging,
                        MakeStagingBuffer(device_, staged_));
  KILN_RETURN_IF_ERROR(runner.Run([&](VkCommandBuffer commands) {
    for (const auto& copy : copies_) {
      copy(commands, staging.buffer.get());
    }
    WaitForAll(commands);
  }));
  copies_.clear();
  staged_.clear();
  return absl::OkStatus();
}

}  // namespace kiln::lab
