// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/module_checks.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/compiler.h"
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

// One constant of one stage, as the front end made it.
struct StageConstant {
  Stage stage = Stage::kVertex;
  shaders::ReflectedConstant constant;
};

absl::StatusOr<std::vector<StageConstant>> ReflectStages(
    std::span<const pipeline::StageCode> code) {
  std::vector<StageConstant> constants;
  for (const pipeline::StageCode& stage : code) {
    KILN_ASSIGN_OR_RETURN(
        const std::vector<shaders::ReflectedConstant> reflected,
        shaders::ReflectConstants(stage.spirv));
    for (const shaders::ReflectedConstant& constant : reflected) {
      constants.push_back({stage.stage, constant});
    }
  }
  return constants;
}

// The constants that other parts of a key set, and which part.
std::map<uint32_t, std::string> TakenIds(const Program& program) {
  std::map<uint32_t, std::string> taken;
  auto take = [&](std::string_view axis, const AxisValue& value) {
    for (const Constant& constant : value.constants) {
      taken[constant.id] = fmt::format("{} {}", axis, value.name);
    }
  };
  for (const Kind& kind : program.kinds) {
    take("kind", kind.value);
  }
  for (const AxisValue& backdrop : program.backdrops) {
    take("backdrop", backdrop);
  }
  for (const AxisValue& blend : program.blends) {
    take("blend", blend);
  }
  for (const uint32_t id : program.features_constant_ids) {
    taken[id] = "the features";
  }
  return taken;
}

// A key leaves out an override that has its default, so the shader's has to be
// the same: else the variant would silently have another value.
absl::Status CheckAgrees(const Override& entry, const StageConstant& declared) {
  const shaders::ReflectedConstant& constant = declared.constant;
  if (constant.type != entry.type) {
    return absl::InvalidArgumentError(fmt::format(
        "override {}: its type is {} in the schema and {} in the {} stage",
        entry.name, ConstantTypeName(entry.type),
        ConstantTypeName(constant.type), StageName(declared.stage)));
  }
  if (constant.default_value != entry.default_value) {
    return absl::InvalidArgumentError(fmt::format(
        "override {}: its default is {} in the schema and {} in the {} stage",
        entry.name, FormatConstant(entry.type, entry.default_value),
        FormatConstant(constant.type, constant.default_value),
        StageName(declared.stage)));
  }
  return absl::OkStatus();
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

absl::StatusOr<std::vector<std::string>> CheckOverrides(
    const Program& program, std::span<const pipeline::StageCode> code) {
  if (program.overrides.empty()) {
    return std::vector<std::string>();
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<StageConstant> constants,
                        ReflectStages(code));
  std::map<uint32_t, std::string> taken = TakenIds(program);
  std::vector<std::string> unused;
  for (const Override& entry : program.overrides) {
    std::set<uint32_t> ids;
    bool used = false;
    for (const StageConstant& declared : constants) {
      const shaders::ReflectedConstant& constant = declared.constant;
      if (entry.constant_id ? constant.id != *entry.constant_id
                            : constant.name != entry.name) {
        continue;
      }
      KILN_RETURN_IF_ERROR(CheckAgrees(entry, declared));
      ids.insert(constant.id);
      used = used || constant.used;
    }
    if (ids.empty()) {
      return NotDeclared(entry);
    }
    for (const uint32_t id : ids) {
      const auto [place, free] =
          taken.try_emplace(id, fmt::format("override {}", entry.name));
      if (!free) {
        return absl::InvalidArgumentError(
            fmt::format("override {}: its constant_id {} is also set by {}",
                        entry.name, id, place->second));
      }
    }
    if (!used) {
      unused.push_back(entry.name);
    }
  }
  std::ranges::sort(unused);
  return unused;
}

absl::Status CheckLimits(std::span<const uint32_t> spirv,
                         std::span<const Constant> constants,
                         const pipeline::DeviceLimits& limits) {
  return shaders::CheckModuleLimits(spirv, constants, LimitsOf(limits));
}

}  // namespace kiln::daemon
