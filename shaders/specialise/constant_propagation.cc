// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/constant_propagation.h"

#include <array>
#include <utility>

namespace kiln::specialise {
namespace {

using State = Known::State;

}  // namespace

ConstantPropagation::ConstantPropagation(const ModuleIndex& index,
                                         const ControlFlow& flow,
                                         const FoldPlan& plan,
                                         std::vector<Known> values,
                                         const std::vector<bool>& pinned,
                                         const std::vector<bool>& assured)
    : index_(index),
      flow_(flow),
      plan_(plan),
      pinned_(pinned),
      assured_(assured),
      values_(std::move(values)),
      runs_(flow.blocks().size(), false),
      taken_(flow.edges().size(), false),
      function_runs_(flow.functions().size(), false),
      is_waiting_(index.instructions().size(), false) {
  for (const uint32_t function : plan.roots()) {
    RunFunction(function);
  }
  do {
    Run();
  } while (FreeStuckBranches());
}

// Blocks first: a phi is then looked at once for all the ways that lead to it,
// not once for each.
void ConstantPropagation::Run() {
  while (!waiting_blocks_.empty() || !waiting_.empty()) {
    if (!waiting_blocks_.empty()) {
      const uint32_t block = waiting_blocks_.back();
      waiting_blocks_.pop_back();
      running_.push_back(block);
      for (const uint32_t step : plan_.Steps(block)) {
        Visit(step);
      }
      VisitBranch(block);
      continue;
    }
    const uint32_t instruction = waiting_.back();
    waiting_.pop_back();
    is_waiting_[instruction] = false;
    Visit(instruction);
  }
}

void ConstantPropagation::Await(uint32_t instruction) {
  if (!is_waiting_[instruction]) {
    is_waiting_[instruction] = true;
    waiting_.push_back(instruction);
  }
}

// A branch on a value that nothing makes, as on what a function returns that
// never returns: it cannot be reached, but it has to lead somewhere.
bool ConstantPropagation::FreeStuckBranches() {
  bool freed = false;
  for (const uint32_t block : running_) {
    const spv::Op op = index_.at(flow_.blocks()[block].terminator).op;
    if (op != spv::Op::OpBranchConditional && op != spv::Op::OpSwitch) {
      continue;
    }
    const uint32_t id = index_.Word(flow_.blocks()[block].terminator, 1);
    if (values_[id].state == State::kUnseen) {
      Lower(id, Known::Varies());
      freed = true;
    }
  }
  return freed;
}

void ConstantPropagation::RunFunction(uint32_t number) {
  if (function_runs_[number]) {
    return;
  }
  function_runs_[number] = true;
  const Function& function = flow_.functions()[number];
  if (function.block_count == 0) {
    return;
  }
  if (function.regular) {
    RunBlock(function.first_block);
    return;
  }
  for (uint32_t i = 0; i < function.block_count; ++i) {
    RunBlock(function.first_block + i);
    TakeAll(function.first_block + i);
  }
}

void ConstantPropagation::RunBlock(uint32_t block) {
  if (!runs_[block]) {
    runs_[block] = true;
    waiting_blocks_.push_back(block);
  }
}

void ConstantPropagation::Take(uint32_t edge) {
  if (edge == kNone || taken_[edge]) {
    return;
  }
  taken_[edge] = true;
  const uint32_t to = flow_.edges()[edge].to;
  if (runs_[to]) {
    VisitPhis(to);
  } else {
    RunBlock(to);
  }
}

void ConstantPropagation::TakeAll(uint32_t block) {
  const Block& from = flow_.blocks()[block];
  for (uint32_t i = 0; i < from.edge_count; ++i) {
    Take(from.first_edge + i);
  }
}

void ConstantPropagation::VisitPhis(uint32_t block) {
  for (const uint32_t step : plan_.Steps(block)) {
    if (index_.at(step).op != spv::Op::OpPhi) {
      return;  // they come first
    }
    Await(step);
  }
}

void ConstantPropagation::VisitBranch(uint32_t number) {
  const Block& block = flow_.blocks()[number];
  const spv::Op op = index_.at(block.terminator).op;
  const bool conditional =
      op == spv::Op::OpBranchConditional || op == spv::Op::OpSwitch;
  if (!conditional || pinned_[number]) {
    TakeAll(number);
    return;
  }
  const Instruction branch = index_.View(block.terminator);
  const Known& known = values_[branch.word(1)];
  if (known.state == State::kUnseen) {
    return;
  }
  if (known.state == State::kVaries) {
    TakeAll(number);
    return;
  }
  uint32_t label = branch.word(known.bits != 0 ? 2 : 3);
  if (op == spv::Op::OpSwitch) {
    label = branch.word(2);
    const uint64_t mask =
        plan_.LowBitsOf(index_.at(index_.DefinitionOf(branch.word(1))).type);
    const size_t words = SwitchLiteralWords(index_, block.terminator);
    for (size_t i = 3; i + words < branch.words.size(); i += words + 1) {
      const uint64_t literal =
          words == 2 ? branch.word(i) | uint64_t{branch.word(i + 1)} << 32
                     : branch.word(i);
      // Narrow signed literals are sign-extended.
      if ((literal & mask) == known.bits) {
        label = branch.word(i + words);
        break;
      }
    }
  }
  Take(flow_.EdgeTo(number, flow_.BlockOfLabel(label)));
}

Known ConstantPropagation::MeetPhi(uint32_t phi) const {
  Known met;
  const Instruction view = index_.View(phi);
  for (uint32_t pair = 0; 4 + 2 * pair < view.words.size(); ++pair) {
    const uint32_t edge = flow_.PhiEdge(phi, pair);
    if (edge == kNone || taken_[edge]) {
      met = Meet(met, values_[view.word(3 + 2 * pair)]);
    }
  }
  return met;
}

// The result of a step that has a scalar one.
Known ConstantPropagation::Compute(uint32_t instruction) const {
  const IndexedInstruction& at = index_.at(instruction);
  const Instruction view = index_.View(instruction);
  switch (at.op) {
    case spv::Op::OpPhi:
      return MeetPhi(instruction);
    case spv::Op::OpLoad:
      return assured_[instruction] &&
                     IsWholeAccess(index_, instruction, view.word(3))
                 ? values_[view.word(3)]
                 : Known::Varies();
    case spv::Op::OpFunctionCall:
      return values_[view.word(3)];
    default:
      break;
  }
  // As the plan has it, the first operand's type says whether it can.
  std::array<Known, 3> operands;
  const size_t count = view.words.size() - 3;
  const uint32_t first = index_.DefinitionOf(view.word(3));
  if (count > operands.size() || first == kNone || index_.at(first).type == 0) {
    return Known::Varies();
  }
  const auto& type = plan_.ScalarType(index_.at(first).type);
  const auto& result = plan_.ScalarType(at.type);
  if (!type || !result || !CanFold(at.op, *result, *type)) {
    return Known::Varies();
  }
  for (size_t i = 0; i < count; ++i) {
    operands[i] = values_[view.word(3 + i)];
  }
  return Fold(at.op, *result, *type, std::span(operands).first(count));
}

void ConstantPropagation::Visit(uint32_t instruction) {
  const uint32_t block = flow_.BlockOf(instruction);
  if (!runs_[block]) {
    return;
  }
  if (instruction == flow_.blocks()[block].terminator &&
      index_.at(instruction).op != spv::Op::OpReturnValue) {
    VisitBranch(block);
    return;
  }
  const IndexedInstruction& at = index_.at(instruction);
  switch (at.op) {
    case spv::Op::OpReturnValue: {
      const uint32_t function =
          flow_.functions()[flow_.blocks()[block].function].result;
      Lower(function, values_[index_.Word(instruction, 1)]);
      return;
    }
    case spv::Op::OpVariable:
      Lower(at.result, values_[index_.Word(instruction, 4)]);
      return;
    case spv::Op::OpFunctionCall:
      RunFunction(flow_.FunctionOf(index_.Word(instruction, 3)));
      break;
    default:
      break;
  }
  Touch(instruction);
  if (at.result != 0 && values_[at.result].state != State::kVaries) {
    Lower(at.result, Compute(instruction));
  }
}

// What the instruction does to the variables that are followed.
void ConstantPropagation::Touch(uint32_t instruction) {
  for (const uint16_t offset : index_.IdOffsets(instruction)) {
    const uint32_t variable = index_.Word(instruction, offset);
    if (!plan_.IsFollowed(variable)) {
      continue;
    }
    if (!IsWholeAccess(index_, instruction, variable)) {
      Lower(variable, Known::Varies());
    } else if (index_.at(instruction).op == spv::Op::OpStore) {
      Lower(variable, values_[index_.Word(instruction, 2)]);
    }
  }
}

void ConstantPropagation::Lower(uint32_t id, const Known& value) {
  const Known met = Meet(values_[id], value);
  if (met == values_[id]) {
    return;
  }
  values_[id] = met;
  for (const uint32_t user : plan_.Users(id)) {
    Await(user);
  }
}

}  // namespace kiln::specialise
