// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/commands.h"

#include <utility>

#include "proto/status_macros.h"

namespace kiln::lab {
namespace {

constexpr VkAccessFlags2 kEveryAccess =
    VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;

uint32_t TimestampBits(const DeviceHandles& device) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device.physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device.physical, &count,
                                           families.data());
  return device.queue_family < count
             ? families[device.queue_family].timestampValidBits
             : 0;
}

}  // namespace

absl::StatusOr<CommandRunner> CommandRunner::Make(const DeviceHandles& device) {
  KILN_RETURN_IF_ERROR(CheckRunsCommands(device));
  CommandRunner made(device);
  VkCommandPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool_info.queueFamilyIndex = device.queue_family;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkResult result =
      vkCreateCommandPool(device.device.get(), &pool_info, nullptr, &pool);
  if (result != VK_SUCCESS) {
    return VulkanError("vkCreateCommandPool", result);
  }
  made.pool_ = OwnedCommandPool(device.device.get(), pool);
  VkCommandBufferAllocateInfo buffer_info{};
  buffer_info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  buffer_info.commandPool = pool;
  buffer_info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  buffer_info.commandBufferCount = 1;
  result = vkAllocateCommandBuffers(device.device.get(), &buffer_info,
                                    &made.buffer_);
  if (result != VK_SUCCESS) {
    return VulkanError("vkAllocateCommandBuffers", result);
  }
  VkFenceCreateInfo fence_info{};
  fence_info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  VkFence fence = VK_NULL_HANDLE;
  result = vkCreateFence(device.device.get(), &fence_info, nullptr, &fence);
  if (result != VK_SUCCESS) {
    return VulkanError("vkCreateFence", result);
  }
  made.fence_ = OwnedFence(device.device.get(), fence);
  return made;
}

absl::Status CommandRunner::Run(
    const std::function<void(VkCommandBuffer)>& record) {
  VkDevice device = device_->device.get();
  if (const VkResult result = vkResetCommandPool(device, pool_.get(), 0);
      result != VK_SUCCESS) {
    return VulkanError("vkResetCommandPool", result);
  }
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  if (const VkResult result = vkBeginCommandBuffer(buffer_, &begin);
      result != VK_SUCCESS) {
    return VulkanError("vkBeginCommandBuffer", result);
  }
  record(buffer_);
  if (const VkResult result = vkEndCommandBuffer(buffer_);
      result != VK_SUCCESS) {
    return VulkanError("vkEndCommandBuffer", result);
  }
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &buffer_;
  if (const VkResult result =
          vkQueueSubmit(device_->queue, 1, &submit, fence_.get());
      result != VK_SUCCESS) {
    return VulkanError("vkQueueSubmit", result);
  }
  VkFence fence = fence_.get();
  if (const VkResult result =
          vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX);
      result != VK_SUCCESS) {
    return VulkanError("vkWaitForFences", result);
  }
  if (const VkResult result = vkResetFences(device, 1, &fence);
      result != VK_SUCCESS) {
    return VulkanError("vkResetFences", result);
  }
  return absl::OkStatus();
}

void WaitForAll(VkCommandBuffer commands) {
  VkMemoryBarrier2 barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
  barrier.srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  barrier.srcAccessMask = kEveryAccess;
  // To the processor as well, which maps what the last commands wrote.
  barrier.dstStageMask =
      VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT;
  barrier.dstAccessMask = kEveryAccess;
  VkDependencyInfo dependency{};
  dependency.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
  dependency.memoryBarrierCount = 1;
  dependency.pMemoryBarriers = &barrier;
  vkCmdPipelineBarrier2(commands, &dependency);
}

void ChangeLayout(VkCommandBuffer commands, const LayoutChange& change) {
  VkImageMemoryBarrier2 barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2;
  barrier.srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  barrier.srcAccessMask = kEveryAccess;
  barrier.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  barrier.dstAccessMask = kEveryAccess;
  barrier.oldLayout = change.from;
  barrier.newLayout = change.to;
  barrier.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = change.image;
  barrier.subresourceRange = {change.aspect, 0, VK_REMAINING_MIP_LEVELS, 0,
                              VK_REMAINING_ARRAY_LAYERS};
  VkDependencyInfo dependency{};
  dependency.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
  dependency.imageMemoryBarrierCount = 1;
  dependency.pImageMemoryBarriers = &barrier;
  vkCmdPipelineBarrier2(commands, &dependency);
}

absl::StatusOr<Stopwatch> Stopwatch::Make(const DeviceHandles& device,
                                          uint32_t intervals) {
  Stopwatch made(device);
  made.intervals_ = intervals;
  made.valid_bits_ = TimestampBits(device);
  if (made.valid_bits_ == 0) {
    return absl::FailedPreconditionError(
        "the device's queue has no time stamps");
  }
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = 2 * intervals;
  VkQueryPool pool = VK_NULL_HANDLE;
  if (const VkResult result =
          vkCreateQueryPool(device.device.get(), &info, nullptr, &pool);
      result != VK_SUCCESS) {
    return VulkanError("vkCreateQueryPool", result);
  }
  made.queries_ = OwnedQueryPool(device.device.get(), pool);
  return made;
}

void Stopwatch::Reset(VkCommandBuffer commands) const {
  vkCmdResetQueryPool(commands, queries_.get(), 0, 2 * intervals_);
}

void Stopwatch::Start(VkCommandBuffer commands, uint32_t interval) const {
  WaitForAll(commands);
  vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                       queries_.get(), 2 * interval);
}

void Stopwatch::Stop(VkCommandBuffer commands, uint32_t interval) const {
  vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                       queries_.get(), 2 * interval + 1);
}

absl::StatusOr<std::vector<double>> Stopwatch::Microseconds() const {
  constexpr double kNanosecondsPerMicrosecond = 1000;
  std::vector<uint64_t> stamps(size_t{2} * intervals_);
  if (const VkResult result = vkGetQueryPoolResults(
          device_->device.get(), queries_.get(), 0,
          static_cast<uint32_t>(stamps.size()),
          stamps.size() * sizeof(uint64_t), stamps.data(), sizeof(uint64_t),
          VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
      result != VK_SUCCESS) {
    return VulkanError("vkGetQueryPoolResults", result);
  }
  // Of stamps with fewer bits, the difference is right modulo their range.
  const uint64_t mask =
      valid_bits_ >= 64 ? ~uint64_t{0} : (uint64_t{1} << valid_bits_) - 1;
  std::vector<double> result;
  for (uint32_t i = 0; i < intervals_; ++i) {
    const uint64_t ticks = (stamps[2 * i + 1] - stamps[2 * i]) & mask;
    result.push_back(static_cast<double>(ticks) *
                     device_->properties.limits.timestampPeriod /
                     kNanosecondsPerMicrosecond);
  }
  return result;
}

}  // namespace kiln::lab
