// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/substitution.h"

#include <array>
#include <numeric>
#include <optional>

namespace kiln::specialise {
namespace {

// How often the phis are looked at again; loops inside each other may take a
// round each.
constexpr int kMaxPhiRounds = 8;

}  // namespace

Substitution::Substitution(const ModuleIndex& index, const ControlFlow& flow,
                           const FoldPlan& plan,
                           const ConstantPropagation& known)
    : index_(index),
      flow_(flow),
      plan_(plan),
      known_(known),
      stands_for_(index.bound()) {
  std::iota(stands_for_.begin(), stands_for_.end(), 0);
  // In the order of the module, in which a result comes before its uses but
  // for the phis of loops: those are looked at again.
  for (uint32_t number = 0; number < flow.blocks().size(); ++number) {
    if (known.Runs(number) &&
        flow.functions()[flow.blocks()[number].function].regular) {
      VisitBlock(number);
    }
  }
  bool more = true;
  for (int round = 0; more && round < kMaxPhiRounds; ++round) {
    more = false;
    for (const uint32_t phi : phis_) {
      more |= Visit(phi);
    }
  }
  for (uint32_t& id : stands_for_) {
    id = Root(id);
  }
}

void Substitution::VisitBlock(uint32_t number) {
  const Block& block = flow_.blocks()[number];
  for (uint32_t i = block.begin + 1; i < block.terminator; ++i) {
    const spv::Op op = index_.at(i).op;
    if (op == spv::Op::OpPhi) {
      if (!Visit(i)) {
        phis_.push_back(i);
      }
    } else if (op != spv::Op::OpLine && op != spv::Op::OpNoLine) {
      break;
    }
  }
  for (const uint32_t step : plan_.Steps(number)) {
    if (index_.at(step).op != spv::Op::OpPhi) {
      Visit(step);
    }
  }
}

bool Substitution::IsConstant(uint32_t id) const {
  if (!known_.Value(id).IsValue()) {
    return false;
  }
  const uint32_t definition = index_.DefinitionOf(id);
  if (definition == kNone || index_.IsDecorated(id)) {
    return false;
  }
  switch (index_.at(definition).op) {
    case spv::Op::OpVariable:  // what is known is what it holds
    case spv::Op::OpFunction:
    case spv::Op::OpConstant:
    case spv::Op::OpConstantTrue:
    case spv::Op::OpConstantFalse:
    case spv::Op::OpConstantNull:
      return false;
    default:
      return true;
  }
}

// What stands for what stands for it, and so on. Never a circle: what stands
// for another is nothing's copy at that time.
uint32_t Substitution::Root(uint32_t id) const {
  while (stands_for_[id] != id) {
    id = stands_for_[id];
  }
  return id;
}

// Returns: whether the result is found to be a copy, which it was not before.
bool Substitution::Visit(uint32_t instruction) {
  const IndexedInstruction& at = index_.at(instruction);
  if (at.result == 0 || stands_for_[at.result] != at.result ||
      index_.IsDecorated(at.result)) {
    return false;
  }
  const uint32_t copied = at.op == spv::Op::OpPhi
                              ? CopiedByPhi(instruction)
                              : CopiedByOperation(instruction);
  if (copied == 0 || copied == at.result) {
    return false;
  }
  stands_for_[at.result] = copied;
  return true;
}

// The one result that comes in on all ways taken; 0 if there are several. Then
// the phi is trivial (Braun et al., "Simple and efficient construction of
// static single assignment form", 2013, section 2.2).
uint32_t Substitution::CopiedByPhi(uint32_t phi) const {
  const Instruction view = index_.View(phi);
  uint32_t copied = 0;
  for (uint32_t pair = 0; 4 + 2 * pair < view.words.size(); ++pair) {
    const uint32_t edge = flow_.PhiEdge(phi, pair);
    // As a constant it has no single name; if all were one it would be known.
    const uint32_t id = view.word(3 + 2 * pair);
    const uint32_t name = IsConstant(id) ? id : Root(id);
    if (name == index_.at(phi).result ||
        (edge != kNone && !known_.IsTaken(edge))) {
      continue;
    }
    if (copied != 0 && copied != name) {
      return 0;
    }
    copied = name;
  }
  return copied;
}

uint32_t Substitution::CopiedByOperation(uint32_t instruction) const {
  const IndexedInstruction& at = index_.at(instruction);
  const Instruction view = index_.View(instruction);
  std::array<Known, 3> operands;
  const size_t count = view.words.size() - 3;
  if (at.type == 0 || !plan_.ScalarType(at.type) || count == 0 ||
      count > operands.size()) {
    return 0;
  }
  for (size_t i = 0; i < count; ++i) {
    operands[i] = known_.Value(view.word(3 + i));
  }
  const std::optional<size_t> copied =
      CopiedOperand(at.op, std::span(operands).first(count));
  return copied ? Root(view.word(3 + *copied)) : 0;
}

}  // namespace kiln::specialise
