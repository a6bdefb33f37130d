// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/lab_device.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/pipeline/vulkan_names.h"

namespace kiln::lab {
namespace {

constexpr VkDeviceSize kSmallestBuffer = 16;

// Vulkan promises a coherent kind of host memory, and one for every resource.
absl::StatusOr<uint32_t> MemoryType(const DeviceHandles& device,
                                    uint32_t allowed, MemoryUse use) {
  constexpr VkMemoryPropertyFlags kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                          VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  // Best first. Reading what the processor does not cache is slow.
  VkMemoryPropertyFlags wishes[] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
  if (use == MemoryUse::kHost) {
    wishes[0] = kHost | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    wishes[1] = kHost;
  }
  VkPhysicalDeviceMemoryProperties properties;
  vkGetPhysicalDeviceMemoryProperties(device.physical, &properties);
  for (const VkMemoryPropertyFlags wish : wishes) {
    for (uint32_t i = 0; i < properties.memoryTypeCount; ++i) {
      if ((allowed & (1u << i)) != 0 &&
          (properties.memoryTypes[i].propertyFlags & wish) == wish) {
        return i;
      }
    }
  }
  return absl::FailedPreconditionError("the device has no fitting memory");
}

absl::StatusOr<OwnedMemory> Allocate(const DeviceHandles& device,
                                     const VkMemoryRequirements& needed,
                                     MemoryUse use) {
  VkMemoryAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.allocationSize = needed.size;
  KILN_ASSIGN_OR_RETURN(info.memoryTypeIndex,
                        MemoryType(device, needed.memoryTypeBits, use));
  VkDeviceMemory memory = VK_NULL_HANDLE;
  const VkResult result =
      vkAllocateMemory(device.device.get(), &info, nullptr, &memory);
  if (result != VK_SUCCESS) {
    return absl::ResourceExhaustedError(fmt::format(
        "no {} bytes of device memory: {}", needed.size,
        pipeline::VulkanValueText(pipeline::VulkanEnum::kResult, result)));
  }
  return OwnedMemory(device.device.get(), memory);
}

absl::StatusOr<void*> Map(const DeviceHandles& device,
                          const DeviceBuffer& buffer) {
  void* mapped = nullptr;
  if (const VkResult result =
          vkMapMemory(device.device.get(), buffer.memory.get(), 0,
                      VK_WHOLE_SIZE, 0, &mapped);
      result != VK_SUCCESS) {
    return VulkanError("vkMapMemory", result);
  }
  return mapped;
}

}  // namespace

absl::Status CheckRunsCommands(const DeviceHandles& device) {
  const std::string_view name = device.properties.deviceName;
  if (!name.starts_with("Null hardware")) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "the target only compiles (RADV without hardware); to draw or compute, "
      "use lavapipe or gpu:<index>");
}

absl::StatusOr<DeviceBuffer> MakeBuffer(const DeviceHandles& device,
                                        VkDeviceSize bytes,
                                        VkBufferUsageFlags usage,
                                        MemoryUse use) {
  DeviceBuffer made;
  made.bytes = std::max(bytes, kSmallestBuffer);
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = made.bytes;
  info.usage = usage;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  VkBuffer buffer = VK_NULL_HANDLE;
  if (const VkResult result =
          vkCreateBuffer(device.device.get(), &info, nullptr, &buffer);
      result != VK_SUCCESS) {
    return VulkanError("vkCreateBuffer", result);
  }
  made.buffer = OwnedBuffer(device.device.get(), buffer);
  VkMemoryRequirements needed;
  vkGetBufferMemoryRequirements(device.device.get(), buffer, &needed);
  KILN_ASSIGN_OR_RETURN(made.memory, Allocate(device, needed, use));
  if (const VkResult result =
          vkBindBufferMemory(device.device.get(), buffer, made.memory.get(), 0);
      result != VK_SUCCESS) {
    return VulkanError("vkBindBufferMemory", result);
  }
  return made;
}

