// SPDX-License-Identifier: Apache-2.0
#include "daemon/program_registry.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "proto/status_macros.h"
#include "storage/variant_store.h"

namespace kiln::daemon {

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

void ProgramRegistry::LoadFrontEnd(RegisteredProgram& program,
                                   std::string_view compiler) {
  if (program.front_end(compiler) != nullptr) {
    return;
  }
  auto stored = store_.GetFrontEnd(program.id(), compiler);
  if (!stored.ok() || !stored->has_value()) {
    return;
  }
  FrontEndResult result;
  result.unused_overrides = (*stored)->unused_overrides;
  for (const StageModule& id : (*stored)->modules) {
    auto spirv = store_.GetModule(id.module);
    if (!spirv.ok() || !spirv->has_value()) {
      return;  // a module was lost: the front end runs again
    }
    result.modules.push_back({id, **std::move(spirv)});
  }
  program.set_front_end(compiler, std::move(result));
}

}  // namespace kiln::daemon
