// SPDX-License-Identifier: Apache-2.0
#include "shaders/interface_reflection.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/freeze.h"
#include "shaders/interface_resources.h"
#include "shaders/module_constants.h"
#include "shaders/module_rules.h"
#include "shaders/parsed_module.h"
#include "shaders/reflection.h"
#include "shaders/workgroup.h"

namespace kiln::shaders {

absl::StatusOr<ModuleInterface> ReflectInterface(
    std::span<const uint32_t> spirv, Stage stage, std::string_view entry) {
  KILN_RETURN_IF_ERROR(CheckEntryPoint(spirv, stage, entry));
  KILN_ASSIGN_OR_RETURN(const ModuleConstants constants,
                        ModuleConstants::Parse(spirv));
  // SPIRV-Cross aborts at some of what computes an array's length, and throws
  // at some of what computes a workgroup's size: it gets literals.
  KILN_ASSIGN_OR_RETURN(const std::vector<uint32_t> frozen,
                        FreezeConstants(spirv, {}, Revalidation::kNever));
  KILN_ASSIGN_OR_RETURN(const ParsedModule module, ParsedModule::Parse(frozen));
  const uint32_t model = ExecutionModelOf(stage);
  if (spvc_compiler_set_entry_point(
          module.compiler(), std::string(entry).c_str(),
          static_cast<SpvExecutionModel>(model)) != SPVC_SUCCESS) {
    return absl::InvalidArgumentError("SPIRV-Cross finds no such entry point");
  }
  const std::vector<EntryPoint> entries = EntryPointsOf(spirv);
  ModuleInterface out;
  out.entry_point = ToValidUtf8(entry);
  KILN_RETURN_IF_ERROR(ReadResources(module, entries.size() > 1, out));
  KILN_ASSIGN_OR_RETURN(const std::vector<ReflectedConstant> reflected,
                        ReflectConstants(spirv));
  for (const ReflectedConstant& constant : reflected) {
    out.constants.push_back({constant.id, constant.name, constant.type,
                             constant.default_value, constant.used});
  }
  if (stage == Stage::kCompute) {
    const auto found = std::ranges::find_if(entries, [&](const EntryPoint& e) {
      return e.name == entry && e.execution_model == model;
    });
    const Workgroup group = WorkgroupOf(spirv, constants, found->function);
    out.workgroup_size = group.size;
    out.workgroup_size_ids = group.constant_ids;
  }
  return out;
}

std::string SharedBindingWarnings(const StageSource& source,
                                  const ModuleInterface& interface) {
  std::string warnings;
  const std::vector<InterfaceBinding>& bindings = interface.bindings;
  for (size_t i = 1; i < bindings.size(); ++i) {
    const InterfaceBinding& a = bindings[i - 1];
    const InterfaceBinding& b = bindings[i];
    if (a.set != b.set || a.binding != b.binding || a.type == b.type) {
      continue;
    }
    warnings += fmt::format(
        "{}:1: warning: `{}` ({}) and `{}` ({}) are both set {}, binding "
        "{}{}\n",
        ToValidUtf8(source.path), a.name, a.type, b.name, b.type, a.set,
        a.binding,
        source.language == Language::kHlsl
            ? "; t0, s0, u0 and b0 are one binding, so use [[vk::binding(n, "
              "set)]] or other numbers"
            : "");
  }
  return warnings;
}

}  // namespace kiln::shaders
