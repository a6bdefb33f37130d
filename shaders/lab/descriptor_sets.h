// SPDX-License-Identifier: Apache-2.0
#pragma once

// The descriptor sets of a program or kernel, and what is bound in them.
// Internal.

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/program.h"
#include "shaders/lab/lab_device.h"
#include "shaders/lab/upload_batch.h"
#include "shaders/pipeline/pipeline_layout.h"

namespace kiln::lab {

// Errors: InvalidArgument for a type that Vulkan has not got.
absl::StatusOr<VkDescriptorType> DescriptorTypeOf(const Descriptor& descriptor);

// Errors: Unimplemented for a type that no BoundInput can be bound as.
absl::Status CheckBindable(std::span<const Descriptor> descriptors);

// Thread-compatible.
class DescriptorSets {
 public:
  // One set for each of the layout's. Lifetime: `device` and `layout` outlive
  // it.
  static absl::StatusOr<DescriptorSets> Make(
      const DeviceHandles& device, const pipeline::PipelineLayout& layout,
      std::span<const Descriptor> descriptors);

  // Binds to every element of the descriptor.
  absl::Status WriteBuffer(const Descriptor& descriptor, VkBuffer buffer) const;

  // Requires: one image per element.
  absl::Status WriteImages(
      const Descriptor& descriptor,
      const std::vector<VkDescriptorImageInfo>& images) const;

  void Bind(VkCommandBuffer commands, VkPipelineBindPoint point) const;

 private:
  absl::Status Allocate(const DeviceHandles& device,
                        std::span<const Descriptor> descriptors);

  VkDevice device_ = VK_NULL_HANDLE;
  const pipeline::PipelineLayout* layout_ = nullptr;
  OwnedDescriptorPool pool_;
  std::vector<VkDescriptorSet> sets_;  // of the pool, by set number
  uint32_t dynamic_offsets_ = 0;       // of all sets; every one is bound as 0
};

// The resources of a list of BoundInputs, written into sets.
class BoundResources {
 public:
  // Adds everything to `batch`, which has to run before the sets are used.
  // Inputs that no descriptor asks for are left out.
  // Errors: InvalidArgument naming the descriptor that has no input, or whose
  // input does not fit; and those of CheckBindable.
  static absl::StatusOr<BoundResources> Make(
      const DeviceHandles& device, UploadBatch& batch,
      const DescriptorSets& sets, std::span<const Descriptor> descriptors,
      std::span<const BoundInput> inputs);

  // The buffer at (set, binding), or nullptr. Lifetime: this object's.
  const DeviceBuffer* FindBuffer(uint32_t set, uint32_t binding) const;

 private:
  absl::Status AddBuffer(UploadBatch& batch, const DescriptorSets& sets,
                         const Descriptor& descriptor, const BoundInput& input);
  absl::Status AddImages(UploadBatch& batch, const DescriptorSets& sets,
                         const Descriptor& descriptor, const BoundInput& input);

  std::map<std::pair<uint32_t, uint32_t>, DeviceBuffer> buffers_;
  std::vector<ShaderImage> images_;
};

}  // namespace kiln::lab
