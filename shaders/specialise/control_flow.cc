// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/control_flow.h"

#include <algorithm>

namespace kiln::specialise {
namespace {

// The operands of a terminator that are labels, as offsets among its ids.
struct LabelRange {
  size_t first = 0;
  bool known = false;  // false: this terminator is not understood
};

LabelRange LabelsOf(spv::Op op) {
  switch (op) {
    case spv::Op::OpBranch:
      return {0, true};
    case spv::Op::OpBranchConditional:
    case spv::Op::OpSwitch:
      return {1, true};
    case spv::Op::OpReturn:
    case spv::Op::OpReturnValue:
    case spv::Op::OpKill:
    case spv::Op::OpUnreachable:
    case spv::Op::OpTerminateInvocation:
    case spv::Op::OpIgnoreIntersectionKHR:
    case spv::Op::OpTerminateRayKHR:
    case spv::Op::OpEmitMeshTasksEXT:
      return {~size_t{0}, true};  // none
    default:
      return {};
  }
}

}  // namespace

size_t SwitchLiteralWords(const ModuleIndex& index, uint32_t terminator) {
  const uint32_t selector = index.DefinitionOf(index.Word(terminator, 1));
  const uint32_t type =
      selector == kNone ? kNone : index.DefinitionOf(index.at(selector).type);
  return type != kNone && index.at(type).op == spv::Op::OpTypeInt &&
                 index.Word(type, 2) == 64
             ? 2
             : 1;
}

ControlFlow::ControlFlow(const ModuleIndex& index)
    : block_of_label_(index.bound(), kNone),
      function_of_(index.bound(), kNone),
      block_of_(index.instructions().size(), kNone),
      first_phi_edge_(index.instructions().size(), kNone) {
  FindBlocks(index);
  FindTargets(index);
  for (uint32_t block = 0; block < blocks_.size(); ++block) {
    AddEdges(index, block);
  }
  CollectEntries();
  MatchPhis(index);
  dominators_ = DominatorTree(blocks_.size());
  structure_ = DominatorTree(blocks_.size());
  for (Function& function : functions_) {
    Order(function);
    CheckBackEdges(function);
    if (function.regular && function.block_count != 0) {
      FindConstructs(function);
    }
  }
}

void ControlFlow::FindBlocks(const ModuleIndex& index) {
  const auto count = static_cast<uint32_t>(index.instructions().size());
  bool open = false;  // in a block
  for (uint32_t i = index.first_function(); i < count; ++i) {
    const IndexedInstruction& at = index.at(i);
    switch (at.op) {
      case spv::Op::OpFunction:
        function_of_[at.result] = static_cast<uint32_t>(functions_.size());
        functions_.push_back(
            {at.result, i, i, static_cast<uint32_t>(blocks_.size()), 0, true});
        break;
      case spv::Op::OpFunctionEnd:
        functions_.back().end = i + 1;
        open = false;
        break;
      case spv::Op::OpLabel:
        block_of_label_[at.result] = static_cast<uint32_t>(blocks_.size());
        blocks_.emplace_back();
        blocks_.back().function = static_cast<uint32_t>(functions_.size() - 1);
        blocks_.back().begin = i;
        ++functions_.back().block_count;
        open = true;
        break;
      case spv::Op::OpSelectionMerge:
      case spv::Op::OpLoopMerge:
        blocks_.back().merge = i;
        break;
      default:
        break;
    }
    if (open) {
      block_of_[i] = static_cast<uint32_t>(blocks_.size() - 1);
      // What follows the terminator is at most debug information.
      if (at.op != spv::Op::OpLine && at.op != spv::Op::OpNoLine) {
        blocks_.back().terminator = i;
      }
    }
  }
}

void ControlFlow::FindTargets(const ModuleIndex& index) {
  for (Block& block : blocks_) {
    if (block.merge == kNone) {
      continue;
    }
    block.merge_block = block_of_label_[index.Word(block.merge, 1)];
    if (index.at(block.merge).op == spv::Op::OpLoopMerge) {
      block.continue_block = block_of_label_[index.Word(block.merge, 2)];
    }
    functions_[block.function].regular &= block.merge_block != kNone;
  }
}

void ControlFlow::AddEdges(const ModuleIndex& index, uint32_t number) {
  Block& block = blocks_[number];
  block.first_edge = static_cast<uint32_t>(edges_.size());
  const LabelRange labels = LabelsOf(index.at(block.terminator).op);
  functions_[block.function].regular &= labels.known;
  const auto offsets = index.IdOffsets(block.terminator);
  std::vector<uint32_t> targets;
  for (size_t i = labels.first; labels.known && i < offsets.size(); ++i) {
    targets.push_back(
        block_of_label_[index.Word(block.terminator, offsets[i])]);
  }
  std::ranges::sort(targets);
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  for (const uint32_t target : targets) {
    if (target == kNone || blocks_[target].function != block.function) {
      functions_[block.function].regular = false;
      continue;
    }
    edges_.push_back({number, target});
    ++block.edge_count;
    ++blocks_[target].entry_count;
  }
}

void ControlFlow::CollectEntries() {
  uint32_t next = 0;
  for (Block& block : blocks_) {
    block.first_entry = next;
    next += block.entry_count;
    block.entry_count = 0;
  }
  entries_.resize(next);
  for (uint32_t edge = 0; edge < edges_.size(); ++edge) {
    Block& to = blocks_[edges_[edge].to];
    entries_[to.first_entry + to.entry_count++] = edge;
  }
}

void ControlFlow::MatchPhis(const ModuleIndex& index) {
  std::vector<uint32_t> edge_from(blocks_.size(), kNone);
  for (const Block& block : blocks_) {
    for (const uint32_t edge : Entries(block)) {
      edge_from[edges_[edge].from] = edge;
    }
    for (uint32_t i = block.begin + 1; i < block.terminator; ++i) {
      const IndexedInstruction& at = index.at(i);
      if (at.op == spv::Op::OpLine || at.op == spv::Op::OpNoLine) {
        continue;
      }
      if (at.op != spv::Op::OpPhi) {
        break;
      }
      first_phi_edge_[i] = static_cast<uint32_t>(phi_edges_.size());
      for (size_t word = 4; word < at.word_count; word += 2) {
        const uint32_t parent = block_of_label_[index.Word(i, word)];
        phi_edges_.push_back(parent == kNone ? kNone : edge_from[parent]);
      }
    }
    for (const uint32_t edge : Entries(block)) {
      edge_from[edges_[edge].from] = kNone;
    }
  }
}

uint32_t ControlFlow::EdgeTo(uint32_t block, uint32_t to) const {
  const auto first = edges_.begin() + blocks_[block].first_edge;
  const auto last = first + blocks_[block].edge_count;
  const auto found = std::ranges::lower_bound(first, last, to, {}, &Edge::to);
  return found == last || found->to != to
             ? kNone
             : static_cast<uint32_t>(found - edges_.begin());
}

// Finds the reachable blocks and their dominators in one pass, which the order
// of the blocks has to allow.
void ControlFlow::Order(Function& function) {
  if (function.block_count == 0 || !function.regular) {
    return;
  }
  const uint32_t entry = function.first_block;
  blocks_[entry].reachable = true;
  dominators_.AddRoot(entry);
  function.regular = blocks_[entry].entry_count == 0;
  const uint32_t end = entry + function.block_count;
  for (uint32_t number = entry + 1; number < end; ++number) {
    Block& block = blocks_[number];
    uint32_t dominator = kNone;
    for (const uint32_t edge : Entries(block)) {
      const uint32_t from = edges_[edge].from;
      if (from >= number || !blocks_[from].reachable) {
        continue;
      }
      dominator = dominator == kNone
                      ? from
                      : dominators_.CommonAncestor(dominator, from);
    }
    block.reachable = dominator != kNone;
    if (block.reachable) {
      dominators_.Add(number, dominator);
    }
  }
}

// What leads back must close a loop, and what is continued come back.
void ControlFlow::CheckBackEdges(Function& function) {
  const uint32_t end = function.first_block + function.block_count;
  for (uint32_t number = function.first_block; number < end; ++number) {
    Block& block = blocks_[number];
    for (const uint32_t edge : Entries(block)) {
      const uint32_t from = edges_[edge].from;
      if (from < number) {
        continue;
      }
      const bool closes =
          block.IsLoop() && block.back_edge == kNone &&
          (!blocks_[from].reachable ||
           (block.reachable && dominators_.Dominates(number, from)));
      function.regular &= closes;
      block.back_edge = edge;
    }
    if (block.IsLoop()) {
      function.regular &= block.back_edge != kNone &&
                          (!blocks_[block.continue_block].reachable ||
                           blocks_[edges_[block.back_edge].from].reachable);
    }
  }
}

void ControlFlow::FindConstructs(Function& function) {
  const uint32_t begin = function.first_block;
  const uint32_t end = begin + function.block_count;
  // The blocks that lead to one in the structure, but back.
  std::vector<std::vector<uint32_t>> headers(function.block_count);
  for (uint32_t number = begin; number < end; ++number) {
    const Block& block = blocks_[number];
    for (const uint32_t target : {block.merge_block, block.continue_block}) {
      if (target == kNone || target == number) {
        continue;
      }
      function.regular &= target > number && target < end;
      if (function.regular) {
        headers[target - begin].push_back(number);
      }
    }
  }
  std::vector<bool> added(function.block_count, false);
  structure_.AddRoot(begin);
  added[0] = true;
  for (uint32_t number = begin + 1; number < end; ++number) {
    std::vector<uint32_t>& above = headers[number - begin];
    for (const uint32_t edge : Entries(blocks_[number])) {
      above.push_back(edges_[edge].from);
    }
    uint32_t dominator = kNone;
    for (const uint32_t from : above) {
      if (from < number && added[from - begin]) {
        dominator = dominator == kNone
                        ? from
                        : structure_.CommonAncestor(dominator, from);
      }
    }
    if (dominator == kNone) {
      continue;
    }
    added[number - begin] = true;
    structure_.Add(number, dominator);
    Block& block = blocks_[number];
    block.enclosing = blocks_[dominator].merge != kNone
                          ? dominator
                          : blocks_[dominator].enclosing;
    // Whatever ends here does not enclose it.
    while (block.enclosing != kNone &&
           blocks_[block.enclosing].merge_block == number) {
      block.enclosing = blocks_[block.enclosing].enclosing;
    }
  }
}

}  // namespace kiln::specialise
