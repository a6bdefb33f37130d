// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/identity.h"

#include <algorithm>
#include <climits>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/text.h"
#include "shaders/pipeline/vulkan_names.h"

namespace kiln::pipeline {
namespace {

std::string Hex(std::span<const uint8_t> bytes) {
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

std::string VersionText(uint32_t version) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version),
                     VK_API_VERSION_MINOR(version),
                     VK_API_VERSION_PATCH(version));
}

}  // namespace

TargetIdentity IdentityOf(const DeviceHandles& handles) {
  VkPhysicalDeviceIDProperties ids{};
  ids.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  driver.pNext = &ids;
  VkPhysicalDeviceProperties2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  all.pNext = &driver;
  vkGetPhysicalDeviceProperties2(handles.physical, &all);
  const VkPhysicalDeviceProperties& device = all.properties;

  TargetIdentity identity;
  identity.device_name = ToValidUtf8(device.deviceName);
  identity.fields = {
      {"api_version", VersionText(device.apiVersion)},
      {"application",
       fmt::format("{} {}", kApplicationName, kApplicationVersion)},
      {"device_id", fmt::format("{:#x}", device.deviceID)},
      {"device_name", identity.device_name},
      {"driver_build", handles.driver_build},
      {"driver_id", VulkanValueText(VulkanEnum::kDriverId, driver.driverID)},
      {"driver_info", ToValidUtf8(driver.driverInfo)},
      {"driver_name", ToValidUtf8(driver.driverName)},
      {"driver_uuid", Hex(ids.driverUUID)},
      {"driver_version", fmt::format("{:#x}", device.driverVersion)},
      {"engine", fmt::format("{} {}", kEngineName, kApplicationVersion)},
      {"extensions", fmt::format("{}", fmt::join(handles.extensions, ","))},
      {"features", fmt::format("{}", fmt::join(handles.feature_names, ","))},
      {"layers", fmt::format("{}", fmt::join(handles.layers, ","))},
      {"pipeline_cache_uuid", Hex(device.pipelineCacheUUID)},
      {"pointer_bits", std::to_string(sizeof(void*) * CHAR_BIT)},
      {"vendor_id", fmt::format("{:#x}", device.vendorID)},
  };
  std::ranges::sort(identity.fields);
  return identity;
}

}  // namespace kiln::pipeline
