// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/pipeline_description.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "proto/spirv_view.h"
#include "proto/status_macros.h"
#include "proto/variant_key.h"
#include "shaders/pipeline/compute_description.h"
#include "shaders/pipeline/graphics_description.h"

namespace kiln::pipeline {
namespace {

absl::Status CheckStages(const Program& program,
                         std::span<const StageCode> code) {
  for (const StageSource& source : program.stages) {
    if (std::ranges::count(code, source.stage, &StageCode::stage) != 1) {
      return absl::InvalidArgumentError(fmt::format(
          "code has not one module for the {} stage", StageName(source.stage)));
    }
  }
  if (code.size() != program.stages.size()) {
    return absl::InvalidArgumentError(
        "code has a stage that the program has not");
  }
  return absl::OkStatus();
}

uint32_t ExecutionModel(Stage stage) {
  switch (stage) {
    case Stage::kVertex:
      return 0;
    case Stage::kFragment:
      return 4;
    case Stage::kCompute:
      break;
  }
  return 5;
}

// Drivers trust that the entry point exists, and crash if it does not.
absl::Status CheckEntryPoint(const StageCode& code, std::string_view entry) {
  constexpr uint16_t kOpEntryPoint = 15;
  bool found = false;
  ForEachInstruction(code.spirv, [&](const Instruction& instruction) {
    found = found || (instruction.opcode == kOpEntryPoint &&
                      instruction.word(1) == ExecutionModel(code.stage) &&
                      LiteralText(instruction, 3) == entry);
  });
  return found ? absl::OkStatus()
               : absl::InvalidArgumentError(fmt::format(
                     "the module of the {} stage has no entry point {} for "
                     "that stage",
                     StageName(code.stage), entry));
}

// Requires: CheckStages.
const std::string& EntryOf(const Program& program, Stage stage) {
  return std::ranges::find(program.stages, stage, &StageSource::stage)->entry;
}

absl::StatusOr<OwnedShaderModule> MakeModule(const DeviceHandles& device,
                                             const StageCode& code) {
  VkShaderModuleCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  info.codeSize = code.spirv.size_bytes();
  info.pCode = code.spirv.data();
  VkShaderModule module = VK_NULL_HANDLE;
  if (const VkResult result =
          vkCreateShaderModule(device.device.get(), &info, nullptr, &module);
      result != VK_SUCCESS) {
    return VulkanError("vkCreateShaderModule", result);
  }
  return OwnedShaderModule(device.device.get(), module);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PipelineDescription>> PipelineDescription::Make(
    const DeviceHandles& device, const PipelineInput& input) {
  KILN_RETURN_IF_ERROR(CheckStages(input.program, input.code));
  if (input.program.IsCompute()) {
    return ComputeDescription::Make(device, input);
  }
  return GraphicsDescription::Make(device, input);
}

absl::Status PipelineDescription::AddStages(const PipelineInput& input) {
  KILN_ASSIGN_OR_RETURN(layout_, MakeLayout(device_, input.program.pipeline));
  const std::vector<Constant> constants =
      input.specialized ? std::vector<Constant>()
                        : KeyConstants(input.program, input.key);
  KILN_ASSIGN_OR_RETURN(constants_, Specialize(constants, input.code));
  specializations_.reserve(constants_.size());  // stages_ points into both
  entries_.reserve(input.code.size());
  for (size_t i = 0; i < input.code.size(); ++i) {
    entries_.push_back(EntryOf(input.program, input.code[i].stage));
    KILN_RETURN_IF_ERROR(CheckEntryPoint(input.code[i], entries_.back()));
    KILN_ASSIGN_OR_RETURN(OwnedShaderModule module,
                          MakeModule(device_, input.code[i]));
    specializations_.push_back(constants_[i].Info());
    VkPipelineShaderStageCreateInfo& stage = stages_.emplace_back();
    stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    stage.stage = StageBit(input.code[i].stage);
    stage.module = module.get();
    stage.pName = entries_.back().c_str();
    stage.pSpecializationInfo =
        constants_[i].entries.empty() ? nullptr : &specializations_.back();
    modules_.push_back(std::move(module));
  }
  return absl::OkStatus();
}

PipelineDescription::Created PipelineDescription::Create(
    VkPipelineCache cache, VkPipelineCreateFlags flags) const {
  Created created;
  std::vector<VkPipelineCreationFeedback> stage_feedback(stages_.size());
  VkPipelineCreationFeedbackCreateInfo feedback{};
  feedback.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO;
  feedback.pPipelineCreationFeedback = &created.feedback;
  feedback.pipelineStageCreationFeedbackCount =
      static_cast<uint32_t>(stage_feedback.size());
  feedback.pPipelineStageCreationFeedbacks = stage_feedback.data();
  VkPipeline pipeline = VK_NULL_HANDLE;
  const auto start = std::chrono::steady_clock::now();
  created.result = CallDriver(cache, flags, feedback, pipeline);
  const auto end = std::chrono::steady_clock::now();
  created.pipeline = OwnedPipeline(device_.device.get(), pipeline);
  created.microseconds = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(end - start)
          .count());
  return created;
}

}  // namespace kiln::pipeline
