// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/liveness.h"

#include <algorithm>
#include <utility>

namespace kiln::specialise {
namespace {

using Content = BlockPlan::Content;
using End = BlockPlan::End;

bool IsSpecialized(spv::Op op) {
  return op >= spv::Op::OpSpecConstantTrue && op <= spv::Op::OpSpecConstantOp;
}

// Instructions before the functions that are there only for what names them.
bool IsDeclaration(spv::Op op) {
  return (op >= spv::Op::OpTypeVoid && op <= spv::Op::OpTypeFunction) ||
         (op >= spv::Op::OpConstantTrue && op <= spv::Op::OpSpecConstantOp) ||
         op == spv::Op::OpVariable || op == spv::Op::OpUndef ||
         op == spv::Op::OpString || op == spv::Op::OpExtInstImport ||
         op == spv::Op::OpTypeAccelerationStructureKHR ||
         op == spv::Op::OpTypeRayQueryKHR;
}

}  // namespace

Liveness::Liveness(const PreparedModule::Tables& tables,
                   const Findings& findings, std::span<const uint32_t> unread,
                   ConstantPool& pool)
    : tables_(tables),
      index_(*tables.index),
      constants_(findings.constants),
      known_(findings.known),
      plans_(findings.plans),
      substitution_(findings.substitution),
      pool_(pool),
      live_(index_.instructions().size(), false),
      unread_(index_.bound(), false) {
  for (const uint32_t variable : unread) {
    unread_[variable] = true;
  }
  MarkGlobals();
  MarkFunctions();
  MarkAll();
  Settle();
}

bool Liveness::IsFolded(uint32_t instruction) const {
  const IndexedInstruction& at = index_.at(instruction);
  if (!IsSpecialized(at.op) || at.op == spv::Op::OpSpecConstantComposite) {
    return false;
  }
  const shaders::VectorType* type = constants_.FindType(at.type);
  const auto value = constants_.Value(at.result);
  return type != nullptr && value && value->lanes.size() == type->lanes;
}

bool Liveness::IsStubEdge(uint32_t edge) const {
  if (edge == kNone || known_.IsTaken(edge)) {
    return false;
  }
  const uint32_t header = tables_.flow.edges()[edge].to;
  return tables_.flow.blocks()[header].back_edge == edge &&
         plans_[header].content == Content::kAll && plans_[header].keeps_merge;
}

bool Liveness::IsGlobal(uint32_t id) const {
  return index_.DefinitionOf(id) < index_.first_function();
}

void Liveness::MarkGlobals() {
  for (const uint32_t id : tables_.memory.kept()) {
    if (!unread_[id]) {
      MarkId(id);
    }
  }
  for (uint32_t i = 0; i < index_.first_function(); ++i) {
    MarkGlobal(i);
  }
}

void Liveness::MarkGlobal(uint32_t instruction) {
  const IndexedInstruction& at = index_.at(instruction);
  switch (at.op) {
    case spv::Op::OpName:
    case spv::Op::OpMemberName:
    case spv::Op::OpDecorate:
    case spv::Op::OpMemberDecorate:
    case spv::Op::OpDecorateString:
    case spv::Op::OpMemberDecorateString:
    case spv::Op::OpTypeForwardPointer:
    case spv::Op::OpEntryPoint:
    case spv::Op::OpSource:
    case spv::Op::OpSourceContinued:
    case spv::Op::OpSourceExtension:
    case spv::Op::OpModuleProcessed:
    case spv::Op::OpLine:
    case spv::Op::OpNoLine:
      return;
    default:
      // Also those of which nothing is known, and group decorations, which
      // nobody writes any more.
      if (!at.debug_info && !IsDeclaration(at.op)) {
        Mark(instruction);
      }
      return;
  }
}

void Liveness::MarkFunctions() {
  const ControlFlow& flow = tables_.flow;
  for (uint32_t number = 0; number < flow.functions().size(); ++number) {
    if (!known_.FunctionRuns(number)) {
      continue;
    }
    const Function& function = flow.functions()[number];
    const uint32_t body = function.block_count == 0
                              ? function.end
                              : flow.blocks()[function.first_block].begin;
    for (uint32_t i = function.begin; i < body; ++i) {
      Mark(i);
    }
    for (uint32_t i = 0; i < function.block_count; ++i) {
      MarkBlock(function.first_block + i);
    }
  }
}

void Liveness::MarkBlock(uint32_t number) {
  const Block& block = tables_.flow.blocks()[number];
  if (plans_[number].content == Content::kNothing) {
    return;
  }
  live_[block.begin] = true;
  if (plans_[number].content != Content::kAll) {
    return;
  }
  for (uint32_t i = block.begin + 1; i < block.terminator; ++i) {
    const IndexedInstruction& at = index_.at(i);
    if (!at.removable && !at.debug_info && at.op != spv::Op::OpLine &&
        at.op != spv::Op::OpNoLine && at.op != spv::Op::OpNop &&
        i != block.merge && !WaitsForRead(i)) {
      Mark(i);
    }
  }
  MarkTerminator(number);
}

void Liveness::MarkTerminator(uint32_t number) {
  const Block& block = tables_.flow.blocks()[number];
  if (plans_[number].end == End::kAsItIs) {
    Mark(block.terminator);
  } else if (plans_[number].end == End::kOnlySwitch) {
    const uint32_t selector =
        index_.DefinitionOf(index_.Word(block.terminator, 1));
    const uint32_t type = index_.at(selector).type;
    MarkId(type);
    pool_.Need(type, 0);
  }
}

void Liveness::Mark(uint32_t instruction) {
  if (!live_[instruction]) {
    live_[instruction] = true;
    waiting_.push_back(instruction);
  }
}

void Liveness::MarkId(uint32_t id) {
  const uint32_t definition = index_.DefinitionOf(id);
  if (definition != kNone) {
    Mark(definition);
  }
}

void Liveness::MarkUse(uint32_t id) {
  if (substitution_.IsConstant(id)) {
    const uint32_t type = index_.at(index_.DefinitionOf(id)).type;
    MarkId(type);
    pool_.Need(type, substitution_.Value(id));
    return;
  }
  const uint32_t stands_for = substitution_.Of(id);
  if (tables_.flow.BlockOfLabel(stands_for) == kNone) {
    MarkId(stands_for);
  }
}

void Liveness::MarkAll() {
  while (!waiting_.empty()) {
    const uint32_t instruction = waiting_.back();
    waiting_.pop_back();
    MarkOperands(instruction);
  }
}

void Liveness::MarkOperands(uint32_t instruction) {
  const IndexedInstruction& at = index_.at(instruction);
  if (at.op == spv::Op::OpVariable) {
    // It is read: then what is written to it counts.
    for (const uint32_t store : tables_.memory.StoresTo(at.result)) {
      const uint32_t block = tables_.flow.BlockOf(store);
      if (plans_[block].content == Content::kAll) {
        Mark(store);
      }
    }
  }
  if (IsFolded(instruction)) {
    MarkId(at.type);
  } else if (at.op == spv::Op::OpPhi) {
    MarkPhi(instruction);
  } else if (instruction < index_.first_function()) {
    MarkIds(instruction);
  } else {
    MarkUses(instruction);
  }
}

void Liveness::MarkIds(uint32_t instruction) {
  for (const uint16_t offset : index_.IdOffsets(instruction)) {
    const uint32_t id = index_.Word(instruction, offset);
    if (tables_.flow.FunctionOf(id) == kNone) {
      MarkId(id);
    }
  }
}

void Liveness::MarkUses(uint32_t instruction) {
  for (const uint16_t offset : index_.IdOffsets(instruction)) {
    const uint32_t id = index_.Word(instruction, offset);
    if (tables_.flow.FunctionOf(id) == kNone) {
      MarkUse(id);
    }
  }
}

void Liveness::MarkPhi(uint32_t instruction) {
  const Instruction view = index_.View(instruction);
  MarkId(view.word(1));
  for (uint32_t pair = 0; 4 + 2 * pair < view.words.size(); ++pair) {
    const uint32_t edge = tables_.flow.PhiEdge(instruction, pair);
    const uint32_t id = view.word(3 + 2 * pair);
    if (edge == kNone || known_.IsTaken(edge) ||
        (IsStubEdge(edge) && IsGlobal(id))) {
      MarkUse(id);
    } else if (IsStubEdge(edge)) {
      pool_.NeedUndefined(view.word(1));
    }
  }
}

// True of a store that only matters once its variable is read.
bool Liveness::WaitsForRead(uint32_t instruction) const {
  if (index_.at(instruction).op != spv::Op::OpStore) {
    return false;
  }
  const uint32_t variable = tables_.memory.StoredVariable(index_, instruction);
  if (variable == 0) {
    return false;
  }
  const spv::StorageClass storage = index_.StorageOf(variable);
  const bool local = storage == spv::StorageClass::Function ||
                     storage == spv::StorageClass::Private || unread_[variable];
  return local;
}

void Liveness::Settle() {
  std::vector<std::pair<uint32_t, Number>> frozen;
  for (const uint32_t id : tables_.plan.specialized()) {
    const uint32_t instruction = index_.DefinitionOf(id);
    if (live_[instruction] && !index_.IsDecorated(id) &&
        known_.Value(id).IsValue()) {
      frozen.push_back({instruction,
                        {index_.DefinitionOf(index_.at(instruction).type),
                         known_.Value(id).bits}});
    }
  }
  for (const uint32_t instruction : pool_.Settle(frozen)) {
    live_[instruction] = true;  // its type is, already
  }
}

}  // namespace kiln::specialise
