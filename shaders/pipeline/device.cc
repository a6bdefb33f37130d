// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/device.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/pipeline/device_features.h"
#include "shaders/pipeline/device_handles.h"
#include "shaders/pipeline/driver_selection.h"
#include "shaders/pipeline/identity.h"
#include "shaders/pipeline/loaded_library.h"

namespace kiln::pipeline {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";
constexpr const char* kExecutables =
    VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
constexpr uint32_t kApiVersion = VK_API_VERSION_1_3;

VKAPI_ATTR VkBool32 VKAPI_CALL OnMessage(
    VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
    const VkDebugUtilsMessengerCallbackDataEXT* data, void* log) {
  static_cast<MessageLog*>(log)->Add(
      data->pMessage == nullptr ? "" : data->pMessage);
  return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT MessengerInfo(MessageLog& log) {
  VkDebugUtilsMessengerCreateInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  info.pfnUserCallback = OnMessage;
  info.pUserData = &log;
  return info;
}

absl::Status CreateInstance(bool validation, DeviceHandles& handles) {
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = kApplicationName;
  application.applicationVersion = kApplicationVersion;
  application.pEngineName = kEngineName;
  application.engineVersion = kApplicationVersion;
  application.apiVersion = kApiVersion;

  const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  const VkDebugUtilsMessengerCreateInfoEXT messenger_info =
      MessengerInfo(handles.messages);
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  if (validation) {
    info.pNext =
        &messenger_info;  // for the two calls that make and end the instance
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &extension;
    handles.layers = {kValidationLayer};
  }
  VkInstance instance = VK_NULL_HANDLE;
  const VkResult result = vkCreateInstance(&info, nullptr, &instance);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return absl::NotFoundError("no Vulkan driver could be loaded");
  }
  if (result == VK_ERROR_LAYER_NOT_PRESENT) {
    return absl::NotFoundError(
        fmt::format("{} is not installed (Debian: vulkan-validationlayers)",
                    kValidationLayer));
  }
  if (result != VK_SUCCESS) {
    return VulkanError("vkCreateInstance", result);
  }
  handles.instance = OwnedInstance(instance);
  if (validation) {
    const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT"));
    VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
    if (const VkResult made =
            create(instance, &messenger_info, nullptr, &messenger);
        made != VK_SUCCESS) {
      return VulkanError("vkCreateDebugUtilsMessengerEXT", made);
    }
    handles.messenger = OwnedMessenger(instance, messenger);
  }
  return absl::OkStatus();
}

VkPhysicalDeviceDriverProperties DriverOf(VkPhysicalDevice physical) {
  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  VkPhysicalDeviceProperties2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  all.pNext = &driver;
  vkGetPhysicalDeviceProperties2(physical, &all);
  return driver;
}

// A CPU is no GPU, and neither is RADV's null hardware.
bool Matches(const TargetSpec& spec, VkPhysicalDevice physical,
             const VkPhysicalDeviceProperties& properties) {
  const bool null_hardware =
      std::string_view(properties.deviceName).starts_with("Null hardware");
  if (spec.driver == TargetSpec::Driver::kGpu) {
    return properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU &&
           !null_hardware;
  }
  if (properties.apiVersion < VK_API_VERSION_1_2) {
    return false;  // cannot be asked for its driver
  }
  const VkDriverId driver = DriverOf(physical).driverID;
  return spec.driver == TargetSpec::Driver::kRadvNull
             ? driver == VK_DRIVER_ID_MESA_RADV && null_hardware
             : driver == VK_DRIVER_ID_MESA_LLVMPIPE;
}

absl::Status ChoosePhysical(const TargetSpec& spec, DeviceHandles& handles) {
  std::vector<VkPhysicalDevice> devices;
  uint32_t count = 0;
  VkResult result =
      vkEnumeratePhysicalDevices(handles.instance.get(), &count, nullptr);
  if (result == VK_SUCCESS) {
    devices.resize(count);
    result = vkEnumeratePhysicalDevices(handles.instance.get(), &count,
                                        devices.data());
    devices.resize(count);
  }
  if (result != VK_SUCCESS && result != VK_INCOMPLETE &&
      result != VK_ERROR_INITIALIZATION_FAILED) {
    return VulkanError("vkEnumeratePhysicalDevices", result);
  }
  std::vector<std::string> names;
  for (VkPhysicalDevice physical : devices) {
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(physical, &properties);
    if (!Matches(spec, physical, properties)) {
      continue;
    }
    if (names.size() == spec.index) {
      handles.physical = physical;
      handles.properties = properties;
      return absl::OkStatus();
    }
    names.push_back(ToValidUtf8(properties.deviceName));
  }
  return absl::NotFoundError(
      names.empty()
          ? fmt::format("no device for target {}; of its kind there is none",
                        spec.ToString())
          : fmt::format("no device for target {}; of its kind there are {}: {}",
                        spec.ToString(), names.size(), fmt::join(names, ", ")));
}

std::vector<std::string> ExtensionsOf(VkPhysicalDevice physical) {
  uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> properties(count);
  vkEnumerateDeviceExtensionProperties(physical, nullptr, &count,
                                       properties.data());
  std::vector<std::string> names;
  names.reserve(count);
  for (const VkExtensionProperties& extension : properties) {
    names.emplace_back(extension.extensionName);
  }
  return names;
}

absl::StatusOr<uint32_t> GraphicsQueueFamily(VkPhysicalDevice physical) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  for (uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0) {
      return i;
    }
  }
  return absl::FailedPreconditionError("the device has no graphics queue");
}

