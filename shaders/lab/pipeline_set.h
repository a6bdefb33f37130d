// SPDX-License-Identifier: Apache-2.0
#pragma once

// The pipelines of one program, each created when it is first asked for and
// kept: a proof draws with a few whole shaders and hundreds of variants.

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "proto/variant_key.h"
#include "shaders/compiler.h"
#include "shaders/pipeline/device.h"
#include "shaders/pipeline/pipeline.h"
#include "shaders/specialise/prepared_module.h"

namespace kiln::lab {

// Thread-compatible.
class PipelineSet {
 public:
  // Compiles the program's stages. With `specialization` kModule, a pipeline is
  // made of modules specialised for its key, and a vertex stage for its
  // fragment stage; what the program itself says of it does not count.
  // Errors: InvalidArgument with the diagnostics of one that does not compile.
  // Lifetime: `device` outlives the set; the program is copied. Blocks: while
  // they compile.
  static absl::StatusOr<std::unique_ptr<PipelineSet>> Make(
      pipeline::Device& device, const Program& program,
      Specialization specialization = Specialization::kDriver);

  PipelineSet(const PipelineSet&) = delete;  // its stage codes point into it
  PipelineSet& operator=(const PipelineSet&) = delete;

  std::span<const pipeline::StageCode> code() const { return code_; }

  // `key` names axis values that exist and any features: it need not be
  // normalised, so that one can ask for what normalising would change.
  // Errors: those of CreatePipeline, with the key's label.
  // Lifetime: the set's. Blocks: while a new one compiles.
  absl::StatusOr<const pipeline::Pipeline*> Get(const VariantKey& key);

  size_t size() const { return pipelines_.size(); }

 private:
  PipelineSet(pipeline::Device& device, const Program& program)
      : device_(device), program_(program) {}

  absl::StatusOr<pipeline::CreatedPipeline> Create(const VariantKey& key);
  absl::StatusOr<std::vector<std::vector<uint32_t>>> SpecialiseStages(
      const VariantKey& key) const;

  pipeline::Device& device_;
  const Program program_;
  std::vector<shaders::StageResult> stages_;
  std::vector<pipeline::StageCode> code_;  // of stages_
  // Of each stage; none if the driver specialises.
  std::vector<specialise::PreparedModule> prepared_;
  std::map<VariantKey, pipeline::Pipeline> pipelines_;
};

}  // namespace kiln::lab
