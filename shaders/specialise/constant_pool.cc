// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/constant_pool.h"

#include <algorithm>

namespace kiln::specialise {

ConstantTable::ConstantTable(const ModuleIndex& index, const FoldPlan& plan) {
  for (uint32_t i = 0; i < index.first_function(); ++i) {
    const IndexedInstruction& at = index.at(i);
    const bool constant = at.op == spv::Op::OpConstant ||
                          at.op == spv::Op::OpConstantTrue ||
                          at.op == spv::Op::OpConstantFalse;
    if (constant && !index.IsDecorated(at.result) &&
        plan.initial()[at.result].IsValue()) {
      constants_.try_emplace(
          {index.DefinitionOf(at.type), plan.initial()[at.result].bits}, i);
    }
  }
}

std::vector<uint32_t> ConstantPool::Settle(
    const std::vector<std::pair<uint32_t, Number>>& frozen) {
  std::map<Number, uint32_t> first;
  for (const auto& [instruction, number] : frozen) {
    first.try_emplace(number, instruction);
  }
  std::vector<uint32_t> chosen;
  for (auto& [number, id] : needed_) {
    uint32_t instruction = table_.Find(number);
    if (const auto found = first.find(number); found != first.end()) {
      instruction = std::min(instruction, found->second);
    }
    if (instruction == kNone) {
      id = bound_++;
    } else {
      id = index_.at(instruction).result;
      chosen.push_back(instruction);
    }
  }
  for (auto& [type, id] : undefined_) {
    id = bound_++;
  }
  return chosen;
}

std::vector<std::pair<Number, uint32_t>> ConstantPool::NewConstants() const {
  std::vector<std::pair<Number, uint32_t>> made;
  for (const auto& [number, id] : needed_) {
    if (id >= index_.bound()) {
      made.emplace_back(number, id);
    }
  }
  return made;
}

}  // namespace kiln::specialise
