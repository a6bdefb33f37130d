// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/compute.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/lab/commands.h"
#include "shaders/lab/descriptor_sets.h"
#include "shaders/lab/kernel.h"
#include "shaders/lab/upload_batch.h"

namespace kiln::lab {

struct ComputeShader::Objects {
  const DeviceHandles* device = nullptr;
  std::optional<CommandRunner> runner;
  std::vector<Descriptor> descriptors;
  uint32_t push_constant_bytes = 0;
  Kernel kernel;

  void Bind(VkCommandBuffer commands, const DescriptorSets& sets,
            ByteView push_constants) const {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                      kernel.pipeline.get());
    sets.Bind(commands, VK_PIPELINE_BIND_POINT_COMPUTE);
    if (!push_constants.empty()) {
      vkCmdPushConstants(commands, kernel.layout.layout.get(),
                         VK_SHADER_STAGE_COMPUTE_BIT, 0, push_constant_bytes,
                         push_constants.data());
    }
  }
};

namespace {

std::vector<Descriptor> DescriptorsOf(const DispatchRequest& request) {
  std::vector<Descriptor> descriptors;
  for (const ComputeInput& input : request.inputs) {
    const auto count = static_cast<uint32_t>(input.images.size());
    descriptors.push_back({input.set,
                           input.binding,
                           input.type,
                           std::max(count, 1u),
                           {Stage::kCompute}});
  }
  return descriptors;
}

absl::Status CheckGroups(const VkPhysicalDeviceLimits& limits,
                         const DispatchRequest& request) {
  for (int i = 0; i < 3; ++i) {
    if (request.groups[i] == 0 ||
        request.groups[i] > limits.maxComputeWorkGroupCount[i]) {
      return absl::InvalidArgumentError(fmt::format(
          "{} workgroups in dimension {}; the device has 1 to {}",
          request.groups[i], i, limits.maxComputeWorkGroupCount[i]));
    }
  }
  return absl::OkStatus();
}

// What one run reads its storage buffers back through.
struct ReadBack {
  const DeviceBuffer* from = nullptr;
  DeviceBuffer to;
  VkDeviceSize bytes = 0;
};

absl::StatusOr<std::vector<ReadBack>> PrepareReadBack(
    const DeviceHandles& device, const DispatchRequest& request,
    const BoundResources& resources) {
  std::vector<ReadBack> result(request.inputs.size());
  for (size_t i = 0; i < result.size(); ++i) {
    const ComputeInput& input = request.inputs[i];
    if (!input.type.starts_with("storage_buffer") || input.bytes.empty()) {
      continue;
    }
    result[i].from = resources.FindBuffer(input.set, input.binding);
    result[i].bytes = input.bytes.size();
    KILN_ASSIGN_OR_RETURN(
        result[i].to,
        MakeBuffer(device, input.bytes.size(), VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                   MemoryUse::kHost));
  }
  return result;
}

void RecordDispatches(VkCommandBuffer commands, const DispatchRequest& request,
                      const std::optional<Stopwatch>& watch) {
  const uint32_t* groups = request.groups;
  if (!watch) {
    vkCmdDispatch(commands, groups[0], groups[1], groups[2]);
    return;
  }
  watch->Reset(commands);
  for (uint32_t i = 0; i < request.warm_up; ++i) {
    vkCmdDispatch(commands, groups[0], groups[1], groups[2]);
    WaitForAll(commands);
  }
  for (uint32_t i = 0; i < request.timed; ++i) {
    watch->Start(commands, i);
    vkCmdDispatch(commands, groups[0], groups[1], groups[2]);
    watch->Stop(commands, i);
  }
}

void RecordReadBack(VkCommandBuffer commands,
                    std::span<const ReadBack> outputs) {
  WaitForAll(commands);
  for (const ReadBack& output : outputs) {
    if (output.from != nullptr) {
      const VkBufferCopy region{0, 0, output.bytes};
      vkCmdCopyBuffer(commands, output.from->buffer.get(),
                      output.to.buffer.get(), 1, &region);
    }
  }
  WaitForAll(commands);
}

}  // namespace

absl::StatusOr<DispatchResult> Dispatch(pipeline::Device& device,
                                        const DispatchRequest& request) {
  KILN_ASSIGN_OR_RETURN(const auto shader,
                        ComputeShader::Make(device, request));
  return shader->Run(request);
}

ComputeShader::ComputeShader(std::unique_ptr<Objects> objects)
    : objects_(std::move(objects)) {}

ComputeShader::~ComputeShader() = default;

absl::StatusOr<std::unique_ptr<ComputeShader>> ComputeShader::Make(
    pipeline::Device& device, const DispatchRequest& request) {
  auto objects = std::make_unique<Objects>();
  objects->device = &device.handles();
  KILN_ASSIGN_OR_RETURN(objects->runner, CommandRunner::Make(device.handles()));
  objects->descriptors = DescriptorsOf(request);
  KILN_RETURN_IF_ERROR(CheckBindable(objects->descriptors));
  objects->push_constant_bytes =
      static_cast<uint32_t>(request.push_constants.size());
  KILN_ASSIGN_OR_RETURN(
      objects->kernel,
      MakeKernel(device.handles(),
                 {request.spirv, objects->descriptors,
                  objects->push_constant_bytes, request.constants}));
  return std::unique_ptr<ComputeShader>(new ComputeShader(std::move(objects)));
}

absl::StatusOr<DispatchResult> ComputeShader::Run(
    const DispatchRequest& request) {
  const DeviceHandles& device = *objects_->device;
  KILN_RETURN_IF_ERROR(CheckGroups(device.properties.limits, request));
  if (request.push_constants.size() != objects_->push_constant_bytes) {
    return absl::InvalidArgumentError(fmt::format(
        "{} bytes of push constants; the shader was made for {}",
        request.push_constants.size(), objects_->push_constant_bytes));
  }
  std::vector<BoundInput> inputs;
  for (const ComputeInput& input : request.inputs) {
    inputs.push_back({input.set, input.binding, input.bytes, input.images});
  }
  KILN_ASSIGN_OR_RETURN(const DescriptorSets sets,
                        DescriptorSets::Make(device, objects_->kernel.layout,
                                             objects_->descriptors));
  UploadBatch batch(device);
  KILN_ASSIGN_OR_RETURN(
      const BoundResources resources,
      BoundResources::Make(device, batch, sets, objects_->descriptors, inputs));
  KILN_RETURN_IF_ERROR(batch.Run(*objects_->runner));
  KILN_ASSIGN_OR_RETURN(const std::vector<ReadBack> outputs,
                        PrepareReadBack(device, request, resources));
  std::optional<Stopwatch> watch;
  if (request.timed > 0) {
    KILN_ASSIGN_OR_RETURN(watch, Stopwatch::Make(device, request.timed));
  }
  KILN_RETURN_IF_ERROR(objects_->runner->Run([&](VkCommandBuffer commands) {
    objects_->Bind(commands, sets, request.push_constants);
    RecordDispatches(commands, request, watch);
    RecordReadBack(commands, outputs);
  }));
  DispatchResult result;
  for (const ReadBack& output : outputs) {
    Bytes& bytes = result.buffers.emplace_back();
    if (output.from != nullptr) {
      KILN_ASSIGN_OR_RETURN(bytes, ReadBuffer(device, output.to, output.bytes));
    }
  }
  if (watch) {
    KILN_ASSIGN_OR_RETURN(result.microseconds, watch->Microseconds());
  }
  return result;
}

}  // namespace kiln::lab
