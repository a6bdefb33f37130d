// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory, buffers and images on a pipeline::Device: one move-only owner each.
// Every resource has memory of its own, which is plain and enough for the
// few dozen a case needs. Internal.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/bytes.h"
#include "shaders/pipeline/device.h"
#include "shaders/pipeline/device_handles.h"

namespace kiln::lab {

using pipeline::DeviceHandles;
using pipeline::VulkanError;

using OwnedMemory = pipeline::OwnedChild<VkDeviceMemory, vkFreeMemory>;
using OwnedBuffer = pipeline::OwnedChild<VkBuffer, vkDestroyBuffer>;
using OwnedImage = pipeline::OwnedChild<VkImage, vkDestroyImage>;
using OwnedView = pipeline::OwnedChild<VkImageView, vkDestroyImageView>;
using OwnedSampler = pipeline::OwnedChild<VkSampler, vkDestroySampler>;
using OwnedDescriptorPool =
    pipeline::OwnedChild<VkDescriptorPool, vkDestroyDescriptorPool>;
using OwnedQueryPool = pipeline::OwnedChild<VkQueryPool, vkDestroyQueryPool>;

// Errors: FailedPrecondition on RADV's null hardware, where recording a command
// ends the process.
absl::Status CheckRunsCommands(const DeviceHandles& device);

// Destroyed in reverse: the buffer before its memory.
struct DeviceBuffer {
  OwnedMemory memory;
  OwnedBuffer buffer;
  VkDeviceSize bytes = 0;
};

struct DeviceImage {
  OwnedMemory memory;
  OwnedImage image;
};

enum class MemoryUse : uint8_t {
  kDevice,  // the processor does not touch it
  kHost,    // the processor writes or reads it; coherent
};

// Makes a buffer of at least `bytes`, and at least 16. Its content is
// undefined. Errors: ResourceExhausted when memory is short.
absl::StatusOr<DeviceBuffer> MakeBuffer(const DeviceHandles& device,
                                        VkDeviceSize bytes,
                                        VkBufferUsageFlags usage,
                                        MemoryUse use);

// Makes a kHost buffer to copy from, with `content`.
absl::StatusOr<DeviceBuffer> MakeStagingBuffer(const DeviceHandles& device,
                                               ByteView content);

// Requires: a kHost buffer that no command is using.
absl::StatusOr<Bytes> ReadBuffer(const DeviceHandles& device,
                                 const DeviceBuffer& buffer,
                                 VkDeviceSize bytes);

// Makes an image in device memory, layout undefined.
// Errors: InvalidArgument when the device has no such image, with `what`.
absl::StatusOr<DeviceImage> MakeImage(const DeviceHandles& device,
                                      const VkImageCreateInfo& info,
                                      const std::string& what);

// `usage` 0: the image's own.
absl::StatusOr<OwnedView> MakeView(const DeviceHandles& device, VkImage image,
                                   VkImageViewType type, VkFormat format,
                                   VkImageAspectFlags aspect,
                                   VkImageUsageFlags usage = 0);

// As the pipelines of shaders/pipeline/ read it. Errors: InvalidArgument.
absl::StatusOr<VkFormat> ParseFormat(const std::string& field,
                                     const std::string& name);

}  // namespace kiln::lab
