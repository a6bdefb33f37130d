// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/variant_code.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "daemon/worker/module_checks.h"
#include "proto/bytes.h"
#include "proto/canonical.h"
#include "proto/status_macros.h"
#include "shaders/reflection.h"
#include "shaders/specialise/prepared_module.h"
#include "shaders/specialise/specialise.h"
#include "shaders/specialise/stage_outputs.h"

namespace kiln::daemon {
namespace {

// Those that the module declares.
std::vector<Constant> ConstantsOf(std::span<const uint32_t> spirv,
                                  std::span<const Constant> constants) {
  const std::set<uint32_t> ids = shaders::SpecializationIds(spirv);
  std::vector<Constant> own;
  std::ranges::copy_if(
      constants, std::back_inserter(own),
      [&](const Constant& constant) { return ids.contains(constant.id); });
  return own;
}

// `next`: the code of the stage behind, which reads what this one writes; empty
// for the last.
absl::StatusOr<LoadedModule> SpecialiseModule(
    LoadedModule& module, std::span<const Constant> constants,
    std::span<const uint32_t> next, shaders::Revalidation revalidation) {
  if (module.prepared == nullptr) {
    KILN_ASSIGN_OR_RETURN(specialise::PreparedModule prepared,
                          specialise::Prepare(module.spirv));
    module.prepared =
        std::make_shared<const specialise::PreparedModule>(std::move(prepared));
  }
  LoadedModule made;
  KILN_ASSIGN_OR_RETURN(
      made.spirv,
      next.empty()
          ? specialise::Specialise(*module.prepared, constants, revalidation)
          : specialise::PruneStageOutputs(*module.prepared, constants, next,
                                          revalidation));
  made.id = {module.id.stage,
             Digest::Of(AsBytes(std::span<const uint32_t>(made.spirv)))};
  return made;
}

}  // namespace

absl::StatusOr<VariantCode> MakeVariantCode(
    const Program& program, std::span<LoadedModule> modules,
    std::span<const Constant> constants, const pipeline::DeviceLimits& limits,
    shaders::Revalidation revalidation) {
  const bool by_driver = program.specialization == Specialization::kDriver;
  VariantCode variant;
  std::vector<LoadedModule> specialised(modules.size());
  std::span<const uint32_t> next;
  for (size_t i = modules.size(); i-- > 0;) {
    LoadedModule& module = modules[i];
    const std::vector<Constant> own = ConstantsOf(module.spirv, constants);
    KILN_RETURN_IF_ERROR(CheckLimits(module.spirv, own, limits));
    if (by_driver) {
      // What a driver would do with a value that fits nowhere is not known.
      KILN_RETURN_IF_ERROR(
          shaders::FreezeConstants(module.spirv, own).status());
      continue;
    }
    KILN_ASSIGN_OR_RETURN(specialised[i],
                          SpecialiseModule(module, own, next, revalidation));
    next = specialised[i].spirv;
  }
  if (!by_driver) {
    variant.specialised = std::move(specialised);
  }
  for (const LoadedModule& module :
       by_driver ? modules : std::span<LoadedModule>(variant.specialised)) {
    variant.code.push_back({module.id.stage, module.spirv});
    variant.modules.push_back(module.id);
  }
  return variant;
}

Digest PipelineDigest(const VariantKey& key, const VariantCode& code) {
  CanonicalWriter out;
  out.Text("kiln.pipeline");
  out.Text(key.kind);
  out.Text(key.backdrop);
  out.Text(key.blend);
  out.Sequence(code.modules, [&](const StageModule& module) {
    out.U8(static_cast<uint8_t>(module.stage));
    out.Id(module.module);
  });
  return Digest::Of(out.bytes());
}

}  // namespace kiln::daemon
