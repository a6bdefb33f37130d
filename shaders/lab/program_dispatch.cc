// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/program_dispatch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "proto/status_macros.h"
#include "shaders/lab/upload_batch.h"

namespace kiln::lab {

absl::StatusOr<std::unique_ptr<ProgramDispatch>> ProgramDispatch::Make(
    pipeline::Device& device, const Program& program,
    const std::vector<BoundInput>& inputs, const Bytes& push_constants) {
  const DeviceHandles& handles = device.handles();
  std::unique_ptr<ProgramDispatch> made(new ProgramDispatch(handles));
  made->skeleton_ = program.pipeline;
  made->push_constants_ = push_constants;
  made->push_constants_.resize(program.pipeline.push_constant_bytes);
  KILN_ASSIGN_OR_RETURN(made->runner_, CommandRunner::Make(handles));
  KILN_ASSIGN_OR_RETURN(made->layout_,
                        pipeline::MakeLayout(handles, program.pipeline));
  absl::StatusOr<Stopwatch> watch = Stopwatch::Make(handles, 1);
  if (watch.ok()) {
    made->watch_ = *std::move(watch);
  } else if (!absl::IsFailedPrecondition(watch.status())) {
    return watch.status();
  }
  KILN_RETURN_IF_ERROR(made->Upload(inputs));
  KILN_RETURN_IF_ERROR(made->KeepInitial(inputs));
  return made;
}

absl::Status ProgramDispatch::Upload(const std::vector<BoundInput>& inputs) {
  KILN_ASSIGN_OR_RETURN(
      sets_, DescriptorSets::Make(device_, layout_, skeleton_.descriptors));
  UploadBatch batch(device_);
  KILN_ASSIGN_OR_RETURN(resources_,
                        BoundResources::Make(device_, batch, *sets_,
                                             skeleton_.descriptors, inputs));
  return batch.Run(*runner_);
}

absl::Status ProgramDispatch::KeepInitial(
    const std::vector<BoundInput>& inputs) {
  VkDeviceSize largest = 0;
  for (const Descriptor& descriptor : skeleton_.descriptors) {
    if (!descriptor.type.starts_with("storage_buffer")) {
      continue;
    }
    const auto input = std::ranges::find_if(inputs, [&](const BoundInput& one) {
      return one.set == descriptor.set && one.binding == descriptor.binding;
    });
    StorageBuffer& buffer = storage_.emplace_back();
    buffer.bound = resources_.FindBuffer(descriptor.set, descriptor.binding);
    buffer.bytes = input->buffer.size();
    largest = std::max(largest, buffer.bytes);
    KILN_ASSIGN_OR_RETURN(buffer.initial,
                          MakeBuffer(device_, buffer.bytes,
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                         VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                                     MemoryUse::kDevice));
  }
  std::erase_if(storage_,
                [](const StorageBuffer& one) { return one.bytes == 0; });
  KILN_ASSIGN_OR_RETURN(
      read_back_, MakeBuffer(device_, largest, VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                             MemoryUse::kHost));
  return runner_->Run([&](VkCommandBuffer commands) {
    for (const StorageBuffer& buffer : storage_) {
      const VkBufferCopy region{0, 0, buffer.bytes};
      vkCmdCopyBuffer(commands, buffer.bound->buffer.get(),
                      buffer.initial.buffer.get(), 1, &region);
    }
    WaitForAll(commands);
  });
}

void ProgramDispatch::RecordRestore(VkCommandBuffer commands) const {
  for (const StorageBuffer& buffer : storage_) {
    const VkBufferCopy region{0, 0, buffer.bytes};
    vkCmdCopyBuffer(commands, buffer.initial.buffer.get(),
                    buffer.bound->buffer.get(), 1, &region);
  }
  WaitForAll(commands);
}

void ProgramDispatch::RecordDispatch(
    VkCommandBuffer commands, const pipeline::Pipeline& pipeline,
    const std::array<uint32_t, 3>& groups) const {
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                    static_cast<VkPipeline>(pipeline.vk_pipeline()));
  sets_->Bind(commands, VK_PIPELINE_BIND_POINT_COMPUTE);
  if (!push_constants_.empty()) {
    vkCmdPushConstants(commands, layout_.layout.get(),
                       pipeline::StageBits(skeleton_.push_constant_stages), 0,
                       static_cast<uint32_t>(push_constants_.size()),
                       push_constants_.data());
  }
  if (watch_) {
    watch_->Start(commands, 0);
  }
  vkCmdDispatch(commands, groups[0], groups[1], groups[2]);
  if (watch_) {
    watch_->Stop(commands, 0);
  }
}

absl::StatusOr<double> ProgramDispatch::Run(
    const pipeline::Pipeline& pipeline, const std::array<uint32_t, 3>& groups) {
  if (watch_) {
    KILN_RETURN_IF_ERROR(runner_->Run([&](VkCommandBuffer commands) {
      watch_->Reset(commands);
      RecordRestore(commands);
      RecordDispatch(commands, pipeline, groups);
      WaitForAll(commands);
    }));
    KILN_ASSIGN_OR_RETURN(const std::vector<double> times,
                          watch_->Microseconds());
    return times.front();
  }
  KILN_RETURN_IF_ERROR(
      runner_->Run([&](VkCommandBuffer commands) { RecordRestore(commands); }));
  const auto start = std::chrono::steady_clock::now();
  KILN_RETURN_IF_ERROR(runner_->Run([&](VkCommandBuffer commands) {
    RecordDispatch(commands, pipeline, groups);
    WaitForAll(commands);
  }));
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now() - start)
      .count();
}

absl::StatusOr<Digest> ProgramDispatch::Output() {
  Bytes all;
  for (const StorageBuffer& buffer : storage_) {
    KILN_RETURN_IF_ERROR(runner_->Run([&](VkCommandBuffer commands) {
      const VkBufferCopy region{0, 0, buffer.bytes};
      vkCmdCopyBuffer(commands, buffer.bound->buffer.get(),
                      read_back_.buffer.get(), 1, &region);
      WaitForAll(commands);
    }));
    KILN_ASSIGN_OR_RETURN(const Bytes content,
                          ReadBuffer(device_, read_back_, buffer.bytes));
    all.insert(all.end(), content.begin(), content.end());
  }
  return Digest::Of(all);
}

}  // namespace kiln::lab
