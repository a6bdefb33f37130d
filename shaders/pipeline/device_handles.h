// SPDX-License-Identifier: Apache-2.0
#pragma once

// The Vulkan objects behind Device and Pipeline: one move-only owner per
// handle. Internal: included only by the .cc files and internal headers of this
// folder (and by a renderer that draws with our device).

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <vulkan/vulkan.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace kiln::pipeline {

// Owns an object that is destroyed by itself: VkInstance, VkDevice. Move-only.
template <typename Handle, auto kDestroy>
class OwnedRoot {
 public:
  OwnedRoot() = default;

  explicit OwnedRoot(Handle handle) : handle_(handle) {}

  OwnedRoot(const OwnedRoot&) = delete;
  OwnedRoot& operator=(const OwnedRoot&) = delete;

  OwnedRoot(OwnedRoot&& other) noexcept
      : handle_(std::exchange(other.handle_, Handle())) {}

  OwnedRoot& operator=(OwnedRoot&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  ~OwnedRoot() {
    if (handle_ != Handle()) {
      kDestroy(handle_, nullptr);
    }
  }

  Handle get() const { return handle_; }

 private:
  Handle handle_ = Handle();
};

// Owns an object that belongs to a device, which must outlive it. Move-only.
template <typename Handle, auto kDestroy>
class OwnedChild {
 public:
  OwnedChild() = default;

  OwnedChild(VkDevice device, Handle handle)
      : device_(device), handle_(handle) {}

  OwnedChild(const OwnedChild&) = delete;
  OwnedChild& operator=(const OwnedChild&) = delete;

  OwnedChild(OwnedChild&& other) noexcept
      : device_(other.device_),
        handle_(std::exchange(other.handle_, Handle())) {}

  OwnedChild& operator=(OwnedChild&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  ~OwnedChild() {
    if (handle_ != Handle()) {
      kDestroy(device_, handle_, nullptr);
    }
  }

  Handle get() const { return handle_; }

 private:
  VkDevice device_ = VK_NULL_HANDLE;
  Handle handle_ = Handle();
};

using OwnedInstance = OwnedRoot<VkInstance, vkDestroyInstance>;
using OwnedDevice = OwnedRoot<VkDevice, vkDestroyDevice>;
using OwnedShaderModule = OwnedChild<VkShaderModule, vkDestroyShaderModule>;
using OwnedPipelineCache = OwnedChild<VkPipelineCache, vkDestroyPipelineCache>;
using OwnedPipelineLayout =
    OwnedChild<VkPipelineLayout, vkDestroyPipelineLayout>;
using OwnedSetLayout =
    OwnedChild<VkDescriptorSetLayout, vkDestroyDescriptorSetLayout>;
using OwnedPipeline = OwnedChild<VkPipeline, vkDestroyPipeline>;

// What the validation layer said, at most kMessages of it. Thread-safe.
class MessageLog {
 public:
  void Add(std::string_view message);
  std::vector<std::string> All() const;

 private:
  static constexpr size_t kMessages = 1000;

  mutable absl::Mutex mutex_;  // leaf: held only inside these two calls
  std::vector<std::string> messages_ ABSL_GUARDED_BY(mutex_);
};

// Owns the VkDebugUtilsMessengerEXT of an instance. Move-only.
class OwnedMessenger {
 public:
  OwnedMessenger() = default;

  OwnedMessenger(VkInstance instance, VkDebugUtilsMessengerEXT messenger)
      : instance_(instance), messenger_(messenger) {}

  OwnedMessenger(const OwnedMessenger&) = delete;
  OwnedMessenger& operator=(const OwnedMessenger&) = delete;

  OwnedMessenger(OwnedMessenger&& other) noexcept
      : instance_(other.instance_),
        messenger_(std::exchange(other.messenger_, VK_NULL_HANDLE)) {}

  OwnedMessenger& operator=(OwnedMessenger&& other) noexcept;
  ~OwnedMessenger();

 private:
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};

// Declared in the order of dependency, so that destruction is right. Not
// movable: the messenger keeps the address of `messages`.
struct DeviceHandles {
  DeviceHandles() = default;
  DeviceHandles(const DeviceHandles&) = delete;
  DeviceHandles& operator=(const DeviceHandles&) = delete;

  MessageLog messages;
  OwnedInstance instance;
  OwnedMessenger messenger;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};
  OwnedDevice device;
  uint32_t queue_family = 0;
  VkQueue queue =
      VK_NULL_HANDLE;  // graphics; external synchronisation is the caller's

  VkPhysicalDeviceFeatures features{};     // those enabled
  std::vector<std::string> feature_names;  // the same and newer ones, sorted
  std::vector<std::string> extensions;     // of the device, sorted
  std::vector<std::string> layers;
  std::string driver_build;  // see identity.h

  // VK_KHR_pipeline_executable_properties; null where the driver lacks it.
  PFN_vkGetPipelineExecutablePropertiesKHR get_executables = nullptr;
  PFN_vkGetPipelineExecutableStatisticsKHR get_statistics = nullptr;
};

// Internal "<call>: <result by name>", e.g. "vkCreateDevice:
// error_device_lost".
absl::Status VulkanError(std::string_view call, VkResult result);

}  // namespace kiln::pipeline
