// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/specialization.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "proto/spirv_view.h"
#include "proto/status_macros.h"

namespace kiln::pipeline {
namespace {

struct DeclaredConstant {
  uint32_t bits = 0;  // a bool counts as 32, as VkBool32 has
  std::string name;   // OpName; empty in a stripped module
};

using DeclaredConstants = std::map<uint32_t, DeclaredConstant>;

// The specialization constants of a module, by constant_id.
DeclaredConstants ConstantsOf(std::span<const uint32_t> spirv) {
  constexpr uint16_t kOpName = 5;
  constexpr uint16_t kOpTypeInt = 21;
  constexpr uint16_t kOpTypeFloat = 22;
  constexpr uint16_t kOpSpecConstantTrue = 48;
  constexpr uint16_t kOpSpecConstantFalse = 49;
  constexpr uint16_t kOpSpecConstant = 50;
  std::map<uint32_t, uint32_t> type_bits;
  std::map<uint32_t, DeclaredConstant> results;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    switch (instruction.opcode) {
      case kOpName:
        results[instruction.word(1)].name = LiteralText(instruction, 2);
        break;
      case kOpTypeInt:
      case kOpTypeFloat:
        type_bits[instruction.word(1)] = instruction.word(2);
        break;
      case kOpSpecConstantTrue:
      case kOpSpecConstantFalse:
        results[instruction.word(2)].bits = ConstantBits(ConstantType::kBool);
        break;
      case kOpSpecConstant:
        results[instruction.word(2)].bits = type_bits[instruction.word(1)];
        break;
      default:
        break;
    }
  });
  DeclaredConstants declared;
  for (const auto& [id, result] : SpecializationResults(spirv)) {
    DeclaredConstant& constant = declared[id];
    if (constant.name.empty()) {  // of several, the one that has a name
      constant = results[result];
    }
  }
  return declared;
}

std::vector<DeclaredConstants> ConstantsOfStages(
    std::span<const StageCode> code) {
  std::vector<DeclaredConstants> declared;
  for (const StageCode& stage : code) {
    declared.push_back(ConstantsOf(stage.spirv));
  }
  return declared;
}

std::string TextOf(const Constant& constant) {
  return constant.name.empty() ? fmt::format("constant_id {}", constant.id)
                               : fmt::format("constant {} (constant_id {})",
                                             constant.name, constant.id);
}

// Gives a constant known by name the id that the stages have for it.
absl::Status Resolve(const std::vector<DeclaredConstants>& declared,
                     Constant& constant) {
  if (constant.id != kIdByName) {
    return absl::OkStatus();
  }
  std::optional<uint32_t> found;
  for (const DeclaredConstants& stage : declared) {
    for (const auto& [id, entry] : stage) {
      if (entry.name != constant.name) {
        continue;
      }
      if (found && *found != id) {
        return absl::InvalidArgumentError(
            fmt::format("constant {} has constant_id {} and {}; give the "
                        "override a constant_id",
                        constant.name, *found, id));
      }
      found = id;
    }
  }
  if (!found) {
    return absl::InvalidArgumentError(
        fmt::format("no stage declares a constant named {}", constant.name));
  }
  constant.id = *found;
  return absl::OkStatus();
}

}  // namespace

VkSpecializationInfo StageSpecialization::Info() const {
  return {static_cast<uint32_t>(entries.size()), entries.data(), values.size(),
          values.data()};
}

absl::StatusOr<std::vector<Constant>> ResolveConstants(
    std::vector<Constant> constants, std::span<const StageCode> code) {
  const std::vector<DeclaredConstants> declared = ConstantsOfStages(code);
  for (Constant& constant : constants) {
    KILN_RETURN_IF_ERROR(Resolve(declared, constant));
  }
  std::ranges::sort(constants, {}, &Constant::id);
  return constants;
}

absl::StatusOr<std::vector<StageSpecialization>> Specialize(
    std::span<const Constant> constants, std::span<const StageCode> code) {
  std::vector<StageSpecialization> result(code.size());
  const std::vector<DeclaredConstants> declared = ConstantsOfStages(code);
  for (Constant constant : constants) {
    KILN_RETURN_IF_ERROR(Resolve(declared, constant));
    bool known = false;
    for (size_t i = 0; i < code.size(); ++i) {
      const auto found = declared[i].find(constant.id);
      if (found == declared[i].end()) {
        continue;
      }
      const uint32_t bits = ConstantBits(constant.type);
      if (found->second.bits != bits) {
        return absl::InvalidArgumentError(fmt::format(
            "{} of the {} stage has {} bits; its value, of type {}, has {}",
            TextOf(constant), StageName(code[i].stage), found->second.bits,
            ConstantTypeName(constant.type), bits));
      }
      known = true;
      StageSpecialization& stage = result[i];
      const auto offset = static_cast<uint32_t>(stage.values.size());
      stage.entries.push_back({constant.id, offset, bits / 8});
      // Little-endian, so the low bytes come first.
      const auto* const first =
          reinterpret_cast<const std::byte*>(&constant.value);
      stage.values.insert(stage.values.end(), first, first + bits / 8);
    }
    if (!known) {
      return absl::InvalidArgumentError(
          fmt::format("no stage declares {}", TextOf(constant)));
    }
  }
  return result;
}

}  // namespace kiln::pipeline
