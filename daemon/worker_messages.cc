// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker_messages.h"

#include <utility>

#include <fmt/format.h>

#include "kiln/worker/v1/worker.pb.h"
#include "proto/bytes.h"
#include "proto/text.h"

namespace kiln::daemon {
namespace {

absl::Status StatusOf(uint32_t code, const std::string& text) {
  return {static_cast<absl::StatusCode>(code), text};
}

template <typename Messages>
std::vector<Module> ToModules(const Messages& messages) {
  std::vector<Module> modules;
  for (const worker::v1::StageModule& module : messages) {
    if (auto digest = Digest::FromRaw(module.digest()); digest.ok()) {
      modules.push_back({{static_cast<Stage>(module.stage()), *digest},
                         ToBytes(AsBytes(module.spirv())),
                         ToBytes(AsBytes(module.interface())),
                         module.warnings()});
    }
  }
  return modules;
}

}  // namespace

worker::v1::WorkerCommand MakeLoadProgram(const CompileJob& job) {
  worker::v1::WorkerCommand command;
  worker::v1::LoadProgram* load = command.mutable_load_program();
  load->set_program_id(std::string(job.program->id().raw()));
  load->set_canonical(std::string(AsText(job.program->canonical())));
  const auto front_end = job.program->front_end(job.target->compiler);
  load->set_checked(front_end != nullptr);
  for (const Module& module :
       front_end != nullptr ? front_end->modules
                            : job.program->known_stages(job.target->compiler)) {
    worker::v1::StageModule* out = load->add_modules();
    out->set_stage(static_cast<uint32_t>(module.id.stage));
    out->set_digest(std::string(module.id.module.raw()));
    out->set_spirv(std::string(AsText(module.spirv)));
    out->set_interface(std::string(AsText(module.interface)));
    out->set_warnings(module.warnings);
  }
  return command;
}

worker::v1::WorkerCommand MakeJob(uint64_t job_id, const CompileJob& job) {
  worker::v1::WorkerCommand command;
  command.mutable_job()->set_job_id(job_id);
  command.mutable_job()->set_key(std::string(AsText(EncodeKey(job.key))));
  command.mutable_job()->set_front_end_only(job.front_end_only);
  return command;
}

absl::StatusOr<OpenTargetPtr> ToOpenTarget(const TargetSpec& spec,
                                           const worker::v1::Hello& hello) {
  if (hello.error_code() != 0) {
    return StatusOf(hello.error_code(), hello.error());
  }
  auto open = std::make_shared<OpenTarget>();
  open->spec = spec.ToString();
  open->identity.device_name = hello.device_name();
  for (int i = 0; i < hello.field_names_size() && i < hello.field_values_size();
       ++i) {
    open->identity.fields.push_back(
        {hello.field_names(i), hello.field_values(i)});
  }
  open->id = open->identity.Id();
  open->compiler = hello.compiler_version();
  return OpenTargetPtr(std::move(open));
}

std::vector<SandboxLayer> ToSandbox(const worker::v1::Hello& hello) {
  std::vector<SandboxLayer> layers;
  for (const worker::v1::SandboxLayer& layer : hello.sandbox()) {
    layers.push_back({layer.name(), layer.holds(), layer.detail()});
  }
  return layers;
}

std::string SandboxText(const std::vector<SandboxLayer>& layers) {
  std::string held;
  std::string lacking;
  for (const SandboxLayer& layer : layers) {
    std::string& text = layer.holds ? held : lacking;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", layer.name);
    if (!layer.holds) {
      text += fmt::format(" ({})", Shorten(layer.detail, 200));
    }
  }
  if (held.empty()) {
    held = "none";
  }
  return lacking.empty() ? held : held + "; lacking " + lacking;
}

JobOutcome ToOutcome(const CompileJob& job,
                     const worker::v1::JobResult& result) {
  JobOutcome outcome;
  outcome.modules = ToModules(result.modules());
  outcome.variant_modules = ToModules(result.variant_modules());
  outcome.collapsed = result.collapsed();
  outcome.unused_overrides.assign(result.unused_overrides().begin(),
                                  result.unused_overrides().end());
  if (result.error_code() != 0) {
    outcome.status = StatusOf(result.error_code(), result.error());
    outcome.diagnostics =
        std::make_shared<const std::string>(result.diagnostics());
    // Only what the program itself is to blame for will be so again.
    outcome.permanent =
        outcome.status.code() == absl::StatusCode::kInvalidArgument;
    return outcome;
  }
  if (job.front_end_only) {
    return outcome;
  }
  auto artifact = DecodeArtifact(AsBytes(result.artifact()));
  if (!artifact.ok() || artifact->key != job.key ||
      artifact->target != job.target->id) {
    outcome.status =
        absl::InternalError("the worker's answer does not fit its job");
  } else {
    outcome.artifact = *std::move(artifact);
  }
  return outcome;
}

}  // namespace kiln::daemon
