// SPDX-License-Identifier: Apache-2.0
#pragma once

// Opens a target: loads the driver it names and makes a VkDevice with a fixed
// set of features and extensions, so that two processes that open the same
// spec get devices whose pipeline-cache blobs are interchangeable. The worker
// and the client adapter both use this. No Vulkan header is needed to use it.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/target.h"

namespace kiln::pipeline {

struct DeviceOptions {
  // Loads VK_LAYER_KHRONOS_validation and counts what it reports. Slower; the
  // layer is part of the identity. Needs Debian's vulkan-validationlayers.
  bool validation = false;
};

// Sets the environment variables by which the Vulkan loader and Mesa choose
// the driver for `spec`, turns the driver's own disk cache off, so that a hit
// can only come from Kiln's blob, and removes implicit layers and debug
// switches that would change the code without changing the identity.
// Requires: called before the process's first Vulkan call, from its only
// thread (setenv). May be called again once every Device is destroyed.
// Errors: NotFound when no ICD manifest of that driver is installed, naming
// the folders searched, or when RADV does not know the family (RADV itself
// would abort the process).
// Blocks: for `radv:`, 100 ms to load the driver; Open is faster by that.
absl::Status SelectDriver(const TargetSpec& spec);

// What a device can hold at most, as VkPhysicalDeviceLimits names it.
struct DeviceLimits {
  uint32_t workgroup_size[3] = {};
  uint32_t workgroup_invocations = 0;
  uint32_t shared_bytes = 0;          // maxComputeSharedMemorySize
  uint32_t interface_components = 0;  // between two stages, and of a vertex
  uint32_t descriptors = 0;           // maxPerStageResources
};

struct DeviceHandles;  // the Vulkan objects, shaders/pipeline/device_handles.h

// One VkInstance and VkDevice. Thread-compatible. Must outlive everything made
// from it. Not copyable or movable: pipelines keep a reference.
class Device {
 public:
  // Errors: NotFound when the spec has no such device, FailedPrecondition when
  // the device lacks Vulkan 1.3 or a needed feature, naming it.
  // Blocks: 130 to 550 ms in a fresh process (DESIGN section 1).
  // Requires: the last `SelectDriver` was for the same spec; else also
  // FailedPrecondition.
  static absl::StatusOr<std::unique_ptr<Device>> Open(
      const TargetSpec& spec, const DeviceOptions& options = {});

  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const TargetIdentity& identity() const { return identity_; }

  DeviceLimits limits() const;

  // What the validation layer has said so far (errors, warnings and
  // performance warnings); empty without `validation`. Valid UTF-8.
  std::vector<std::string> validation_messages() const;

  // For a renderer that draws with this device. Lifetime: the device's.
  const DeviceHandles& handles() const { return *handles_; }

 private:
  explicit Device(std::unique_ptr<DeviceHandles> handles);

  std::unique_ptr<DeviceHandles> handles_;
  TargetIdentity identity_;
};

}  // namespace kiln::pipeline
