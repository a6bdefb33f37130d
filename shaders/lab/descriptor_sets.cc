// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/descriptor_sets.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/pipeline/vulkan_names.h"

namespace kiln::lab {
namespace {

std::string Where(const Descriptor& descriptor) {
  return fmt::format("set {} binding {}", descriptor.set, descriptor.binding);
}

bool IsDynamic(VkDescriptorType type) {
  return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC ||
         type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

bool IsImage(VkDescriptorType type) {
  return type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER ||
         type == VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE ||
         type == VK_DESCRIPTOR_TYPE_SAMPLER ||
         type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
}

bool IsBuffer(VkDescriptorType type) {
  return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER ||
         type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER || IsDynamic(type);
}

}  // namespace

absl::StatusOr<VkDescriptorType> DescriptorTypeOf(
    const Descriptor& descriptor) {
  KILN_ASSIGN_OR_RETURN(
      const int32_t type,
      pipeline::ParseVulkanName(pipeline::VulkanEnum::kDescriptorType,
                                Where(descriptor), descriptor.type));
  return static_cast<VkDescriptorType>(type);
}

absl::Status CheckBindable(std::span<const Descriptor> descriptors) {
  for (const Descriptor& descriptor : descriptors) {
    KILN_ASSIGN_OR_RETURN(const VkDescriptorType type,
                          DescriptorTypeOf(descriptor));
    if (!IsBuffer(type) && !IsImage(type)) {
      return absl::UnimplementedError(
          fmt::format("{}: cases cannot have the type {}", Where(descriptor),
                      descriptor.type));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<DescriptorSets> DescriptorSets::Make(
    const DeviceHandles& device, const pipeline::PipelineLayout& layout,
    std::span<const Descriptor> descriptors) {
  DescriptorSets made;
  made.device_ = device.device.get();
  made.layout_ = &layout;
  if (!layout.sets.empty()) {
    KILN_RETURN_IF_ERROR(made.Allocate(device, descriptors));
  }
  return made;
}

absl::Status DescriptorSets::Allocate(const DeviceHandles& device,
                                      std::span<const Descriptor> descriptors) {
  std::map<VkDescriptorType, uint32_t> counts;
  for (const Descriptor& descriptor : descriptors) {
    KILN_ASSIGN_OR_RETURN(const VkDescriptorType type,
                          DescriptorTypeOf(descriptor));
    counts[type] += descriptor.count;
    dynamic_offsets_ += IsDynamic(type) ? descriptor.count : 0;
  }
  std::vector<VkDescriptorPoolSize> sizes;
  for (const auto& [type, count] : counts) {
    sizes.push_back({type, count});
  }
  std::vector<VkDescriptorSetLayout> layouts;
  for (const pipeline::OwnedSetLayout& set : layout_->sets) {
    layouts.push_back(set.get());
  }
  VkDescriptorPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool_info.maxSets = static_cast<uint32_t>(layouts.size());
  pool_info.poolSizeCount = static_cast<uint32_t>(sizes.size());
  pool_info.pPoolSizes = sizes.data();
  VkDescriptorPool pool = VK_NULL_HANDLE;
  if (const VkResult result =
          vkCreateDescriptorPool(device_, &pool_info, nullptr, &pool);
      result != VK_SUCCESS) {
    return VulkanError("vkCreateDescriptorPool", result);
  }
  pool_ = OwnedDescriptorPool(device.device.get(), pool);
  sets_.resize(layouts.size());
  VkDescriptorSetAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  info.descriptorPool = pool;
  info.descriptorSetCount = static_cast<uint32_t>(layouts.size());
  info.pSetLayouts = layouts.data();
  if (const VkResult result =
          vkAllocateDescriptorSets(device_, &info, sets_.data());
      result != VK_SUCCESS) {
    return VulkanError("vkAllocateDescriptorSets", result);
  }
  return absl::OkStatus();
}

absl::Status DescriptorSets::WriteBuffer(const Descriptor& descriptor,
                                         VkBuffer buffer) const {
  const std::vector<VkDescriptorBufferInfo> infos(descriptor.count,
                                                  {buffer, 0, VK_WHOLE_SIZE});
  VkWriteDescriptorSet write{};
  write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
  write.dstSet = sets_[descriptor.set];
  write.dstBinding = descriptor.binding;
  write.descriptorCount = descriptor.count;
  KILN_ASSIGN_OR_RETURN(write.descriptorType, DescriptorTypeOf(descriptor));
  write.pBufferInfo = infos.data();
  vkUpdateDescriptorSets(device_, 1, &write, 0, nullptr);
  return absl::OkStatus();
}

absl::Status DescriptorSets::WriteImages(
    const Descriptor& descriptor,
    const std::vector<VkDescriptorImageInfo>& images) const {
  VkWriteDescriptorSet write{};
  write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
  write.dstSet = sets_[descriptor.set];
  write.dstBinding = descriptor.binding;
  write.descriptorCount = descriptor.count;
  KILN_ASSIGN_OR_RETURN(write.descriptorType, DescriptorTypeOf(descriptor));
  write.pImageInfo = images.data();
  vkUpdateDescriptorSets(device_, 1, &write, 0, nullptr);
  return absl::OkStatus();
}

void DescriptorSets::Bind(VkCommandBuffer commands,
                          VkPipelineBindPoint point) const {
  if (sets_.empty()) {
    return;
  }
  const std::vector<uint32_t> offsets(dynamic_offsets_);
  vkCmdBindDescriptorSets(commands, point, layout_->layout.get(), 0,
                          static_cast<uint32_t>(sets_.size()), sets_.data(),
                          dynamic_offsets_, offsets.data());
}

absl::StatusOr<BoundResources> BoundResources::Make(
    const DeviceHandles& device, UploadBatch& batch, const DescriptorSets& sets,
    std::span<const Descriptor> descriptors,
    std::span<const BoundInput> inputs) {
  KILN_RETURN_IF_ERROR(CheckBindable(descriptors));
  BoundResources made;
  for (const Descriptor& descriptor : descriptors) {
    const auto input = std::ranges::find_if(inputs, [&](const BoundInput& i) {
      return i.set == descriptor.set && i.binding == descriptor.binding;
    });
    if (input == inputs.end()) {
      return absl::InvalidArgumentError(
          fmt::format("{}: the case has nothing for it", Where(descriptor)));
    }
    KILN_ASSIGN_OR_RETURN(const VkDescriptorType type,
                          DescriptorTypeOf(descriptor));
    if (IsBuffer(type)) {
      const VkDeviceSize most =
          descriptor.type.starts_with("uniform")
              ? device.properties.limits.maxUniformBufferRange
              : device.properties.limits.maxStorageBufferRange;
      if (input->buffer.size() > most) {
        return absl::InvalidArgumentError(
            fmt::format("{}: {} bytes; the device binds {}", Where(descriptor),
                        input->buffer.size(), most));
      }
      KILN_RETURN_IF_ERROR(made.AddBuffer(batch, sets, descriptor, *input));
    } else {
      KILN_RETURN_IF_ERROR(made.AddImages(batch, sets, descriptor, *input));
    }
  }
  return made;
}

absl::Status BoundResources::AddBuffer(UploadBatch& batch,
                                       const DescriptorSets& sets,
                                       const Descriptor& descriptor,
                                       const BoundInput& input) {
  const bool uniform = descriptor.type.starts_with("uniform");
  KILN_ASSIGN_OR_RETURN(
      DeviceBuffer buffer,
      batch.AddBuffer(input.buffer, uniform
                                        ? VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT
                                        : VK_BUFFER_USAGE_STORAGE_BUFFER_BIT));
  KILN_RETURN_IF_ERROR(sets.WriteBuffer(descriptor, buffer.buffer.get()));
  buffers_[{descriptor.set, descriptor.binding}] = std::move(buffer);
  return absl::OkStatus();
}

absl::Status BoundResources::AddImages(UploadBatch& batch,
                                       const DescriptorSets& sets,
                                       const Descriptor& descriptor,
                                       const BoundInput& input) {
  if (input.images.size() != descriptor.count) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} images for a descriptor of {}", Where(descriptor),
                    input.images.size(), descriptor.count));
  }
  const ImageAccess access = descriptor.type == "storage_image"
                                 ? ImageAccess::kStorage
                                 : ImageAccess::kSampled;
  std::vector<VkDescriptorImageInfo> infos;
  for (const ImageInput& image : input.images) {
    KILN_ASSIGN_OR_RETURN(ShaderImage made,
                          batch.AddImage(image, access, Where(descriptor)));
    infos.push_back({made.sampler.get(), made.view.get(), made.layout});
    images_.push_back(std::move(made));
  }
  return sets.WriteImages(descriptor, infos);
}

const DeviceBuffer* BoundResources::FindBuffer(uint32_t set,
                                               uint32_t binding) const {
  const auto found = buffers_.find({set, binding});
  return found == buffers_.end() ? nullptr : &found->second;
}

}  // namespace kiln::lab
