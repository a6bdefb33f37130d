// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/sample_reader.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/compiler.h"
#include "shaders/lab/descriptor_sets.h"

namespace kiln::lab {
namespace {

constexpr uint32_t kGroupSize = 8;

// SAMPLER is the type of the image; BITS makes words of what was fetched. A
// fetch from an image without samples has the level in place of the sample.
constexpr const char* kReader = R"(#version 460
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform SAMPLER image;
layout(set = 0, binding = 1, std430) writeonly buffer Words { uint words[]; };
layout(push_constant) uniform Push {
  uvec2 size;
  uint samples;
  uint words_a_sample;
} push;
void main() {
  uvec2 at = gl_GlobalInvocationID.xy;
  if (any(greaterThanEqual(at, push.size))) {
    return;
  }
  uint next = (at.y * push.size.x + at.x) * push.samples * push.words_a_sample;
  for (uint s = 0u; s < push.samples; ++s) {
    uvec4 bits = BITS(texelFetch(image, ivec2(at), int(s)));
    for (uint w = 0u; w < push.words_a_sample; ++w) {
      words[next++] = bits[w];
    }
  }
}
)";

struct ReaderPush {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t samples = 1;
  uint32_t words_a_sample = 1;
};

const Descriptor kImage{0, 0, "combined_image_sampler", 1, {Stage::kCompute}};
const Descriptor kWords{0, 1, "storage_buffer", 1, {Stage::kCompute}};

Program ReaderProgram(bool multisampled, bool is_depth) {
  Program program;
  program.name = "sample_reader";
  program.stages = {{Stage::kCompute, "reader.comp"}};
  program.defines = {
      {"BITS", is_depth ? "floatBitsToUint" : "uvec4"},
      {"SAMPLER", fmt::format("{}sampler2D{}", is_depth ? "" : "u",
                              multisampled ? "MS" : "")}};
  program.files = {{"reader.comp", kReader}};
  return program;
}

// Texels shorter than a word lie in a word each; this closes the gaps.
Bytes CloseGaps(Bytes words, uint32_t texel_bytes) {
  if (texel_bytes >= sizeof(uint32_t)) {
    return words;
  }
  const size_t count = words.size() / sizeof(uint32_t);
  for (size_t i = 0; i < count; ++i) {
    std::copy_n(words.begin() + static_cast<ptrdiff_t>(i * sizeof(uint32_t)),
                texel_bytes,
                words.begin() + static_cast<ptrdiff_t>(i * texel_bytes));
  }
  words.resize(count * texel_bytes);
  return words;
}

uint32_t Groups(uint32_t size) {
  return (size + kGroupSize - 1) / kGroupSize;
}

}  // namespace

absl::StatusOr<SampleReader> SampleReader::Make(const DeviceHandles& device) {
  SampleReader made(device);
  VkSamplerCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
  info.addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  info.addressModeV = info.addressModeU;
  info.addressModeW = info.addressModeU;
  VkSampler sampler = VK_NULL_HANDLE;
  if (const VkResult result =
          vkCreateSampler(device.device.get(), &info, nullptr, &sampler);
      result != VK_SUCCESS) {
    return VulkanError("vkCreateSampler", result);
  }
  made.sampler_ = OwnedSampler(device.device.get(), sampler);
  return made;
}

absl::StatusOr<const Kernel*> SampleReader::KernelFor(bool multisampled,
                                                      bool is_depth) {
  std::unique_ptr<Kernel>& kernel = kernels_[{multisampled, is_depth}];
  if (kernel == nullptr) {
    const shaders::StageResult code = shaders::CompileStage(
        ReaderProgram(multisampled, is_depth), Stage::kCompute);
    if (!code.ok()) {
      return absl::InternalError(code.diagnostics);
    }
    KILN_ASSIGN_OR_RETURN(
        Kernel made,
        MakeKernel(*device_,
                   {code.spirv, {kImage, kWords}, sizeof(ReaderPush), {}}));
    kernel = std::make_unique<Kernel>(std::move(made));
  }
  return kernel.get();
}

absl::StatusOr<Bytes> SampleReader::Read(CommandRunner& runner,
                                         const TargetSize& size,
                                         const ReadableLayer& layer) {
  KILN_ASSIGN_OR_RETURN(const Kernel* const kernel,
                        KernelFor(size.samples > 1, layer.is_depth));
  constexpr auto kWord = static_cast<uint32_t>(sizeof(uint32_t));
  const ReaderPush push{size.width, size.height, size.samples,
                        (layer.texel_bytes + kWord - 1) / kWord};
  const VkDeviceSize bytes = VkDeviceSize{size.width} * size.height *
                             size.samples * push.words_a_sample * kWord;
  if (bytes > device_->properties.limits.maxStorageBufferRange) {
    return absl::ResourceExhaustedError(
        fmt::format("a picture of {} bytes; the device's buffers have up to {}",
                    bytes, device_->properties.limits.maxStorageBufferRange));
  }
  KILN_ASSIGN_OR_RETURN(const DeviceBuffer words,
                        MakeBuffer(*device_, bytes,
                                   VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                       VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                                   MemoryUse::kDevice));
  KILN_ASSIGN_OR_RETURN(
      const DeviceBuffer copy,
      MakeBuffer(*device_, bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                 MemoryUse::kHost));
  const Descriptor descriptors[] = {kImage, kWords};
  KILN_ASSIGN_OR_RETURN(
      const DescriptorSets sets,
      DescriptorSets::Make(*device_, kernel->layout, descriptors));
  KILN_RETURN_IF_ERROR(sets.WriteImages(
      kImage, {{sampler_.get(), layer.view.get(), layer.layout}}));
  KILN_RETURN_IF_ERROR(sets.WriteBuffer(kWords, words.buffer.get()));
  KILN_RETURN_IF_ERROR(runner.Run([&](VkCommandBuffer commands) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                      kernel->pipeline.get());
    sets.Bind(commands, VK_PIPELINE_BIND_POINT_COMPUTE);
    vkCmdPushConstants(commands, kernel->layout.layout.get(),
                       VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), &push);
    vkCmdDispatch(commands, Groups(size.width), Groups(size.height), 1);
    WaitForAll(commands);
    const VkBufferCopy region{0, 0, bytes};
    vkCmdCopyBuffer(commands, words.buffer.get(), copy.buffer.get(), 1,
                    &region);
    WaitForAll(commands);
  }));
  KILN_ASSIGN_OR_RETURN(Bytes content, ReadBuffer(*device_, copy, bytes));
  return CloseGaps(std::move(content), layer.texel_bytes);
}

}  // namespace kiln::lab
