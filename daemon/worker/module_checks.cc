// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/module_checks.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/compiler.h"
#include "shaders/freeze.h"
#include "shaders/module_limits.h"
#include "shaders/reflection.h"

namespace kiln::daemon {
namespace {

shaders::ModuleLimits LimitsOf(const pipeline::DeviceLimits& device) {
  shaders::ModuleLimits limits;
  std::ranges::copy(device.workgroup_size, limits.workgroup_size);
  limits.workgroup_invocations = device.workgroup_invocations;
  limits.shared_bytes = device.shared_bytes;
  limits.interface_components = device.interface_components;
  limits.descriptors = device.descriptors;
  return limits;
}

absl::Status NotDeclared(const Override& entry) {
  return absl::InvalidArgumentError(
      entry.constant_id
          ? fmt::format("override {}: no stage declares constant_id {}",
                        entry.name, *entry.constant_id)
          : fmt::format(
                "override {}: no stage declares a constant of that name",
                entry.name));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindUnusedOverrides(
    const Program& program, std::span<const pipeline::StageCode> code) {
  if (program.overrides.empty()) {
    return std::vector<std::string>();
  }
  std::vector<shaders::ReflectedConstant> constants;
  for (const pipeline::StageCode& stage : code) {
    KILN_ASSIGN_OR_RETURN(std::vector<shaders::ReflectedConstant> reflected,
                          shaders::ReflectConstants(stage.spirv));
    std::ranges::move(reflected, std::back_inserter(constants));
  }
  std::vector<std::string> unused;
  for (const Override& entry : program.overrides) {
    bool known = false;
    bool used = false;
    for (const shaders::ReflectedConstant& constant : constants) {
      const bool same = entry.constant_id ? constant.id == *entry.constant_id
                                          : constant.name == entry.name;
      known = known || same;
      used = used || (same && constant.used);
    }
    if (!known) {
      return NotDeclared(entry);
    }
    if (!used) {
      unused.push_back(entry.name);
    }
  }
  std::ranges::sort(unused);
  return unused;
}

absl::Status CheckModules(std::span<const pipeline::StageCode> code,
                          std::span<const Constant> constants,
                          const pipeline::DeviceLimits& limits) {
  const shaders::ModuleLimits module_limits = LimitsOf(limits);
  for (const pipeline::StageCode& stage : code) {
    const std::set<uint32_t> ids = shaders::SpecializationIds(stage.spirv);
    std::vector<Constant> own;
    std::ranges::copy_if(
        constants, std::back_inserter(own),
        [&](const Constant& constant) { return ids.contains(constant.id); });
    KILN_RETURN_IF_ERROR(
        shaders::CheckModuleLimits(stage.spirv, own, module_limits));
    KILN_RETURN_IF_ERROR(shaders::FreezeConstants(stage.spirv, own).status());
  }
  return absl::OkStatus();
}

}  // namespace kiln::daemon
