// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/job_runner.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "daemon/worker/channel.h"
#include "daemon/worker/module_checks.h"
#include "kiln/worker/v1/worker.pb.h"
#include "proto/artifact.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "proto/variant_key.h"
#include "shaders/compiler.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::daemon {
namespace {

using Clock = std::chrono::steady_clock;

struct LoadedModule {
  StageModule id;
  std::vector<uint32_t> spirv;
};

uint64_t MicrosecondsSince(Clock::time_point start) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() -
                                                            start)
          .count());
}

std::vector<uint32_t> ToWords(std::string_view bytes) {
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  return words;
}

void AddModule(const LoadedModule& module, worker::v1::JobResult* result) {
  worker::v1::StageModule* out = result->add_modules();
  out->set_stage(static_cast<uint32_t>(module.id.stage));
  out->set_digest(std::string(module.id.module.raw()));
  out->set_spirv(
      std::string(AsText(AsBytes(std::span<const uint32_t>(module.spirv)))));
}

}  // namespace

struct JobRunner::LoadedProgram {
  Program program;
  std::vector<LoadedModule> modules;  // empty until the front end has run
};

JobRunner::JobRunner(std::unique_ptr<pipeline::Device> device,
                     std::unique_ptr<pipeline::Device> proof_device)
    : device_(std::move(device)), proof_device_(std::move(proof_device)) {}

JobRunner::~JobRunner() = default;

absl::Status JobRunner::LoadProgram(const worker::v1::LoadProgram& load) {
  const Digest id = Digest::Of(AsBytes(load.canonical()));
  if (id.raw() != load.program_id()) {
    return absl::InvalidArgumentError("program bytes do not match their id");
  }
  auto loaded = std::make_unique<LoadedProgram>();
  KILN_ASSIGN_OR_RETURN(loaded->program,
                        DecodeProgram(AsBytes(load.canonical())));
  for (const worker::v1::StageModule& module : load.modules()) {
    KILN_ASSIGN_OR_RETURN(const Digest digest,
                          Digest::FromRaw(module.digest()));
    loaded->modules.push_back({{static_cast<Stage>(module.stage()), digest},
                               ToWords(module.spirv())});
  }
  if (programs_.size() >= kWorkerPrograms) {
    programs_.clear();
  }
  programs_[id] = std::move(loaded);
  return absl::OkStatus();
}

absl::Status JobRunner::RunFrontEnd(LoadedProgram& loaded,
                                    const OnPhase& on_phase,
                                    worker::v1::JobResult* result) {
  const Clock::time_point start = Clock::now();
  std::vector<LoadedModule> modules;
  for (const StageSource& source : loaded.program.stages) {
    on_phase(fmt::format("front end, {} stage", StageName(source.stage)));
    shaders::StageResult compiled =
        shaders::CompileStage(loaded.program, source.stage);
    if (!compiled.ok()) {
      result->set_diagnostics(compiled.diagnostics);
      result->set_front_end_failed(true);
      return absl::InvalidArgumentError(
          fmt::format("{} stage '{}' does not compile", StageName(source.stage),
                      ToValidUtf8(source.path)));
    }
    LoadedModule& module = modules.emplace_back();
    module.spirv = std::move(compiled.spirv);
    module.id = {source.stage,
                 Digest::Of(AsBytes(std::span<const uint32_t>(module.spirv)))};
  }
  std::vector<pipeline::StageCode> code;
  for (const LoadedModule& module : modules) {
    code.push_back({module.id.stage, module.spirv});
  }
  absl::StatusOr<std::vector<std::string>> unused =
      CheckOverrides(loaded.program, code);
  if (!unused.ok()) {
    result->set_front_end_failed(true);
    return unused.status();
  }
  result->mutable_unused_overrides()->Assign(unused->begin(), unused->end());
  loaded.modules = std::move(modules);
  result->set_front_end_us(std::max<uint64_t>(1, MicrosecondsSince(start)));
  for (const LoadedModule& module : loaded.modules) {
    AddModule(module, result);
  }
  return absl::OkStatus();
}

