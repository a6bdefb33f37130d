// SPDX-License-Identifier: Apache-2.0

// The half of ModuleConstants that computes; module_constants.cc has the half
// that reads the module.

#include <algorithm>
#include <set>

#include <spirv/unified1/spirv.hpp11>

#include "shaders/module_constants.h"
#include "shaders/spirv_op.h"

namespace kiln::shaders {
namespace {}  // namespace

uint64_t LiteralBits(const Instruction& instruction, uint32_t bits) {
  const uint64_t value =
      instruction.word(3) | (uint64_t{instruction.word(4)} << 32);
  return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

std::span<const uint32_t> OperandIds(const Instruction& instruction) {
  const auto words =
      instruction.words.subspan(std::min<size_t>(4, instruction.words.size()));
  switch (static_cast<spv::Op>(instruction.word(3))) {
    case spv::Op::OpCompositeExtract:
      return words.first(std::min<size_t>(1, words.size()));
    case spv::Op::OpCompositeInsert:
    case spv::Op::OpVectorShuffle:
      return words.first(std::min<size_t>(2, words.size()));
    default:
      return words;
  }
}

// In the order of the module, where operands come before their users.
void ModuleConstants::Evaluate() {
  values_.clear();
  for (const Instruction& instruction : computed_) {
    const VectorType* type = FindType(instruction.word(1));
    if (type == nullptr) {
      continue;  // arrays, structures: reached through Descend
    }
    std::optional<Lanes> lanes = OpOf(instruction) == spv::Op::OpSpecConstantOp
                                     ? Operate(instruction)
                                     : Gather(instruction);
    if (lanes && lanes->size() == type->lanes) {
      values_[instruction.word(2)] = {type->lane, *std::move(lanes)};
    }
  }
}

std::optional<Lanes> ModuleConstants::Operate(
    const Instruction& instruction) const {
  const VectorType* type = FindType(instruction.word(1));
  std::span<const uint32_t> ids = OperandIds(instruction);
  std::span<const uint32_t> literals = instruction.words.subspan(
      std::min(4 + ids.size(), instruction.words.size()));
  Constituent inner;
  if (static_cast<spv::Op>(instruction.word(3)) ==
      spv::Op::OpCompositeExtract) {
    inner = Descend(instruction);
    const auto found = constants_.find(inner.result);
    if (found != constants_.end() &&
        OpOf(found->second) == spv::Op::OpConstantNull) {
      return Lanes(type->lanes, 0);
    }
    literals = inner.path;
    ids = {&inner.result, 1};
  }
  std::vector<NumericValue> operands;
  for (const uint32_t id : ids) {
    std::optional<NumericValue> operand = Value(id);
    if (!operand) {
      return std::nullopt;
    }
    operands.push_back(*std::move(operand));
  }
  if (inner.result != 0 && literals.empty()) {
    return operands[0].lanes;
  }
  return Compute(instruction.word(3), type->lane, operands, literals);
}

// Of a vector's parts only scalars, so that a damaged module which is made of
// itself does not recur.
std::optional<Lanes> ModuleConstants::Gather(
    const Instruction& instruction) const {
  Lanes lanes;
  for (size_t i = 3; i < instruction.words.size(); ++i) {
    const auto part = constants_.find(instruction.words[i]);
    const VectorType* type =
        part == constants_.end() ? nullptr : FindType(part->second.word(1));
    const std::optional<NumericValue> lane = type == nullptr || type->lanes != 1
                                                 ? std::nullopt
                                                 : Value(instruction.words[i]);
    if (!lane) {
      return std::nullopt;
    }
    lanes.push_back(lane->lanes[0]);
  }
  return lanes;
}

std::optional<Lanes> ModuleConstants::Decode(
    const Instruction& instruction) const {
  const VectorType* type = FindType(instruction.word(1));
  if (type == nullptr) {
    return std::nullopt;
  }
  switch (OpOf(instruction)) {
    case spv::Op::OpConstantTrue:
    case spv::Op::OpConstantFalse:
      return Lanes{OpOf(instruction) == spv::Op::OpConstantTrue ? 1U : 0U};
    case spv::Op::OpConstant:
      return Lanes{LiteralBits(instruction, type->lane.bits)};
    case spv::Op::OpConstantNull:
      return Lanes(type->lanes, 0);
    case spv::Op::OpConstantComposite: {
      if (type->lanes == 1) {
        return std::nullopt;
      }
      std::optional<Lanes> lanes = Gather(instruction);
      return lanes && lanes->size() == type->lanes ? lanes : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// Follows an extraction into composites of composites.
ModuleConstants::Constituent ModuleConstants::Descend(
    const Instruction& extract) const {
  Constituent at{extract.word(4), extract.words.subspan(std::min<size_t>(
                                      5, extract.words.size()))};
  while (!at.path.empty()) {
    const auto found = constants_.find(at.result);
    if (found == constants_.end() ||
        (OpOf(found->second) != spv::Op::OpSpecConstantComposite &&
         OpOf(found->second) != spv::Op::OpConstantComposite) ||
        at.path[0] >= found->second.words.size() - 3) {
      break;
    }
    at = {found->second.word(3 + at.path[0]), at.path.subspan(1)};
  }
  return at;
}

std::optional<NumericValue> ModuleConstants::Value(uint32_t result) const {
  if (const auto found = values_.find(result); found != values_.end()) {
    return found->second;
  }
  const auto found = constants_.find(result);
  if (found == constants_.end()) {
    return std::nullopt;
  }
  const VectorType* type = FindType(found->second.word(1));
  if (type == nullptr) {
    return std::nullopt;
  }
  if (const auto index = index_.find(result); index != index_.end()) {
    return NumericValue{type->lane, {declared_[index->second].value}};
  }
  std::optional<Lanes> lanes = Decode(found->second);
  if (!lanes) {
    return std::nullopt;
  }
  return NumericValue{type->lane, *std::move(lanes)};
}

std::vector<size_t> ModuleConstants::DecidedBy(
    std::span<const uint32_t> results) const {
  std::vector<uint32_t> waiting(results.begin(), results.end());
  std::set<uint32_t> seen;
  std::set<size_t> found;
  while (!waiting.empty()) {
    const uint32_t result = waiting.back();
    waiting.pop_back();
    const auto instruction = constants_.find(result);
    if (instruction == constants_.end() || !seen.insert(result).second) {
      continue;
    }
    if (const auto index = index_.find(result); index != index_.end()) {
      const auto& id = declared_[index->second].constant_id;
      const auto first = std::ranges::find_if(
          declared_, [&](const DeclaredConstant& constant) {
            return id ? constant.constant_id == id : constant.result == result;
          });
      found.insert(static_cast<size_t>(first - declared_.begin()));
      continue;
    }
    const spv::Op op = OpOf(instruction->second);
    std::span<const uint32_t> operands;
    uint32_t inner = 0;
    if (op == spv::Op::OpSpecConstantComposite) {
      operands = instruction->second.words.subspan(3);
    } else if (op == spv::Op::OpSpecConstantOp) {
      operands = OperandIds(instruction->second);
      if (static_cast<spv::Op>(instruction->second.word(3)) ==
          spv::Op::OpCompositeExtract) {
        inner = Descend(instruction->second).result;
        operands = {&inner, 1};
      }
    }
    waiting.insert(waiting.end(), operands.begin(), operands.end());
  }
  return {found.begin(), found.end()};
}

}  // namespace kiln::shaders
