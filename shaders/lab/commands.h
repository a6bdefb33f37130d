// SPDX-License-Identifier: Apache-2.0
#pragma once

// Commands that are recorded, run and waited for at once. Barriers wait for
// everything before them: a laboratory wants them right, not clever. Internal.

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shaders/lab/lab_device.h"

namespace kiln::lab {

using OwnedCommandPool =
    pipeline::OwnedChild<VkCommandPool, vkDestroyCommandPool>;
using OwnedFence = pipeline::OwnedChild<VkFence, vkDestroyFence>;

// Thread-compatible; the device's queue is used by one thread at a time.
class CommandRunner {
 public:
  // Errors: FailedPrecondition on a device that runs no commands.
  // Lifetime: `device` outlives the runner.
  static absl::StatusOr<CommandRunner> Make(const DeviceHandles& device);

  // Records with `record`, submits, and waits for the end.
  // Errors: Internal when the device is lost. Blocks: for as long as it runs.
  absl::Status Run(const std::function<void(VkCommandBuffer)>& record);

 private:
  explicit CommandRunner(const DeviceHandles& device) : device_(&device) {}

  const DeviceHandles* device_;
  OwnedCommandPool pool_;
  VkCommandBuffer buffer_ = VK_NULL_HANDLE;  // of the pool
  OwnedFence fence_;
};

// Everything after it sees what everything before it wrote.
void WaitForAll(VkCommandBuffer commands);

// The same, for one image that changes its layout on the way.
struct LayoutChange {
  VkImage image = VK_NULL_HANDLE;
  VkImageAspectFlags aspect = VK_IMAGE_ASPECT_COLOR_BIT;
  VkImageLayout from = VK_IMAGE_LAYOUT_UNDEFINED;  // undefined: content is lost
  VkImageLayout to = VK_IMAGE_LAYOUT_GENERAL;
};

void ChangeLayout(VkCommandBuffer commands, const LayoutChange& change);

// Pairs of time stamps around pieces of work.
class Stopwatch {
 public:
  // Errors: FailedPrecondition when the queue has no time stamps.
  static absl::StatusOr<Stopwatch> Make(const DeviceHandles& device,
                                        uint32_t intervals);

  void Reset(VkCommandBuffer commands) const;

  // Both wait for what is before them, so that intervals do not overlap.
  void Start(VkCommandBuffer commands, uint32_t interval) const;
  void Stop(VkCommandBuffer commands, uint32_t interval) const;

  // Requires: the commands have run.
  absl::StatusOr<std::vector<double>> Microseconds() const;

 private:
  explicit Stopwatch(const DeviceHandles& device) : device_(&device) {}

  const DeviceHandles* device_;
  OwnedQueryPool queries_;
  uint32_t intervals_ = 0;
  uint32_t valid_bits_ = 64;
};

}  // namespace kiln::lab