absl::StatusOr<DeviceBuffer> MakeStagingBuffer(const DeviceHandles& device,
                                               ByteView content) {
  KILN_ASSIGN_OR_RETURN(
      DeviceBuffer buffer,
      MakeBuffer(device, content.size(), VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                 MemoryUse::kHost));
  KILN_ASSIGN_OR_RETURN(void* const mapped, Map(device, buffer));
  if (!content.empty()) {
    std::memcpy(mapped, content.data(), content.size());
  }
  vkUnmapMemory(device.device.get(), buffer.memory.get());
  return buffer;
}

absl::StatusOr<Bytes> ReadBuffer(const DeviceHandles& device,
                                 const DeviceBuffer& buffer,
                                 VkDeviceSize bytes) {
  KILN_ASSIGN_OR_RETURN(const void* const mapped, Map(device, buffer));
  const auto* const begin = static_cast<const std::byte*>(mapped);
  Bytes content(begin, begin + std::min(bytes, buffer.bytes));
  vkUnmapMemory(device.device.get(), buffer.memory.get());
  return content;
}

absl::StatusOr<DeviceImage> MakeImage(const DeviceHandles& device,
                                      const VkImageCreateInfo& info,
                                      const std::string& what) {
  VkImageFormatProperties limits;
  const VkResult supported = vkGetPhysicalDeviceImageFormatProperties(
      device.physical, info.format, info.imageType, info.tiling, info.usage,
      info.flags, &limits);
  if (supported != VK_SUCCESS || info.extent.width > limits.maxExtent.width ||
      info.extent.height > limits.maxExtent.height ||
      info.extent.depth > limits.maxExtent.depth ||
      info.arrayLayers > limits.maxArrayLayers ||
      info.mipLevels > limits.maxMipLevels ||
      (info.samples & limits.sampleCounts) == 0) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: the device has no such image of {}", what,
        pipeline::VulkanValueText(pipeline::VulkanEnum::kFormat, info.format)));
  }
  VkImage image = VK_NULL_HANDLE;
  if (const VkResult result =
          vkCreateImage(device.device.get(), &info, nullptr, &image);
      result != VK_SUCCESS) {
    return VulkanError("vkCreateImage", result);
  }
  DeviceImage made;
  made.image = OwnedImage(device.device.get(), image);
  VkMemoryRequirements needed;
  vkGetImageMemoryRequirements(device.device.get(), image, &needed);
  KILN_ASSIGN_OR_RETURN(made.memory,
                        Allocate(device, needed, MemoryUse::kDevice));
  if (const VkResult result =
          vkBindImageMemory(device.device.get(), image, made.memory.get(), 0);
      result != VK_SUCCESS) {
    return VulkanError("vkBindImageMemory", result);
  }
  return made;
}

absl::StatusOr<OwnedView> MakeView(const DeviceHandles& device, VkImage image,
                                   VkImageViewType type, VkFormat format,
                                   VkImageAspectFlags aspect,
                                   VkImageUsageFlags usage) {
  VkImageViewUsageCreateInfo used_as{};
  used_as.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO;
  used_as.usage = usage;
  VkImageViewCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
  info.pNext = usage == 0 ? nullptr : &used_as;
  info.image = image;
  info.viewType = type;
  info.format = format;
  info.subresourceRange = {aspect, 0, VK_REMAINING_MIP_LEVELS, 0,
                           VK_REMAINING_ARRAY_LAYERS};
  VkImageView view = VK_NULL_HANDLE;
  if (const VkResult result =
          vkCreateImageView(device.device.get(), &info, nullptr, &view);
      result != VK_SUCCESS) {
    return VulkanError("vkCreateImageView", result);
  }
  return OwnedView(device.device.get(), view);
}

absl::StatusOr<VkFormat> ParseFormat(const std::string& field,
                                     const std::string& name) {
  KILN_ASSIGN_OR_RETURN(
      const int32_t value,
      pipeline::ParseVulkanName(pipeline::VulkanEnum::kFormat, field, name));
  return static_cast<VkFormat>(value);
}

}  // namespace kiln::lab
