// SPDX-License-Identifier: Apache-2.0
#include "shaders/reflection.h"

#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <spirv-tools/optimizer.hpp>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/compiler.h"
#include "shaders/module_constants.h"
#include "shaders/module_rules.h"
#include "shaders/workgroup.h"

namespace kiln::shaders {
namespace {

// Makes one of two constants that share an id.
absl::Status Merge(const ReflectedConstant& other, ReflectedConstant& merged) {
  if (other.type != merged.type) {
    return absl::InvalidArgumentError(
        fmt::format("constant_id {} has two types: {} `{}` and {} `{}`",
                    merged.id, ConstantTypeName(merged.type), merged.name,
                    ConstantTypeName(other.type), other.name));
  }
  if (!other.name.empty() && !merged.name.empty() &&
      other.name != merged.name) {
    return absl::InvalidArgumentError(
        fmt::format("constant_id {} has two names: `{}` and `{}`", merged.id,
                    merged.name, other.name));
  }
  if (merged.name.empty()) {
    merged = other;
  }
  return absl::OkStatus();
}

// The ids that are left when code that changes nothing is gone. Not
// EliminateDeadConstant: it takes a workgroup's size for unused. No inlining:
// that can take for ever (KNOWN_FAULTS 2), so a constant that is passed to a
// function which ignores it still counts as used.
std::set<uint32_t> LiveIds(std::span<const uint32_t> spirv) {
  spvtools::Optimizer optimizer(SPV_ENV_VULKAN_1_3);
  optimizer.RegisterPass(spvtools::CreateEliminateDeadFunctionsPass())
      .RegisterPass(spvtools::CreateAggressiveDCEPass());
  spvtools::OptimizerOptions options;
  options.set_run_validator(false);
  std::vector<uint32_t> live;
  if (!optimizer.Run(spirv.data(), spirv.size(), &live, options)) {
    return SpecializationIds(spirv);
  }
  return SpecializationIds(live);
}

// The constants that a workgroup's size depends on, of any entry point.
std::set<uint32_t> WorkgroupIds(std::span<const uint32_t> spirv,
                                const ModuleConstants& constants) {
  std::set<uint32_t> ids;
  for (const EntryPoint& entry : EntryPointsOf(spirv)) {
    const Workgroup group = WorkgroupOf(spirv, constants, entry.function);
    for (const size_t index : constants.DecidedBy(group.results)) {
      if (constants.declared()[index].constant_id) {
        ids.insert(*constants.declared()[index].constant_id);
      }
    }
  }
  return ids;
}

}  // namespace

absl::StatusOr<std::vector<ReflectedConstant>> ReflectConstants(
    std::span<const uint32_t> spirv) {
  KILN_ASSIGN_OR_RETURN(const ModuleConstants module,
                        ModuleConstants::Parse(spirv));
  std::map<uint32_t, ReflectedConstant> by_id;
  for (const DeclaredConstant& declared : module.declared()) {
    if (!declared.constant_id) {
      continue;
    }
    const ReflectedConstant constant{
        *declared.constant_id, Shorten(declared.name, limits::kNameBytes),
        declared.type, declared.default_value, false};
    const auto [merged, is_new] = by_id.try_emplace(constant.id, constant);
    if (!is_new) {
      KILN_RETURN_IF_ERROR(Merge(constant, merged->second));
    }
  }
  std::set<uint32_t> live = LiveIds(spirv);
  live.merge(WorkgroupIds(spirv, module));
  std::vector<ReflectedConstant> constants;
  for (auto& [id, constant] : by_id) {
    constant.used = live.contains(id);
    constants.push_back(std::move(constant));
  }
  return constants;
}

absl::StatusOr<std::array<std::optional<uint32_t>, 3>> WorkgroupSizeIds(
    std::span<const uint32_t> spirv) {
  KILN_ASSIGN_OR_RETURN(const ModuleConstants constants,
                        ModuleConstants::Parse(spirv));
  for (const EntryPoint& entry : EntryPointsOf(spirv)) {
    if (entry.execution_model == ExecutionModelOf(Stage::kCompute)) {
      return WorkgroupOf(spirv, constants, entry.function).constant_ids;
    }
  }
  return std::array<std::optional<uint32_t>, 3>{};
}

}  // namespace kiln::shaders
