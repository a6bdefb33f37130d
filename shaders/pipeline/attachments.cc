// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/attachments.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/pipeline/vulkan_names.h"

namespace kiln::pipeline {
namespace {

absl::Status Invalid(std::string_view field, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", field, why));
}

absl::StatusOr<VkFormat> ReadFormat(std::string_view field,
                                    std::string_view name) {
  KILN_ASSIGN_OR_RETURN(const int32_t value,
                        ParseVulkanName(VulkanEnum::kFormat, field, name));
  if (value == VK_FORMAT_UNDEFINED) {
    return Invalid(field, "'undefined' is no format");
  }
  return static_cast<VkFormat>(value);
}

VkFormatProperties PropertiesOf(const DeviceHandles& device, VkFormat format) {
  VkFormatProperties properties{};
  vkGetPhysicalDeviceFormatProperties(device.physical, format, &properties);
  return properties;
}

absl::StatusOr<VkFormat> ReadColorFormat(const DeviceHandles& device,
                                         std::string_view field,
                                         std::string_view name, bool blend) {
  KILN_ASSIGN_OR_RETURN(const VkFormat format, ReadFormat(field, name));
  const VkFormatFeatureFlags features =
      PropertiesOf(device, format).optimalTilingFeatures;
  if ((features & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT) == 0) {
    return Invalid(field, fmt::format("the device cannot render to {}", name));
  }
  if (blend && (features & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BLEND_BIT) == 0) {
    return Invalid(field, fmt::format("the device cannot blend into {}", name));
  }
  return format;
}

bool HasStencil(std::string_view name) {
  return name.find("s8") != name.npos;
}

absl::Status ReadDepthFormat(const DeviceHandles& device, std::string_view name,
                             Attachments& attachments) {
  KILN_ASSIGN_OR_RETURN(const VkFormat format,
                        ReadFormat("depth_format", name));
  const VkFormatFeatureFlags features =
      PropertiesOf(device, format).optimalTilingFeatures;
  if ((features & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT) == 0 ||
      !(name.starts_with("d") || name.starts_with("x8_d"))) {
    return Invalid("depth_format",
                   fmt::format("{} is no depth format of the device", name));
  }
  attachments.depth = format;
  attachments.stencil = HasStencil(name) ? format : VK_FORMAT_UNDEFINED;
  return absl::OkStatus();
}

absl::Status CheckSamples(const VkPhysicalDeviceLimits& limits,
                          const PipelineSkeleton& skeleton) {
  VkSampleCountFlags supported = ~VkSampleCountFlags{0};
  if (!skeleton.color_formats.empty()) {
    supported &= limits.framebufferColorSampleCounts;
  }
  if (!skeleton.depth_format.empty()) {
    supported &= limits.framebufferDepthSampleCounts;
  }
  const uint32_t samples = skeleton.samples;
  if (samples == 0 || (samples & (samples - 1)) != 0 || samples > 64 ||
      (supported & samples) == 0) {
    return Invalid(
        "samples",
        fmt::format("the device has no {} samples a pixel", samples));
  }
  return absl::OkStatus();
}

absl::Status CheckBinding(const VkPhysicalDeviceLimits& limits,
                          const VertexBinding& binding,
                          std::set<uint32_t>& seen) {
  const std::string field = fmt::format("vertex_binding {}", binding.binding);
  if (binding.binding >= limits.maxVertexInputBindings) {
    return Invalid(
        field, fmt::format("the device has {}", limits.maxVertexInputBindings));
  }
  if (binding.stride_bytes > limits.maxVertexInputBindingStride) {
    return Invalid(field, fmt::format("stride is over the device's {}",
                                      limits.maxVertexInputBindingStride));
  }
  if (!seen.insert(binding.binding).second) {
    return Invalid(field, "declared twice");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Attachments> ReadAttachments(const DeviceHandles& device,
                                            const PipelineSkeleton& skeleton,
                                            const PipelineState& state) {
  Attachments attachments;
  const VkPhysicalDeviceLimits& limits = device.properties.limits;
  if (skeleton.color_formats.size() > limits.maxColorAttachments) {
    return Invalid("color_formats",
                   fmt::format("the device has {} color attachments",
                               limits.maxColorAttachments));
  }
  for (size_t i = 0; i < skeleton.color_formats.size(); ++i) {
    KILN_ASSIGN_OR_RETURN(
        const VkFormat format,
        ReadColorFormat(device, fmt::format("color_formats[{}]", i),
                        skeleton.color_formats[i], state.blend));
    attachments.colors.push_back(format);
  }
  if (!skeleton.depth_format.empty()) {
    KILN_RETURN_IF_ERROR(
        ReadDepthFormat(device, skeleton.depth_format, attachments));
  }
  KILN_RETURN_IF_ERROR(CheckSamples(limits, skeleton));
  return attachments;
}

absl::StatusOr<VertexInput> ReadVertexInput(const DeviceHandles& device,
                                            const PipelineSkeleton& skeleton) {
  VertexInput input;
  const VkPhysicalDeviceLimits& limits = device.properties.limits;
  std::set<uint32_t> bindings;
  for (const VertexBinding& binding : skeleton.vertex_bindings) {
    KILN_RETURN_IF_ERROR(CheckBinding(limits, binding, bindings));
    input.bindings.push_back({binding.binding, binding.stride_bytes,
                              binding.per_instance
                                  ? VK_VERTEX_INPUT_RATE_INSTANCE
                                  : VK_VERTEX_INPUT_RATE_VERTEX});
  }
  std::set<uint32_t> locations;
  for (const VertexAttribute& attribute : skeleton.vertex_attributes) {
    const std::string field =
        fmt::format("vertex_attribute {}", attribute.location);
    KILN_ASSIGN_OR_RETURN(const VkFormat format,
                          ReadFormat(field, attribute.format));
    if ((PropertiesOf(device, format).bufferFeatures &
         VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT) == 0) {
      return Invalid(field,
                     fmt::format("{} is no vertex format", attribute.format));
    }
    if (!bindings.contains(attribute.binding)) {
      return Invalid(
          field, fmt::format("binding {} is not declared", attribute.binding));
    }
    if (attribute.location >= limits.maxVertexInputAttributes ||
        attribute.offset_bytes > limits.maxVertexInputAttributeOffset) {
      return Invalid(
          field, fmt::format("the device has {} locations and offsets up to {}",
                             limits.maxVertexInputAttributes,
                             limits.maxVertexInputAttributeOffset));
    }
    if (!locations.insert(attribute.location).second) {
      return Invalid(field, "declared twice");
    }
    input.attributes.push_back({attribute.location, attribute.binding, format,
                                attribute.offset_bytes});
  }
  return input;
}

}  // namespace kiln::pipeline
