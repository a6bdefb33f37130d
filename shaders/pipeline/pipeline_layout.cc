// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/pipeline_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/pipeline/vulkan_names.h"

namespace kiln::pipeline {
namespace {

// Bindings by set number.
using Bindings = std::map<uint32_t, std::vector<VkDescriptorSetLayoutBinding>>;

absl::Status Invalid(const Descriptor& descriptor, std::string_view why) {
  return absl::InvalidArgumentError(
      fmt::format("descriptor set {} binding {}: {}", descriptor.set,
                  descriptor.binding, why));
}

absl::StatusOr<Bindings> ReadDescriptors(
    const VkPhysicalDeviceLimits& limits,
    const std::vector<Descriptor>& descriptors) {
  Bindings bindings;
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (const Descriptor& descriptor : descriptors) {
    if (descriptor.set >= limits.maxBoundDescriptorSets) {
      return Invalid(descriptor, fmt::format("the device binds {} sets",
                                             limits.maxBoundDescriptorSets));
    }
    if (!seen.emplace(descriptor.set, descriptor.binding).second) {
      return Invalid(descriptor, "declared twice");
    }
    const std::string field = fmt::format("descriptor set {} binding {} type",
                                          descriptor.set, descriptor.binding);
    KILN_ASSIGN_OR_RETURN(
        const int32_t type,
        ParseVulkanName(VulkanEnum::kDescriptorType, field, descriptor.type));
    if (type > VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT) {
      return Invalid(
          descriptor,
          fmt::format("type {} needs an extension that Kiln's devices "
                      "do not enable",
                      descriptor.type));
    }
    if (descriptor.count == 0 || descriptor.stages.empty()) {
      return Invalid(descriptor,
                     descriptor.count == 0 ? "count is 0" : "no stages");
    }
    bindings[descriptor.set].push_back(
        {descriptor.binding, static_cast<VkDescriptorType>(type),
         descriptor.count, StageBits(descriptor.stages), nullptr});
  }
  return bindings;
}

absl::StatusOr<OwnedSetLayout> MakeSetLayout(
    const DeviceHandles& device,
    std::vector<VkDescriptorSetLayoutBinding> bindings) {
  std::ranges::sort(bindings, {}, &VkDescriptorSetLayoutBinding::binding);
  VkDescriptorSetLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  info.bindingCount = static_cast<uint32_t>(bindings.size());
  info.pBindings = bindings.data();
  VkDescriptorSetLayoutSupport support{};
  support.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_SUPPORT;
  vkGetDescriptorSetLayoutSupport(device.device.get(), &info, &support);
  if (support.supported != VK_TRUE) {
    return absl::InvalidArgumentError(
        "a descriptor set is over the device's limits");
  }
  VkDescriptorSetLayout layout = VK_NULL_HANDLE;
  if (const VkResult result = vkCreateDescriptorSetLayout(
          device.device.get(), &info, nullptr, &layout);
      result != VK_SUCCESS) {
    return VulkanError("vkCreateDescriptorSetLayout", result);
  }
  return OwnedSetLayout(device.device.get(), layout);
}

absl::Status CheckPushConstants(const VkPhysicalDeviceLimits& limits,
                                const PipelineSkeleton& skeleton) {
  const uint32_t bytes = skeleton.push_constant_bytes;
  if (bytes > limits.maxPushConstantsSize || bytes % 4 != 0) {
    return absl::InvalidArgumentError(fmt::format(
        "push_constant_bytes is {}; the device has {}, in units of 4", bytes,
        limits.maxPushConstantsSize));
  }
  if (bytes != 0 && skeleton.push_constant_stages.empty()) {
    return absl::InvalidArgumentError("push_constant_stages is empty");
  }
  return absl::OkStatus();
}

}  // namespace

VkShaderStageFlagBits StageBit(Stage stage) {
  switch (stage) {
    case Stage::kVertex:
      return VK_SHADER_STAGE_VERTEX_BIT;
    case Stage::kFragment:
      return VK_SHADER_STAGE_FRAGMENT_BIT;
    case Stage::kCompute:
      break;
  }
  return VK_SHADER_STAGE_COMPUTE_BIT;
}

VkShaderStageFlags StageBits(std::span<const Stage> stages) {
  VkShaderStageFlags bits = 0;
  for (const Stage stage : stages) {
    bits |= StageBit(stage);
  }
  return bits;
}

absl::StatusOr<PipelineLayout> MakeLayout(const DeviceHandles& device,
                                          const PipelineSkeleton& skeleton) {
  const VkPhysicalDeviceLimits& limits = device.properties.limits;
  KILN_ASSIGN_OR_RETURN(Bindings bindings,
                        ReadDescriptors(limits, skeleton.descriptors));
  KILN_RETURN_IF_ERROR(CheckPushConstants(limits, skeleton));

  PipelineLayout result;
  std::vector<VkDescriptorSetLayout> sets;
  const uint32_t set_count =
      bindings.empty() ? 0 : bindings.rbegin()->first + 1;
  for (uint32_t set = 0; set < set_count; ++set) {
    KILN_ASSIGN_OR_RETURN(OwnedSetLayout layout,
                          MakeSetLayout(device, std::move(bindings[set])));
    sets.push_back(layout.get());
    result.sets.push_back(std::move(layout));
  }
  const VkPushConstantRange push{StageBits(skeleton.push_constant_stages), 0,
                                 skeleton.push_constant_bytes};
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.setLayoutCount = static_cast<uint32_t>(sets.size());
  info.pSetLayouts = sets.data();
  info.pushConstantRangeCount = push.size == 0 ? 0 : 1;
  info.pPushConstantRanges = &push;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  if (const VkResult made =
          vkCreatePipelineLayout(device.device.get(), &info, nullptr, &layout);
      made != VK_SUCCESS) {
    return VulkanError("vkCreatePipelineLayout", made);
  }
  result.layout = OwnedPipelineLayout(device.device.get(), layout);
  return result;
}

}  // namespace kiln::pipeline
