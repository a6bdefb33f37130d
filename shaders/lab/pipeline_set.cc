// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/pipeline_set.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/specialise/specialise.h"
#include "shaders/specialise/stage_outputs.h"

namespace kiln::lab {

absl::StatusOr<std::unique_ptr<PipelineSet>> PipelineSet::Make(
    pipeline::Device& device, const Program& program,
    Specialization specialization) {
  std::unique_ptr<PipelineSet> made(new PipelineSet(device, program));
  for (const StageSource& source : program.stages) {
    made->stages_.push_back(shaders::CompileStage(program, source.stage));
    if (!made->stages_.back().ok()) {
      return absl::InvalidArgumentError(
          fmt::format("program {} does not compile: {}", program.name,
                      made->stages_.back().diagnostics));
    }
  }
  for (size_t i = 0; i < made->stages_.size(); ++i) {
    made->code_.push_back({program.stages[i].stage, made->stages_[i].spirv});
    if (specialization == Specialization::kModule) {
      KILN_ASSIGN_OR_RETURN(specialise::PreparedModule prepared,
                            specialise::Prepare(made->stages_[i].spirv));
      made->prepared_.push_back(std::move(prepared));
    }
  }
  return made;
}

// In the order of the stages.
absl::StatusOr<std::vector<std::vector<uint32_t>>>
PipelineSet::SpecialiseStages(const VariantKey& key) const {
  KILN_ASSIGN_OR_RETURN(
      const std::vector<Constant> constants,
      pipeline::ResolveConstants(KeyConstants(program_, key), code_));
  std::vector<std::vector<uint32_t>> made(code_.size());
  std::span<const uint32_t> next;  // the stage behind
  for (size_t i = code_.size(); i-- > 0;) {
    const std::set<uint32_t> ids = shaders::SpecializationIds(code_[i].spirv);
    std::vector<Constant> own;
    std::ranges::copy_if(
        constants, std::back_inserter(own),
        [&](const Constant& constant) { return ids.contains(constant.id); });
    if (next.empty()) {
      KILN_ASSIGN_OR_RETURN(made[i], specialise::Specialise(prepared_[i], own));
    } else {
      KILN_ASSIGN_OR_RETURN(
          made[i], specialise::PruneStageOutputs(prepared_[i], own, next));
    }
    next = made[i];
  }
  return made;
}

absl::StatusOr<pipeline::CreatedPipeline> PipelineSet::Create(
    const VariantKey& key) {
  if (prepared_.empty()) {
    return pipeline::CreatePipeline(device_, {program_, key, code_});
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<std::vector<uint32_t>> stages,
                        SpecialiseStages(key));
  std::vector<pipeline::StageCode> code;
  for (size_t i = 0; i < stages.size(); ++i) {
    code.push_back({code_[i].stage, stages[i]});
  }
  return pipeline::CreatePipeline(device_, {program_, key, code, true});
}

absl::StatusOr<const pipeline::Pipeline*> PipelineSet::Get(
    const VariantKey& key) {
  if (const auto found = pipelines_.find(key); found != pipelines_.end()) {
    return &found->second;
  }
  auto created = Create(key);
  if (!created.ok()) {
    const absl::Status& status = created.status();
    return absl::Status(status.code(),
                        fmt::format("{}: {}", KeyLabel(program_, key),
                                    std::string_view(status.message().data(),
                                                     status.message().size())));
  }
  const auto [place, inserted] =
      pipelines_.emplace(key, std::move(created->pipeline));
  return &place->second;
}

}  // namespace kiln::lab
