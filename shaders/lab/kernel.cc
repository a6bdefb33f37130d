// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/kernel.h"

#include <utility>

#include "proto/status_macros.h"
#include "shaders/pipeline/specialization.h"

namespace kiln::lab {
namespace {

absl::StatusOr<pipeline::OwnedShaderModule> MakeModule(
    const DeviceHandles& device, std::span<const uint32_t> spirv) {
  VkShaderModuleCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  info.codeSize = spirv.size_bytes();
  info.pCode = spirv.data();
  VkShaderModule module = VK_NULL_HANDLE;
  if (const VkResult result =
          vkCreateShaderModule(device.device.get(), &info, nullptr, &module);
      result != VK_SUCCESS) {
    return VulkanError("vkCreateShaderModule", result);
  }
  return pipeline::OwnedShaderModule(device.device.get(), module);
}

}  // namespace

absl::StatusOr<Kernel> MakeKernel(const DeviceHandles& device,
                                  KernelInput input) {
  PipelineSkeleton skeleton;
  skeleton.descriptors = std::move(input.descriptors);
  for (Descriptor& descriptor : skeleton.descriptors) {
    descriptor.stages = {Stage::kCompute};
  }
  skeleton.push_constant_bytes = input.push_constant_bytes;
  skeleton.push_constant_stages = {Stage::kCompute};
  Kernel made;
  KILN_ASSIGN_OR_RETURN(made.layout, pipeline::MakeLayout(device, skeleton));
  const pipeline::StageCode code{Stage::kCompute, input.spirv};
  KILN_ASSIGN_OR_RETURN(const auto specialized,
                        pipeline::Specialize(input.constants, {&code, 1}));
  const VkSpecializationInfo constants = specialized[0].Info();
  KILN_ASSIGN_OR_RETURN(const auto module, MakeModule(device, input.spirv));

  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module.get();
  info.stage.pName = "main";
  info.stage.pSpecializationInfo =
      specialized[0].entries.empty() ? nullptr : &constants;
  info.layout = made.layout.layout.get();
  info.basePipelineIndex = -1;
  VkPipeline pipeline = VK_NULL_HANDLE;
  if (const VkResult result = vkCreateComputePipelines(
          device.device.get(), VK_NULL_HANDLE, 1, &info, nullptr, &pipeline);
      result != VK_SUCCESS) {
    return VulkanError("vkCreateComputePipelines", result);
  }
  made.pipeline = pipeline::OwnedPipeline(device.device.get(), pipeline);
  return made;
}

}  // namespace kiln::lab
