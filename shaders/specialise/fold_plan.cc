// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/fold_plan.h"

#include <algorithm>
#include <utility>

#include "shaders/specialise/opcode_effects.h"

namespace kiln::specialise {
namespace {

bool IsSpecConstant(spv::Op op) {
  return op >= spv::Op::OpSpecConstantTrue && op <= spv::Op::OpSpecConstantOp;
}

// True of an instruction that names a function without running it.
bool IsRemark(const ModuleIndex& index, uint32_t instruction) {
  const IndexedInstruction& at = index.at(instruction);
  return at.op == spv::Op::OpName || at.debug_info ||
         (at.op == spv::Op::OpDecorate &&
          static_cast<spv::Decoration>(index.Word(instruction, 2)) !=
              spv::Decoration::LinkageAttributes);
}

}  // namespace

bool IsWholeAccess(const ModuleIndex& index, uint32_t instruction,
                   uint32_t variable) {
  const Instruction view = index.View(instruction);
  switch (index.at(instruction).op) {
    case spv::Op::OpLoad:
      return view.word(3) == variable && IsPlainAccess(view, 4);
    case spv::Op::OpStore:
      return view.word(1) == variable && view.word(2) != variable &&
             IsPlainAccess(view, 3);
    default:
      return false;
  }
}

FoldPlan::FoldPlan(const ModuleIndex& index, const ControlFlow& flow,
                   const shaders::ModuleConstants& constants)
    : scalar_types_(index.bound()),
      initial_(index.bound(), Known::Varies()),
      followed_(index.bound(), false),
      assured_(index.instructions().size(), false) {
  FindScalars(index, constants);
  FindVariables(index, flow);
  FindSteps(index, flow);
  FindUsers(index, flow);
  FindRoots(index, flow);
}

void FoldPlan::FindScalars(const ModuleIndex& index,
                           const shaders::ModuleConstants& constants) {
  for (uint32_t i = 0; i < index.first_function(); ++i) {
    const IndexedInstruction& at = index.at(i);
    if (at.result == 0) {
      continue;
    }
    if (at.type == 0) {
      const shaders::VectorType* type = constants.FindType(at.result);
      if (type != nullptr && type->lanes == 1) {
        scalar_types_[at.result] = type->lane;
      }
      continue;
    }
    if (!scalar_types_[at.type]) {
      continue;
    }
    if (IsSpecConstant(at.op)) {
      specialized_.push_back(at.result);
    } else if (constants.IsConstant(at.result)) {
      const auto value = constants.Value(at.result);
      initial_[at.result] = value && value->lanes.size() == 1
                                ? Known::Value(value->lanes[0])
                                : Known::Varies();
    }
  }
}

void FoldPlan::FindVariables(const ModuleIndex& index,
                             const ControlFlow& flow) {
  std::vector<uint32_t> first_store(index.bound(), kNone);  // blocks
  for (uint32_t number = 0; number < flow.blocks().size(); ++number) {
    const Block& block = flow.blocks()[number];
    if (!block.reachable || !flow.functions()[block.function].regular) {
      continue;
    }
    for (uint32_t i = block.begin; i < block.end(); ++i) {
      VisitAccess(index, flow, i, first_store);
    }
  }
  for (uint32_t id = 0; id < index.bound(); ++id) {
    initial_[id] = followed_[id] ? Known() : initial_[id];
  }
}

// Of each variable only the first store is looked at; compilers write one where
// it is declared.
void FoldPlan::VisitAccess(const ModuleIndex& index, const ControlFlow& flow,
                           uint32_t instruction,
                           std::vector<uint32_t>& first_store) {
  const IndexedInstruction& at = index.at(instruction);
  const uint32_t block = flow.BlockOf(instruction);
  if (at.op == spv::Op::OpVariable) {
    const uint32_t pointer = index.DefinitionOf(at.type);
    followed_[at.result] =
        scalar_types_[index.Word(pointer, 3)] && !index.IsDecorated(at.result);
    first_store[at.result] = at.word_count > 4 ? block : kNone;
  } else if (at.op == spv::Op::OpStore) {
    uint32_t& first = first_store[index.Word(instruction, 1)];
    first = first == kNone ? block : first;
  } else if (at.op == spv::Op::OpLoad &&
             followed_[index.Word(instruction, 3)]) {
    const uint32_t first = first_store[index.Word(instruction, 3)];
    assured_[instruction] = first != kNone && flow.Dominates(first, block);
    const uint32_t function = flow.blocks()[block].function;
    if (!assured_[instruction] &&
        (doubtful_.empty() || doubtful_.back() != function)) {
      doubtful_.push_back(function);
    }
  }
}

// Whether an instruction does something to a followed variable.
bool FoldPlan::Touches(const ModuleIndex& index, uint32_t instruction) const {
  return std::ranges::any_of(
      index.IdOffsets(instruction), [&](uint16_t offset) {
        return followed_[index.Word(instruction, offset)];
      });
}

bool FoldPlan::IsStep(const ModuleIndex& index, uint32_t instruction) {
  const IndexedInstruction& at = index.at(instruction);
  if (at.debug_info) {
    return false;
  }
  if (at.op == spv::Op::OpFunctionCall || Touches(index, instruction)) {
    return true;
  }
  if (at.op == spv::Op::OpReturnValue) {
    return true;
  }
  if (at.op == spv::Op::OpVariable) {
    return followed_[at.result] && at.word_count > 4;
  }
  if (at.type == 0 || !scalar_types_[at.type] || index.IsDecorated(at.result)) {
    return false;
  }
  if (at.op == spv::Op::OpPhi) {
    return true;
  }
  const uint32_t operand = index.DefinitionOf(index.View(instruction).word(3));
  return operand != kNone && index.at(operand).type != 0 &&
         scalar_types_[index.at(operand).type] &&
         CanFold(at.op, *scalar_types_[at.type],
                 *scalar_types_[index.at(operand).type]);
}

void FoldPlan::FindSteps(const ModuleIndex& index, const ControlFlow& flow) {
  for (const Block& block : flow.blocks()) {
    first_step_.push_back(static_cast<uint32_t>(steps_.size()));
    const bool regular = flow.functions()[block.function].regular;
    for (uint32_t i = block.begin + 1; i < block.end(); ++i) {
      if (!IsStep(index, i)) {
        continue;
      }
      steps_.push_back(i);
      const IndexedInstruction& at = index.at(i);
      const bool scalar = at.result != 0 && at.type != 0 &&
                          scalar_types_[at.type] &&
                          !index.IsDecorated(at.result);
      if (regular && scalar && at.op != spv::Op::OpVariable) {
        initial_[at.result] = Known();
      }
    }
  }
  first_step_.push_back(static_cast<uint32_t>(steps_.size()));
  for (const Function& function : flow.functions()) {
    if (function.regular && function.block_count != 0 &&
        scalar_types_[index.at(function.begin).type] &&
        !index.IsDecorated(function.result)) {
      initial_[function.result] = Known();
    }
  }
}

// Only of what can change is it worth knowing who reads it.
bool FoldPlan::MayBecomeKnown(const ModuleIndex& index, uint32_t id) const {
  const uint32_t definition = index.DefinitionOf(id);
  return definition == kNone || (index.at(definition).type != 0 &&
                                 initial_[id].state != Known::State::kVaries);
}

void FoldPlan::FindUsers(const ModuleIndex& index, const ControlFlow& flow) {
  std::vector<uint32_t> readers = steps_;
  for (const Block& block : flow.blocks()) {
    readers.push_back(block.terminator);
  }
  first_user_.assign(index.bound() + 1, 0);
  std::vector<std::pair<uint32_t, uint32_t>> reads;  // ids and their readers
  for (const uint32_t reader : readers) {
    for (const uint16_t offset : index.IdOffsets(reader)) {
      const uint32_t id = index.Word(reader, offset);
      if (MayBecomeKnown(index, id)) {
        reads.emplace_back(id, reader);
        ++first_user_[id + 1];
      }
    }
  }
  for (uint32_t id = 0; id < index.bound(); ++id) {
    first_user_[id + 1] += first_user_[id];
  }
  users_.resize(reads.size());
  std::vector<uint32_t> next(first_user_.begin(), first_user_.end() - 1);
  for (const auto& [id, reader] : reads) {
    users_[next[id]++] = reader;
  }
}

void FoldPlan::FindRoots(const ModuleIndex& index, const ControlFlow& flow) {
  std::vector<bool> named(flow.functions().size(), false);
  const auto count = static_cast<uint32_t>(index.instructions().size());
  for (uint32_t i = 0; i < count; ++i) {
    const IndexedInstruction& at = index.at(i);
    if (IsRemark(index, i)) {
      continue;
    }
    const bool call = at.op == spv::Op::OpFunctionCall;
    for (const uint16_t offset : index.IdOffsets(i)) {
      const uint32_t function = flow.FunctionOf(index.Word(i, offset));
      if (function != kNone && !(call && offset == 3)) {
        named[function] = true;
      }
    }
  }
  for (uint32_t function = 0; function < named.size(); ++function) {
    if (named[function]) {
      roots_.push_back(function);
    }
  }
}

}  // namespace kiln::specialise
