// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/job_runner.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "daemon/worker/channel.h"
#include "daemon/worker/interface_checks.h"
#include "daemon/worker/module_checks.h"
#include "daemon/worker/variant_code.h"
#include "kiln/worker/v1/worker.pb.h"
#include "proto/artifact.h"
#include "proto/module_interface.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "proto/variant_key.h"
#include "shaders/compiler.h"
#include "shaders/interface_reflection.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// Of blobs that a worker keeps for keys that turn out to have the same code.
constexpr size_t kMadeBytes = 32u << 20;

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

std::string WireText(const absl::Status& status) {
  const absl::string_view text = status.message();
  return ToValidUtf8({text.data(), text.size()});
}

// A module that was just made, and what it declares. That SPIRV-Cross cannot
// read one is no reason to refuse it: then only its entry point is told.
void AddModule(const StageSource& source, const LoadedModule& module,
               std::string warnings, worker::v1::JobResult* result) {
  absl::StatusOr<ModuleInterface> interface =
      shaders::ReflectInterface(module.spirv, source.stage, source.entry);
  if (interface.ok()) {
    warnings += shaders::SharedBindingWarnings(source, *interface);
  } else {
    warnings += fmt::format("{}:1: warning: the interface is not known: {}\n",
                            source.path, WireText(interface.status()));
    interface = ModuleInterface{.entry_point = source.entry};
  }
  worker::v1::StageModule* out = result->add_modules();
  out->set_stage(static_cast<uint32_t>(module.id.stage));
  out->set_digest(std::string(module.id.module.raw()));
  out->set_spirv(
      std::string(AsText(AsBytes(std::span<const uint32_t>(module.spirv)))));
  out->set_interface(std::string(AsText(EncodeInterface(*interface))));
  out->set_warnings(CapDiagnostics(warnings));
}

// That the stages fit the program. Returns: its overrides that no code reads.
absl::StatusOr<std::vector<std::string>> CheckProgram(
    const Program& program, std::span<const pipeline::StageCode> code,
    std::string* diagnostics) {
  if (DeclaresPipeline(program)) {
    KILN_RETURN_IF_ERROR(CheckInterfaces(program, code, diagnostics));
  }
  return CheckOverrides(program, code);
}

void AddVariantModule(const LoadedModule& module,
                      worker::v1::JobResult* result) {
  worker::v1::StageModule* out = result->add_variant_modules();
  out->set_stage(static_cast<uint32_t>(module.id.stage));
  out->set_digest(std::string(module.id.module.raw()));
  out->set_spirv(
      std::string(AsText(AsBytes(std::span<const uint32_t>(module.spirv)))));
}

}  // namespace

struct JobRunner::LoadedProgram {
  Program program;
  // Those that the daemon had; after the front end, those of all stages in
  // their order.
  std::vector<LoadedModule> modules;
  bool checked = false;  // the overrides, against all modules
  // What was made of specialised code, without its key: keys whose values
  // select the same code share it. At most kMadeBytes of blobs.
  std::map<Digest, Artifact> made;
  size_t made_bytes = 0;

  const LoadedModule* FindModule(Stage stage) const {
    auto found = std::ranges::find(
        modules, stage, [](const LoadedModule& m) { return m.id.stage; });
    return found == modules.end() ? nullptr : &*found;
  }

  bool IsComplete() const {
    return checked && modules.size() == program.stages.size();
  }

  void Keep(const Digest& pipeline, const Artifact& artifact) {
    if (made_bytes + artifact.blob.size() > kMadeBytes) {
      made.clear();
      made_bytes = 0;
    }
    made_bytes += artifact.blob.size();
    made.emplace(pipeline, artifact);
  }
};

JobRunner::JobRunner(std::unique_ptr<Backend> backend,
                     const JobRunnerOptions& options)
    : options_(options), backend_(std::move(backend)) {}

JobRunner::~JobRunner() = default;

