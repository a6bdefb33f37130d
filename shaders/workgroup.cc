// SPDX-License-Identifier: Apache-2.0
#include "shaders/workgroup.h"

#include <algorithm>

#include <spirv/unified1/spirv.hpp11>

#include "proto/spirv_view.h"
#include "shaders/module_constants.h"
#include "shaders/spirv_op.h"

namespace kiln::shaders {
namespace {

// Where an entry point says its size: literals, or ids of constants.
void ReadMode(const Instruction& instruction, uint32_t function,
              Workgroup& group) {
  const auto op = OpOf(instruction);
  const auto mode = static_cast<spv::ExecutionMode>(instruction.word(2));
  const bool literal =
      op == spv::Op::OpExecutionMode && mode == spv::ExecutionMode::LocalSize;
  const bool by_id = op == spv::Op::OpExecutionModeId &&
                     mode == spv::ExecutionMode::LocalSizeId;
  if ((literal || by_id) && instruction.word(1) == function) {
    for (size_t i = 0; i < group.size.size(); ++i) {
      (literal ? group.size : group.results)[i] = instruction.word(3 + i);
    }
  }
}

}  // namespace

Workgroup WorkgroupOf(std::span<const uint32_t> spirv,
                      const ModuleConstants& constants, uint32_t function) {
  Workgroup group;
  std::optional<Instruction> vector;  // decorated BuiltIn WorkgroupSize
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    ReadMode(instruction, function, group);
    const auto op = OpOf(instruction);
    if ((op == spv::Op::OpConstantComposite ||
         op == spv::Op::OpSpecConstantComposite) &&
        constants.workgroup_size() != 0 &&
        instruction.word(2) == constants.workgroup_size()) {
      vector = instruction;
    }
  });
  // It counts before any execution mode, of an entry point that has one.
  const bool has_mode = group.size != decltype(group.size){} ||
                        group.results != decltype(group.results){};
  for (size_t i = 0; i < group.results.size(); ++i) {
    if (vector && has_mode) {
      group.results[i] = vector->word(3 + i);
    }
    if (group.results[i] == 0) {
      continue;
    }
    const std::optional<NumericValue> value = constants.Value(group.results[i]);
    group.size[i] = value && !value->lanes.empty()
                        ? static_cast<uint32_t>(value->lanes.front())
                        : 0;
    const auto declared = std::ranges::find(
        constants.declared(), group.results[i], &DeclaredConstant::result);
    if (declared != constants.declared().end()) {
      group.constant_ids[i] = declared->constant_id;
    }
  }
  return group;
}

}  // namespace kiln::shaders
