// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/specialization.h"

#include <map>

#include <fmt/format.h>

#include "proto/spirv_view.h"
#include "proto/status_macros.h"

namespace kiln::pipeline {
namespace {

constexpr uint32_t kConstantBits = 32;

// The width of each specialization constant of a module, by constant_id. A bool
// counts as 32 bits, as VkBool32 has.
std::map<uint32_t, uint32_t> DeclaredConstants(
    std::span<const uint32_t> spirv) {
  constexpr uint16_t kOpTypeInt = 21;
  constexpr uint16_t kOpTypeFloat = 22;
  constexpr uint16_t kOpSpecConstantTrue = 48;
  constexpr uint16_t kOpSpecConstantFalse = 49;
  constexpr uint16_t kOpSpecConstant = 50;
  std::map<uint32_t, uint32_t> type_bits;
  std::map<uint32_t, uint32_t> result_bits;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    switch (instruction.opcode) {
      case kOpTypeInt:
      case kOpTypeFloat:
        type_bits[instruction.word(1)] = instruction.word(2);
        break;
      case kOpSpecConstantTrue:
      case kOpSpecConstantFalse:
        result_bits[instruction.word(2)] = kConstantBits;
        break;
      case kOpSpecConstant:
        result_bits[instruction.word(2)] = type_bits[instruction.word(1)];
        break;
      default:
        break;
    }
  });
  std::map<uint32_t, uint32_t> declared;
  for (const auto& [id, result] : SpecializationResults(spirv)) {
    declared[id] = result_bits[result];
  }
  return declared;
}

}  // namespace

VkSpecializationInfo StageSpecialization::Info() const {
  return {static_cast<uint32_t>(entries.size()), entries.data(),
          values.size() * sizeof(uint32_t), values.data()};
}

absl::StatusOr<std::vector<StageSpecialization>> Specialize(
    std::span<const Constant> constants, std::span<const StageCode> code) {
  std::vector<StageSpecialization> result(code.size());
  std::vector<std::map<uint32_t, uint32_t>> declared;
  for (const StageCode& stage : code) {
    declared.push_back(DeclaredConstants(stage.spirv));
  }
  for (const Constant& constant : constants) {
    bool known = false;
    for (size_t i = 0; i < code.size(); ++i) {
      const auto found = declared[i].find(constant.id);
      if (found == declared[i].end()) {
        continue;
      }
      if (found->second != kConstantBits) {
        return absl::InvalidArgumentError(
            fmt::format("constant_id {} of the {} stage has {} bits; constants "
                        "of a key have 32",
                        constant.id, StageName(code[i].stage), found->second));
      }
      known = true;
      const auto offset =
          static_cast<uint32_t>(result[i].values.size() * sizeof(uint32_t));
      result[i].entries.push_back({constant.id, offset, sizeof(uint32_t)});
      result[i].values.push_back(constant.value);
    }
    if (!known) {
      return absl::InvalidArgumentError(
          fmt::format("no stage declares constant_id {}", constant.id));
    }
  }
  return result;
}

}  // namespace kiln::pipeline