absl::Status JobRunner::Compile(const worker::v1::Job& job,
                                const OnPhase& on_phase,
                                worker::v1::JobResult* result) {
  KILN_ASSIGN_OR_RETURN(const VariantKey key, DecodeKey(AsBytes(job.key())));
  auto found = programs_.find(key.program);
  if (found == programs_.end()) {
    return absl::FailedPreconditionError("the job's program was not loaded");
  }
  LoadedProgram& loaded = *found->second;
  if (loaded.modules.empty()) {
    KILN_RETURN_IF_ERROR(RunFrontEnd(loaded, on_phase, result));
  }
  if (job.front_end_only()) {
    return absl::OkStatus();
  }
  std::vector<pipeline::StageCode> code;
  Artifact artifact;
  for (const LoadedModule& module : loaded.modules) {
    code.push_back({module.id.stage, module.spirv});
    artifact.modules.push_back(module.id);
  }
  const pipeline::PipelineInput input{loaded.program, key, code};
  KILN_ASSIGN_OR_RETURN(
      artifact.constants,
      pipeline::ResolveConstants(KeyConstants(loaded.program, key), code));
  on_phase("limits");
  KILN_RETURN_IF_ERROR(
      CheckModules(code, artifact.constants, device_->limits()));

  on_phase("driver");
  KILN_ASSIGN_OR_RETURN(pipeline::CompiledPipeline compiled,
                        pipeline::CompilePipeline(*device_, input));
  artifact.target = device_->identity().Id();
  artifact.key = key;
  artifact.compile_us = compiled.compile_us;
  artifact.blob = std::move(compiled.blob);

  on_phase("proof");
  if (pipeline::IsHeaderOnlyBlob(artifact.blob)) {
    artifact.proof = Proof::kNotProvable;
  } else {
    KILN_ASSIGN_OR_RETURN(
        const pipeline::CreatedPipeline created,
        pipeline::CreateFromBlob(*proof_device_, input, artifact.blob));
    if (created.feedback == pipeline::HitFeedback::kCompileRequired) {
      result->set_proof_refused(true);
      return absl::InternalError(
          "the driver would compile again although it was given its own blob");
    }
    artifact.proof = created.feedback == pipeline::HitFeedback::kCacheHit
                         ? Proof::kProven
                         : Proof::kNotProvable;
  }

  // Statistics are a service: a driver that fails to give them has still
  // compiled the variant.
  on_phase("statistics");
  if (auto measured = pipeline::MeasurePipeline(*device_, input);
      measured.ok()) {
    artifact.statistics = std::move(measured->statistics);
    artifact.cost = measured->cost;
  } else {
    result->set_device_suspect(true);
  }
  artifact.provenance = fmt::format("{}; {}", shaders::CompilerVersion(),
                                    device_->identity().device_name);
  result->set_artifact(std::string(AsText(EncodeArtifact(artifact))));
  return absl::OkStatus();
}

worker::v1::JobResult JobRunner::Run(const worker::v1::Job& job,
                                     const OnPhase& on_phase) {
  worker::v1::JobResult result;
  result.set_job_id(job.job_id());
  if (absl::Status status = Compile(job, on_phase, &result); !status.ok()) {
    const absl::string_view text = status.message();
    result.set_error_code(static_cast<uint32_t>(status.code()));
    result.set_error(ToValidUtf8({text.data(), text.size()}));
  }
  std::vector<std::string> messages = device_->validation_messages();
  for (std::string& message : proof_device_->validation_messages()) {
    messages.push_back(std::move(message));
  }
  for (size_t i = validation_messages_sent_; i < messages.size(); ++i) {
    result.add_validation_messages(messages[i]);
  }
  validation_messages_sent_ = messages.size();
  return result;
}

}  // namespace kiln::daemon