absl::Status CreateDevice(DeviceHandles& handles) {
  const std::vector<std::string> available = ExtensionsOf(handles.physical);
  const bool has_executables =
      std::ranges::find(available, kExecutables) != available.end();
  FeatureChain enabled;
  KILN_ASSIGN_OR_RETURN(
      handles.feature_names,
      ChooseFeatures(handles.physical, has_executables, enabled));
  KILN_ASSIGN_OR_RETURN(handles.queue_family,
                        GraphicsQueueFamily(handles.physical));
  handles.features = enabled.core.features;

  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = handles.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &enabled.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  if (has_executables) {
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &kExecutables;
    handles.extensions = {kExecutables};
  }
  VkDevice device = VK_NULL_HANDLE;
  if (const VkResult result =
          vkCreateDevice(handles.physical, &info, nullptr, &device);
      result != VK_SUCCESS) {
    return VulkanError("vkCreateDevice", result);
  }
  handles.device = OwnedDevice(device);
  vkGetDeviceQueue(device, handles.queue_family, 0, &handles.queue);
  if (enabled.executables.pipelineExecutableInfo == VK_TRUE) {
    handles.get_executables =
        reinterpret_cast<PFN_vkGetPipelineExecutablePropertiesKHR>(
            vkGetDeviceProcAddr(device,
                                "vkGetPipelineExecutablePropertiesKHR"));
    handles.get_statistics =
        reinterpret_cast<PFN_vkGetPipelineExecutableStatisticsKHR>(
            vkGetDeviceProcAddr(device,
                                "vkGetPipelineExecutableStatisticsKHR"));
  }
  return absl::OkStatus();
}

// Without layers, a function of the device lies in the driver's own library.
std::string DriverBuild(VkDevice device) {
  return BuildIdOf(reinterpret_cast<const void*>(
      vkGetDeviceProcAddr(device, "vkCreateGraphicsPipelines")));
}

absl::StatusOr<std::unique_ptr<DeviceHandles>> OpenHandles(
    const TargetSpec& spec, bool validation) {
  auto handles = std::make_unique<DeviceHandles>();
  KILN_RETURN_IF_ERROR(CreateInstance(validation, *handles));
  KILN_RETURN_IF_ERROR(ChoosePhysical(spec, *handles));
  if (handles->properties.apiVersion < kApiVersion) {
    return absl::FailedPreconditionError(fmt::format(
        "{} has no Vulkan 1.3", ToValidUtf8(handles->properties.deviceName)));
  }
  KILN_RETURN_IF_ERROR(CreateDevice(*handles));
  return handles;
}

}  // namespace

Device::Device(std::unique_ptr<DeviceHandles> handles)
    : handles_(std::move(handles)), identity_(IdentityOf(*handles_)) {}

Device::~Device() = default;

absl::StatusOr<std::unique_ptr<Device>> Device::Open(
    const TargetSpec& spec, const DeviceOptions& options) {
  KILN_RETURN_IF_ERROR(CheckDriverSelected(spec));
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<DeviceHandles> handles,
                        OpenHandles(spec, false));
  std::string driver_build = DriverBuild(handles->device.get());
  if (options.validation) {
    handles.reset();  // it only told which library the driver is
    KILN_ASSIGN_OR_RETURN(handles, OpenHandles(spec, true));
  }
  handles->driver_build = std::move(driver_build);
  return std::unique_ptr<Device>(new Device(std::move(handles)));
}

DeviceLimits Device::limits() const {
  const VkPhysicalDeviceLimits& from = handles_->properties.limits;
  DeviceLimits limits;
  std::ranges::copy(from.maxComputeWorkGroupSize, limits.workgroup_size);
  limits.workgroup_invocations = from.maxComputeWorkGroupInvocations;
  limits.shared_bytes = from.maxComputeSharedMemorySize;
  limits.interface_components =
      std::max(from.maxVertexOutputComponents, from.maxFragmentInputComponents);
  limits.descriptors = from.maxPerStageResources;
  return limits;
}

std::vector<std::string> Device::validation_messages() const {
  return handles_->messages.All();
}

}  // namespace kiln::pipeline
