// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/graphics_description.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "proto/variant_key.h"
#include "shaders/pipeline/vulkan_names.h"

namespace kiln::pipeline {
namespace {

constexpr VkDynamicState kDynamicStates[] = {VK_DYNAMIC_STATE_VIEWPORT,
                                             VK_DYNAMIC_STATE_SCISSOR};

absl::StatusOr<VkPrimitiveTopology> ReadTopology(std::string_view name) {
  KILN_ASSIGN_OR_RETURN(
      const int32_t value,
      ParseVulkanName(VulkanEnum::kTopology, "topology", name));
  if (value > VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN) {
    return absl::InvalidArgumentError(fmt::format(
        "topology: {} needs a stage that programs have not got", name));
  }
  return static_cast<VkPrimitiveTopology>(value);
}

bool IsDualSource(int32_t factor) {
  return factor >= VK_BLEND_FACTOR_SRC1_COLOR &&
         factor <= VK_BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PipelineDescription>> GraphicsDescription::Make(
    const DeviceHandles& device, const PipelineInput& input) {
  const PipelineSkeleton& skeleton = input.program.pipeline;
  std::unique_ptr<GraphicsDescription> made(new GraphicsDescription(device));
  if (std::ranges::count(input.code, Stage::kVertex, &StageCode::stage) == 0) {
    return absl::InvalidArgumentError(
        "stages: a graphics pipeline needs a vertex stage");
  }
  KILN_ASSIGN_OR_RETURN(made->state_,
                        ParseState(KeyState(input.program, input.key)));
  KILN_RETURN_IF_ERROR(made->CheckState());
  KILN_ASSIGN_OR_RETURN(const VkPrimitiveTopology topology,
                        ReadTopology(skeleton.topology));
  made->assembly_.topology = topology;
  KILN_ASSIGN_OR_RETURN(made->attachments_,
                        ReadAttachments(device, skeleton, made->state_));
  KILN_ASSIGN_OR_RETURN(made->vertices_, ReadVertexInput(device, skeleton));
  KILN_RETURN_IF_ERROR(made->AddStages(input));
  made->FillStates(skeleton);
  return made;
}

absl::Status GraphicsDescription::CheckState() const {
  const VkPhysicalDeviceFeatures& features = device().features;
  const bool dual_source =
      IsDualSource(state_.src_color) || IsDualSource(state_.dst_color) ||
      IsDualSource(state_.src_alpha) || IsDualSource(state_.dst_alpha);
  if (state_.polygon_mode != VK_POLYGON_MODE_FILL &&
      features.fillModeNonSolid == VK_FALSE) {
    return absl::InvalidArgumentError(
        "state polygon_mode: the device can only fill");
  }
  if (state_.depth_clamp && features.depthClamp == VK_FALSE) {
    return absl::InvalidArgumentError(
        "state depth_clamp: the device has no depth clamp");
  }
  if (dual_source && features.dualSrcBlend == VK_FALSE) {
    return absl::InvalidArgumentError(
        "state: the device has no dual-source blend factors");
  }
  return absl::OkStatus();
}

void GraphicsDescription::FillStates(const PipelineSkeleton& skeleton) {
  vertex_input_.sType =
      VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO;
  vertex_input_.vertexBindingDescriptionCount =
      static_cast<uint32_t>(vertices_.bindings.size());
  vertex_input_.pVertexBindingDescriptions = vertices_.bindings.data();
  vertex_input_.vertexAttributeDescriptionCount =
      static_cast<uint32_t>(vertices_.attributes.size());
  vertex_input_.pVertexAttributeDescriptions = vertices_.attributes.data();
  assembly_.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO;
  viewport_.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO;
  viewport_.viewportCount = 1;
  viewport_.scissorCount = 1;
  raster_.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO;
  raster_.depthClampEnable = state_.depth_clamp;
  raster_.polygonMode = static_cast<VkPolygonMode>(state_.polygon_mode);
  raster_.cullMode = static_cast<VkCullModeFlags>(state_.cull);
  raster_.frontFace = static_cast<VkFrontFace>(state_.front_face);
  raster_.depthBiasEnable =
      state_.depth_bias_constant != 0 || state_.depth_bias_slope != 0;
  raster_.depthBiasConstantFactor = state_.depth_bias_constant;
  raster_.depthBiasSlopeFactor = state_.depth_bias_slope;
  raster_.lineWidth = 1;
  samples_.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO;
  samples_.rasterizationSamples =
      static_cast<VkSampleCountFlagBits>(skeleton.samples);
  samples_.alphaToCoverageEnable = state_.alpha_to_coverage;
  depth_.sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO;
  if (attachments_.depth != VK_FORMAT_UNDEFINED) {
    depth_.depthTestEnable = state_.depth_test;
    depth_.depthWriteEnable = state_.depth_write;
    depth_.depthCompareOp = static_cast<VkCompareOp>(state_.depth_compare);
  }
  VkPipelineColorBlendAttachmentState blend{};
  blend.blendEnable = state_.blend;
  blend.srcColorBlendFactor = static_cast<VkBlendFactor>(state_.src_color);
  blend.dstColorBlendFactor = static_cast<VkBlendFactor>(state_.dst_color);
  blend.colorBlendOp = static_cast<VkBlendOp>(state_.color_op);
  blend.srcAlphaBlendFactor = static_cast<VkBlendFactor>(state_.src_alpha);
  blend.dstAlphaBlendFactor = static_cast<VkBlendFactor>(state_.dst_alpha);
  blend.alphaBlendOp = static_cast<VkBlendOp>(state_.alpha_op);
  blend.colorWriteMask = state_.color_write;
  blends_.assign(attachments_.colors.size(), blend);
  blend_.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO;
  blend_.attachmentCount = static_cast<uint32_t>(blends_.size());
  blend_.pAttachments = blends_.data();
  dynamic_.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO;
  dynamic_.dynamicStateCount = std::size(kDynamicStates);
  dynamic_.pDynamicStates = kDynamicStates;
  rendering_.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO;
  rendering_.colorAttachmentCount =
      static_cast<uint32_t>(attachments_.colors.size());
  rendering_.pColorAttachmentFormats = attachments_.colors.data();
  rendering_.depthAttachmentFormat = attachments_.depth;
  rendering_.stencilAttachmentFormat = attachments_.stencil;
}

VkResult GraphicsDescription::CallDriver(
    VkPipelineCache cache, VkPipelineCreateFlags flags,
    VkPipelineCreationFeedbackCreateInfo& feedback,
    VkPipeline& pipeline) const {
  feedback.pNext = &rendering_;
  VkGraphicsPipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
  info.pNext = &feedback;
  info.flags = flags;
  info.stageCount = static_cast<uint32_t>(stages().size());
  info.pStages = stages().data();
  info.pVertexInputState = &vertex_input_;
  info.pInputAssemblyState = &assembly_;
  info.pViewportState = &viewport_;
  info.pRasterizationState = &raster_;
  info.pMultisampleState = &samples_;
  info.pDepthStencilState = &depth_;
  info.pColorBlendState = &blend_;
  info.pDynamicState = &dynamic_;
  info.layout = layout();
  info.basePipelineIndex = -1;
  return vkCreateGraphicsPipelines(device().device.get(), cache, 1, &info,
                                   nullptr, &pipeline);
}

}  // namespace kiln::pipeline
