// SPDX-License-Identifier: Apache-2.0
#include "daemon/program_registry.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "proto/status_macros.h"
#include "shaders/sources/source_hash.h"
#include "storage/variant_store.h"

namespace kiln::daemon {

const std::vector<Digest>& RegisteredProgram::stage_hashes() const {
  absl::call_once(hashed_, [this] {
    for (const StageSource& stage : program_.stages) {
      stage_hashes_.push_back(sources::SourceSetHash(program_, stage));
    }
  });
  return stage_hashes_;
}

std::shared_ptr<const FrontEndResult> RegisteredProgram::front_end(
    std::string_view compiler) const {
  absl::MutexLock lock(&mutex_);
  auto found = results_.find(compiler);
  return found == results_.end() ? nullptr : found->second;
}

void RegisteredProgram::set_front_end(std::string_view compiler,
                                      FrontEndResult result) {
  auto shared = std::make_shared<const FrontEndResult>(std::move(result));
  absl::MutexLock lock(&mutex_);
  results_.insert_or_assign(std::string(compiler), std::move(shared));
  if (auto known = known_stages_.find(compiler); known != known_stages_.end()) {
    known_stages_.erase(known);
  }
}

void RegisteredProgram::ForgetFailures() {
  absl::MutexLock lock(&mutex_);
  std::erase_if(results_,
                [](const auto& entry) { return !entry.second->failure.ok(); });
}

std::vector<Module> RegisteredProgram::known_stages(
    std::string_view compiler) const {
  absl::MutexLock lock(&mutex_);
  auto found = known_stages_.find(compiler);
  return found == known_stages_.end() ? std::vector<Module>() : found->second;
}

void RegisteredProgram::set_known_stages(std::string_view compiler,
                                         std::vector<Module> stages) {
  absl::MutexLock lock(&mutex_);
  if (!results_.contains(compiler)) {
    known_stages_.insert_or_assign(std::string(compiler), std::move(stages));
  }
}

absl::StatusOr<bool> ProgramRegistry::Register(const Digest& id,
                                               Bytes canonical) {
  if (Digest::Of(canonical) != id) {
    return absl::InvalidArgumentError(
        fmt::format("program_id {} is not the digest of the {} bytes sent",
                    id.ShortHex(), canonical.size()));
  }
  {
    absl::MutexLock lock(&mutex_);
    if (programs_.contains(id)) {
      return false;
    }
  }
  KILN_ASSIGN_OR_RETURN(Program program, DecodeProgram(canonical));
  KILN_ASSIGN_OR_RETURN(const std::optional<Bytes> stored,
                        store_.GetProgram(id));
  if (!stored) {
    // Storing is best effort: without it the program lives as long as we do.
    if (const absl::Status put = store_.PutProgram(id, canonical); !put.ok()) {
      spdlog::warn("program not stored id={} error=\"{}\"", id.ShortHex(),
                   put.ToString());
    }
  }
  auto registered = std::make_shared<RegisteredProgram>(id, std::move(program),
                                                        std::move(canonical));
  absl::MutexLock lock(&mutex_);
  const bool inserted = programs_.try_emplace(id, std::move(registered)).second;
  return inserted && !stored;
}

absl::StatusOr<std::shared_ptr<RegisteredProgram>> ProgramRegistry::Find(
    const Digest& id) {
  {
    absl::MutexLock lock(&mutex_);
    if (auto found = programs_.find(id); found != programs_.end()) {
      return found->second;
    }
  }
  KILN_ASSIGN_OR_RETURN(std::optional<Bytes> canonical, store_.GetProgram(id));
  if (!canonical) {
    return absl::NotFoundError(fmt::format("unknown program {}", id.Hex()));
  }
  KILN_ASSIGN_OR_RETURN(Program program, DecodeProgram(*canonical));
  auto registered = std::make_shared<RegisteredProgram>(id, std::move(program),
                                                        *std::move(canonical));
  absl::MutexLock lock(&mutex_);
  return programs_.try_emplace(id, std::move(registered)).first->second;
}

std::optional<Module> ProgramRegistry::LoadModule(const StageModule& id) {
  auto spirv = store_.GetModule(id.module);
  if (!spirv.ok() || !spirv->has_value()) {
    return std::nullopt;
  }
  Module module{id, **std::move(spirv)};
  if (auto interface = store_.GetInterface(id.module);
      interface.ok() && interface->has_value()) {
    module.interface = **std::move(interface);
  }
  return module;
}

void ProgramRegistry::LoadFrontEnd(RegisteredProgram& program,
                                   std::string_view compiler) {
  if (program.front_end(compiler) != nullptr) {
    return;
  }
  FrontEndResult result;
  auto stored = store_.GetFrontEnd(program.id(), compiler);
  if (stored.ok() && stored->has_value()) {
    result.unused_overrides = (*stored)->unused_overrides;
    for (const StageModule& id : (*stored)->modules) {
      if (std::optional<Module> module = LoadModule(id)) {
        result.modules.push_back(*std::move(module));
      }
    }
    if (result.modules.size() == program.program().stages.size()) {
      program.set_front_end(compiler, std::move(result));
      return;
    }
  }
  std::vector<Module> known;
  for (const Digest& sources : program.stage_hashes()) {
    auto shader = store_.GetShader(sources, compiler);
    if (!shader.ok() || !shader->has_value()) {
      continue;
    }
    if (std::optional<Module> module = LoadModule((*shader)->module)) {
      module->warnings = (*shader)->warnings;
      known.push_back(*std::move(module));
    }
  }
  program.set_known_stages(compiler, std::move(known));
}

absl::Status ProgramRegistry::StoreFrontEnd(
    const RegisteredProgram& program, std::string_view compiler,
    const std::vector<Module>& modules,
    const std::vector<std::string>& unused_overrides) {
  FrontEnd front_end;
  front_end.unused_overrides = unused_overrides;
  for (const Module& module : modules) {
    KILN_RETURN_IF_ERROR(store_.PutModule(module.id.module, module.spirv));
    if (!module.interface.empty()) {
      KILN_RETURN_IF_ERROR(
          store_.PutInterface(module.id.module, module.interface));
    }
    front_end.modules.push_back(module.id);
    const auto& stages = program.program().stages;
    for (size_t i = 0; i < stages.size(); ++i) {
      if (stages[i].stage == module.id.stage) {
        KILN_RETURN_IF_ERROR(store_.PutShader(
            program.stage_hashes()[i], compiler, {module.id, module.warnings}));
      }
    }
  }
  return store_.PutFrontEnd(program.id(), compiler, front_end);
}

void ProgramRegistry::Forget(const Digest& id) {
  absl::MutexLock lock(&mutex_);
  programs_.erase(id);
}

}  // namespace kiln::daemon
