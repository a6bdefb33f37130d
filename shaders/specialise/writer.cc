// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/writer.h"

#include <algorithm>
#include <utility>

#include "proto/spirv_view.h"
#include "shaders/spirv_op.h"

namespace kiln::specialise {
namespace {

using Content = BlockPlan::Content;
using End = BlockPlan::End;

constexpr size_t kBoundAt = 3;  // word of the header

// How many operands of an annotation come before its first literal: names and
// decorations stay if the first of them does.
bool IsAnnotation(spv::Op op) {
  switch (op) {
    case spv::Op::OpName:
    case spv::Op::OpMemberName:
    case spv::Op::OpDecorate:
    case spv::Op::OpMemberDecorate:
    case spv::Op::OpDecorateString:
    case spv::Op::OpMemberDecorateString:
    case spv::Op::OpTypeForwardPointer:
      return true;
    default:
      return false;
  }
}

// What tells of the source: it would be of code that is no more.
bool IsSourceInfo(spv::Op op) {
  switch (op) {
    case spv::Op::OpSource:
    case spv::Op::OpSourceContinued:
    case spv::Op::OpSourceExtension:
    case spv::Op::OpModuleProcessed:
    case spv::Op::OpLine:
    case spv::Op::OpNoLine:
      return true;
    default:
      return false;
  }
}

}  // namespace

ModuleWriter::ModuleWriter(const PreparedModule::Tables& tables,
                           const Findings& findings, const Liveness& liveness,
                           const ConstantPool& pool)
    : tables_(tables),
      index_(*tables.index),
      known_(findings.known),
      plans_(findings.plans),
      substitution_(findings.substitution),
      liveness_(liveness),
      pool_(pool),
      freezer_(findings.constants, pool.bound()),
      numbers_(pool.bound(), 0) {}

std::vector<uint32_t> ModuleWriter::Write() {
  const auto header = index_.spirv().first(kSpirvHeaderWords);
  out_.assign(header.begin(), header.end());
  for (uint32_t i = 0; i < index_.first_function(); ++i) {
    WriteGlobal(i);
  }
  WriteNewGlobals();
  for (uint32_t number = 0; number < tables_.flow.functions().size();
       ++number) {
    if (known_.FunctionRuns(number)) {
      WriteFunction(tables_.flow.functions()[number]);
    }
  }
  out_[kBoundAt] = next_number_;
  return std::move(out_);
}

uint32_t ModuleWriter::Number(uint32_t id) {
  if (id >= numbers_.size()) {
    numbers_.resize(id + 1, 0);  // of a vector's lane, made while freezing
  }
  if (numbers_[id] == 0) {
    numbers_[id] = next_number_++;
  }
  return numbers_[id];
}

// Of an operand in a function.
uint32_t ModuleWriter::NumberOfUse(uint32_t id) {
  if (substitution_.IsConstant(id)) {
    const uint32_t type = index_.at(index_.DefinitionOf(id)).type;
    return Number(pool_.IdOf(type, substitution_.Value(id)));
  }
  return Number(substitution_.Of(id));
}

uint32_t ModuleWriter::LabelOf(uint32_t block) {
  return Number(index_.at(tables_.flow.blocks()[block].begin).result);
}

// The operands are numbers already.
void ModuleWriter::Emit(spv::Op op, std::initializer_list<uint32_t> operands) {
  out_.push_back(static_cast<uint32_t>(op) |
                 (static_cast<uint32_t>(1 + operands.size()) << 16));
  out_.insert(out_.end(), operands.begin(), operands.end());
}

void ModuleWriter::WriteGlobal(uint32_t instruction) {
  const IndexedInstruction& at = index_.at(instruction);
  if (IsSourceInfo(at.op) || at.debug_info) {
    return;
  }
  if (IsAnnotation(at.op)) {
    const bool specialized = at.op == spv::Op::OpDecorate &&
                             static_cast<spv::Decoration>(index_.Word(
                                 instruction, 2)) == spv::Decoration::SpecId;
    if (!specialized && liveness_.IsLiveId(index_.Word(instruction, 1))) {
      WriteGlobalCopy(instruction);
    }
    return;
  }
  if (at.op == spv::Op::OpEntryPoint) {
    WriteEntryPoint(instruction);
  } else if (liveness_.IsLive(instruction)) {
    if (at.op >= spv::Op::OpSpecConstantTrue &&
        at.op <= spv::Op::OpSpecConstantOp) {
      WriteConstant(instruction);
    } else {
      WriteGlobalCopy(instruction);
    }
  }
}

void ModuleWriter::WriteEntryPoint(uint32_t instruction) {
  const Instruction view = index_.View(instruction);
  const auto ids = index_.IdOffsets(instruction);
  const size_t begin = out_.size();
  // The first id is the function's; the rest, at the end, are variables.
  const size_t interface = ids.size() > 1 ? ids[1] : view.words.size();
  const auto front = view.words.first(interface);
  out_.insert(out_.end(), front.begin(), front.end());
  out_[begin + 2] = Number(view.word(2));
  for (size_t i = interface; i < view.words.size(); ++i) {
    if (liveness_.IsLiveId(view.word(i))) {
      out_.push_back(Number(view.word(i)));
    }
  }
  out_[begin] = view.opcode | static_cast<uint32_t>(out_.size() - begin) << 16;
}

void ModuleWriter::WriteConstant(uint32_t instruction) {
  const size_t begin = out_.size();
  const spv::Op op = index_.at(instruction).op;
  freezer_.Append(index_.View(instruction), out_);
  if (op == spv::Op::OpSpecConstantOp && !liveness_.IsFolded(instruction)) {
    out_.resize(begin);
    WriteGlobalCopy(instruction);
    return;
  }
  Renumber(begin);
}

// Numbers the constants from word `begin` on.
void ModuleWriter::Renumber(size_t begin) {
  while (begin < out_.size()) {
    const auto op = static_cast<spv::Op>(out_[begin] & 0xFFFF);
    const size_t count = out_[begin] >> 16;
    const bool composite = op == spv::Op::OpConstantComposite ||
                           op == spv::Op::OpSpecConstantComposite;
    for (size_t i = 1; i < (composite ? count : 3); ++i) {
      out_[begin + i] = Number(out_[begin + i]);
    }
    begin += count;
  }
}

void ModuleWriter::WriteNewGlobals() {
  for (const auto& [number, id] : pool_.NewConstants()) {
    const uint32_t type = index_.at(number.first).result;
    const uint32_t type_number = Number(type);
    shaders::AppendScalarConstant(*tables_.plan.ScalarType(type), type_number,
                                  Number(id), number.second, out_);
  }
  for (const auto& [type, id] : pool_.undefined()) {
    const uint32_t type_number = Number(index_.at(type).result);
    Emit(spv::Op::OpUndef, {type_number, Number(id)});
  }
}

// Outside of functions ids are what they were.
void ModuleWriter::WriteGlobalCopy(uint32_t instruction) {
  const size_t begin = out_.size();
  const Instruction view = index_.View(instruction);
  out_.insert(out_.end(), view.words.begin(), view.words.end());
  for (const uint16_t offset : index_.IdOffsets(instruction)) {
    out_[begin + offset] = Number(view.word(offset));
  }
  const IndexedInstruction& at = index_.at(instruction);
  if (at.result != 0) {
    out_[begin + (at.type != 0 ? 2 : 1)] = Number(at.result);
  }
}

void ModuleWriter::WriteCopy(uint32_t instruction) {
  const size_t begin = out_.size();
  const Instruction view = index_.View(instruction);
  out_.insert(out_.end(), view.words.begin(), view.words.end());
  for (const uint16_t offset : index_.IdOffsets(instruction)) {
    out_[begin + offset] = NumberOfUse(view.word(offset));
  }
  const IndexedInstruction& at = index_.at(instruction);
  if (at.result != 0) {
    out_[begin + (at.type != 0 ? 2 : 1)] = Number(at.result);
  }
}

void ModuleWriter::WriteFunction(const Function& function) {
  const uint32_t body = function.block_count == 0
                            ? function.end
                            : tables_.flow.blocks()[function.first_block].begin;
  for (uint32_t i = function.begin; i < body; ++i) {
    if (!IsSourceInfo(index_.at(i).op) && !index_.at(i).debug_info) {
      WriteCopy(i);
    }
  }
  for (uint32_t i = 0; i < function.block_count; ++i) {
    WriteBlock(function.first_block + i);
  }
  if (function.block_count != 0) {
    Emit(spv::Op::OpFunctionEnd, {});
  }
}

void ModuleWriter::WriteBlock(uint32_t number) {
  const Block& block = tables_.flow.blocks()[number];
  const BlockPlan& plan = plans_[number];
  if (plan.content == Content::kNothing) {
    return;
  }
  Emit(spv::Op::OpLabel, {LabelOf(number)});
  switch (plan.content) {
    case Content::kUnreachable:
      Emit(spv::Op::OpUnreachable, {});
      return;
    case Content::kContinue:
      Emit(spv::Op::OpBranch, {LabelOf(plan.target)});
      return;
    default:
      break;
  }
  for (uint32_t i = block.begin + 1; i < block.terminator; ++i) {
    if (!liveness_.IsLive(i)) {
      continue;
    }
    if (index_.at(i).op == spv::Op::OpPhi) {
      WritePhi(i);
    } else {
      WriteCopy(i);
    }
  }
  if (block.merge != kNone && plan.keeps_merge) {
    WriteCopy(block.merge);
  }
  WriteBranch(number);
}

void ModuleWriter::WriteBranch(uint32_t number) {
  const BlockPlan& plan = plans_[number];
  const uint32_t terminator = tables_.flow.blocks()[number].terminator;
  switch (plan.end) {
    case End::kAsItIs:
      WriteCopy(terminator);
      return;
    case End::kBranch:
      Emit(spv::Op::OpBranch, {LabelOf(plan.target)});
      return;
    case End::kOnlySwitch: {
      const uint32_t selector = index_.DefinitionOf(index_.Word(terminator, 1));
      const uint32_t zero = pool_.IdOf(index_.at(selector).type, 0);
      const uint32_t zero_number = Number(zero);
      Emit(spv::Op::OpSwitch, {zero_number, LabelOf(plan.target)});
      return;
    }
  }
}

void ModuleWriter::WritePhi(uint32_t instruction) {
  const Instruction view = index_.View(instruction);
  const Block& block = tables_.flow.blocks()[tables_.flow.BlockOf(instruction)];
  const size_t begin = out_.size();
  out_.push_back(0);
  out_.push_back(Number(view.word(1)));
  out_.push_back(Number(view.word(2)));
  for (uint32_t pair = 0; 4 + 2 * pair < view.words.size(); ++pair) {
    const uint32_t edge = tables_.flow.PhiEdge(instruction, pair);
    const uint32_t id = view.word(3 + 2 * pair);
    if (edge == kNone || known_.IsTaken(edge)) {
      out_.push_back(NumberOfUse(id));
      out_.push_back(Number(view.word(4 + 2 * pair)));
    } else if (liveness_.IsStubEdge(edge)) {
      out_.push_back(liveness_.IsGlobal(id)
                         ? NumberOfUse(id)
                         : Number(pool_.UndefinedOf(view.word(1))));
      out_.push_back(LabelOf(block.continue_block));
    }
  }
  out_[begin] = view.opcode | static_cast<uint32_t>(out_.size() - begin) << 16;
}

}  // namespace kiln::specialise
