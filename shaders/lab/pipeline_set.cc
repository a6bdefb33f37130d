// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/pipeline_set.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"

namespace kiln::lab {

absl::StatusOr<std::unique_ptr<PipelineSet>> PipelineSet::Make(
    pipeline::Device& device, const Program& program) {
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
  }
  return made;
}

absl::StatusOr<const pipeline::Pipeline*> PipelineSet::Get(
    const VariantKey& key) {
  if (const auto found = pipelines_.find(key); found != pipelines_.end()) {
    return &found->second;
  }
  auto created = pipeline::CreatePipeline(device_, {program_, key, code_});
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
