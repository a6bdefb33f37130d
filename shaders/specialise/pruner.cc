// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/pruner.h"

namespace kiln::specialise {
namespace {

using Content = BlockPlan::Content;
using End = BlockPlan::End;

}  // namespace

Pruner::Pruner(const ModuleIndex& index, const ControlFlow& flow,
               const ConstantPropagation& known)
    : index_(index), flow_(flow), known_(known), plans_(flow.blocks().size()) {
  enclosing_.reserve(flow.blocks().size());
  for (const Block& block : flow.blocks()) {
    enclosing_.push_back(block.enclosing);
  }
  for (uint32_t number = 0; number < flow.functions().size(); ++number) {
    if (known.FunctionRuns(number)) {
      PlanFunction(flow.functions()[number]);
    }
  }
}

void Pruner::PlanFunction(const Function& function) {
  const uint32_t begin = function.first_block;
  const uint32_t end = begin + function.block_count;
  for (uint32_t block = begin; block < end; ++block) {
    if (known_.Runs(block)) {
      plans_[block].content = Content::kAll;
      if (function.regular) {
        PlanBlock(block);
      }
    }
  }
  if (!function.regular) {
    return;
  }
  // Inner constructs come after those around them.
  for (uint32_t block = end; block-- > begin;) {
    if (known_.Runs(block) && flow_.blocks()[block].merge != kNone) {
      PlanHeader(block);
    }
  }
}

// Finds out whether the block has but one way to go.
void Pruner::PlanBlock(uint32_t number) {
  const Block& block = flow_.blocks()[number];
  const spv::Op op = index_.at(block.terminator).op;
  if (op != spv::Op::OpSwitch &&
      (op != spv::Op::OpBranchConditional || block.edge_count < 2)) {
    return;
  }
  uint32_t taken = 0;
  BlockPlan& plan = plans_[number];
  for (uint32_t i = 0; i < block.edge_count; ++i) {
    if (known_.IsTaken(block.first_edge + i)) {
      ++taken;
      plan.target = flow_.edges()[block.first_edge + i].to;
    }
  }
  if (taken == 1) {
    plan.end = End::kBranch;
  }
}

void Pruner::PlanHeader(uint32_t header) {
  const Block& block = flow_.blocks()[header];
  if (block.IsLoop()) {
    PlanLoop(header);
  } else if (plans_[header].end == End::kBranch) {
    PlanSelection(header);
  }
  if (plans_[header].keeps_merge) {
    MakeStub(block.merge_block, Content::kUnreachable, kNone);
  }
}

void Pruner::PlanSelection(uint32_t header) {
  if (CanDissolve(header)) {
    plans_[header].keeps_merge = false;
  } else if (index_.at(flow_.blocks()[header].terminator).op ==
             spv::Op::OpSwitch) {
    plans_[header].end = End::kOnlySwitch;
  } else {
    to_pin_.push_back(header);
  }
}

void Pruner::PlanLoop(uint32_t header) {
  const Block& block = flow_.blocks()[header];
  if (known_.IsTaken(block.back_edge)) {
    return;
  }
  if (known_.Runs(block.continue_block)) {
    // Continued into code that does not come back: leave it all.
    PinFunction(flow_.functions()[block.function]);
    return;
  }
  if (CanDissolve(header)) {
    plans_[header].keeps_merge = false;
    return;
  }
  MakeStub(block.continue_block, Content::kContinue, header);
}

void Pruner::PinFunction(const Function& function) {
  for (uint32_t i = 0; i < function.block_count; ++i) {
    to_pin_.push_back(function.first_block + i);
  }
}

void Pruner::MakeStub(uint32_t block, Content content, uint32_t target) {
  BlockPlan& plan = plans_[block];
  if (plan.content == Content::kNothing ||
      (plan.content == Content::kUnreachable &&
       content == Content::kContinue)) {
    plan.content = content;
    plan.target = target;
  }
}

// The header of the innermost construct that a block is in, its own if it has
// one.
uint32_t Pruner::Owner(uint32_t number) {
  if (flow_.blocks()[number].merge != kNone && plans_[number].keeps_merge) {
    return number;
  }
  uint32_t header = enclosing_[number];
  while (header != kNone && !plans_[header].keeps_merge) {
    header = enclosing_[header];
  }
  enclosing_[number] = header;
  return header;
}

// A construct may go if all that leaves it for its merge block does so from
// right inside of it, by a plain branch: then that is what the code around it
// would do. From inside an inner construct it would be a break without a
// construct to break from.
bool Pruner::CanDissolve(uint32_t header) {
  const Block& block = flow_.blocks()[header];
  const Block& merge = flow_.blocks()[block.merge_block];
  for (const uint32_t edge : flow_.Entries(merge)) {
    if (!known_.IsTaken(edge)) {
      continue;
    }
    const uint32_t from = flow_.edges()[edge].from;
    const bool plain =
        plans_[from].end == End::kBranch ||
        index_.at(flow_.blocks()[from].terminator).op == spv::Op::OpBranch;
    if (!plain || (from != header && Owner(from) != header)) {
      return false;
    }
  }
  return true;
}

}  // namespace kiln::specialise