absl::Status JobRunner::LoadProgram(const worker::v1::LoadProgram& load) {
  const Digest id = Digest::Of(AsBytes(load.canonical()));
  if (id.raw() != load.program_id()) {
    return absl::InvalidArgumentError("program bytes do not match their id");
  }
  auto loaded = std::make_unique<LoadedProgram>();
  KILN_ASSIGN_OR_RETURN(loaded->program,
                        DecodeProgram(AsBytes(load.canonical())));
  if (loaded->program.rooted) {
    return absl::InvalidArgumentError(
        "the program is a recipe; only a snapshot of it can be compiled");
  }
  for (const StageSource& source : loaded->program.stages) {
    for (const worker::v1::StageModule& module : load.modules()) {
      if (static_cast<Stage>(module.stage()) != source.stage) {
        continue;
      }
      KILN_ASSIGN_OR_RETURN(const Digest digest,
                            Digest::FromRaw(module.digest()));
      loaded->modules.push_back(
          {{source.stage, digest}, ToWords(module.spirv())});
    }
  }
  if (loaded->modules.size() != static_cast<size_t>(load.modules_size())) {
    return absl::InvalidArgumentError("a module is of no stage of the program");
  }
  loaded->checked = load.checked();
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
  std::vector<pipeline::StageCode> code;
  for (const StageSource& source : loaded.program.stages) {
    if (const LoadedModule* known = loaded.FindModule(source.stage)) {
      modules.push_back(*known);
      continue;
    }
    on_phase(fmt::format("front end, {} stage '{}'", StageName(source.stage),
                         ToValidUtf8(source.path)));
    shaders::StageResult compiled =
        shaders::CompileStage(loaded.program, source.stage);
    if (!compiled.ok()) {
      result->clear_modules();
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
    AddModule(source, module, std::move(compiled.diagnostics), result);
  }
  for (const LoadedModule& module : modules) {
    code.push_back({module.id.stage, module.spirv});
  }
  on_phase("front end, checks");
  absl::StatusOr<std::vector<std::string>> unused =
      CheckProgram(loaded.program, code, result->mutable_diagnostics());
  if (!unused.ok()) {
    result->clear_modules();
    result->set_front_end_failed(true);
    return unused.status();
  }
  result->mutable_unused_overrides()->Assign(unused->begin(), unused->end());
  loaded.modules = std::move(modules);
  loaded.checked = true;
  result->set_front_end_us(std::max<uint64_t>(1, MicrosecondsSince(start)));
  return absl::OkStatus();
}

absl::Status JobRunner::Compile(const worker::v1::Job& job,
                                const OnPhase& on_phase,
                                worker::v1::JobResult* result) {
  if (!options_.compiler) {
    return absl::FailedPreconditionError("sealed: nothing is compiled here");
  }
  KILN_ASSIGN_OR_RETURN(const VariantKey key, DecodeKey(AsBytes(job.key())));
  auto found = programs_.find(key.program);
  if (found == programs_.end()) {
    return absl::FailedPreconditionError("the job's program was not loaded");
  }
  LoadedProgram& loaded = *found->second;
  if (!job.front_end_only() && loaded.program.IsShader()) {
    return absl::InvalidArgumentError(
        "a shader, not a pipeline: it has no vertex stage");
  }
  if (!loaded.IsComplete()) {
    KILN_RETURN_IF_ERROR(RunFrontEnd(loaded, on_phase, result));
  }
  if (job.front_end_only()) {
    return absl::OkStatus();
  }
  std::vector<pipeline::StageCode> whole;
  for (const LoadedModule& module : loaded.modules) {
    whole.push_back({module.id.stage, module.spirv});
  }
  if (!DeclaresPipeline(loaded.program)) {
    KILN_RETURN_IF_ERROR(
        CheckInterfaces(loaded.program, whole, result->mutable_diagnostics()));
  }
  KILN_ASSIGN_OR_RETURN(
      const std::vector<Constant> constants,
      pipeline::ResolveConstants(KeyConstants(loaded.program, key), whole));
  on_phase("specialisation");
  const Clock::time_point start = Clock::now();
  KILN_ASSIGN_OR_RETURN(
      const VariantCode variant,
      MakeVariantCode(
          loaded.program, loaded.modules, constants, backend_->limits(),
          options_.validate ? shaders::Revalidation::kAlways
                            : shaders::Revalidation::kWhereValuesMatter));
  result->set_specialise_us(std::max<uint64_t>(1, MicrosecondsSince(start)));
  const Digest pipeline = PipelineDigest(key, variant);
  Artifact artifact;
  if (const auto equal = loaded.made.find(pipeline);
      equal != loaded.made.end()) {
    artifact = equal->second;
    result->set_collapsed(true);
  } else {
    KILN_ASSIGN_OR_RETURN(artifact, Build({loaded.program, key, variant.code,
                                           variant.is_specialised()},
                                          on_phase, result));
    if (variant.is_specialised() && !result->device_suspect()) {
      loaded.Keep(pipeline, artifact);
    }
  }
  artifact.key = key;
  artifact.modules = variant.modules;
  artifact.constants = constants;
  artifact.specialized = variant.is_specialised();
  for (const LoadedModule& module : variant.specialised) {
    AddVariantModule(module, result);
  }
  result->set_artifact(std::string(AsText(EncodeArtifact(artifact))));
  return absl::OkStatus();
}

absl::StatusOr<Artifact> JobRunner::Build(const pipeline::PipelineInput& input,
                                          const OnPhase& on_phase,
                                          worker::v1::JobResult* result) {
  Artifact artifact;
  on_phase("driver");
  KILN_ASSIGN_OR_RETURN(pipeline::CompiledPipeline compiled,
                        backend_->Compile(input));
  artifact.target = backend_->identity().Id();
  artifact.compile_us = compiled.compile_us;
  artifact.blob = std::move(compiled.blob);

  on_phase("proof");
  if (pipeline::IsHeaderOnlyBlob(artifact.blob)) {
    artifact.proof = Proof::kNotProvable;
  } else {
    KILN_ASSIGN_OR_RETURN(const pipeline::HitFeedback feedback,
                          backend_->Prove(input, artifact.blob));
    if (feedback == pipeline::HitFeedback::kCompileRequired) {
      result->set_proof_refused(true);
      return absl::InternalError(
          "the driver would compile again although it was given its own blob");
    }
    artifact.proof = feedback == pipeline::HitFeedback::kCacheHit
                         ? Proof::kProven
                         : Proof::kNotProvable;
  }

  // Statistics are a service: a driver that fails to give them has still
  // compiled the variant.
  on_phase("statistics");
  if (auto measured = backend_->Measure(input); measured.ok()) {
    artifact.statistics = std::move(measured->statistics);
    artifact.cost = measured->cost;
  } else {
    result->set_device_suspect(true);
  }
  artifact.provenance = fmt::format("{}; {}", shaders::CompilerVersion(),
                                    backend_->identity().device_name);
  return artifact;
}

worker::v1::JobResult JobRunner::Run(const worker::v1::Job& job,
                                     const OnPhase& on_phase) {
  worker::v1::JobResult result;
  result.set_job_id(job.job_id());
  if (absl::Status status = Compile(job, on_phase, &result); !status.ok()) {
    result.set_error_code(static_cast<uint32_t>(status.code()));
    result.set_error(WireText(status));
  }
  for (std::string& message : backend_->TakeValidationMessages()) {
    result.add_validation_messages(std::move(message));
  }
  return result;
}

}  // namespace kiln::daemon
