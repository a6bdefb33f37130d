// SPDX-License-Identifier: Apache-2.0
#pragma once

// The blocks of a module's functions, the edges between them and the
// structured constructs that they are in (SPIR-V specification, "Structured
// Control Flow"). Internal to this folder.

#include <cstdint>
#include <span>
#include <vector>

#include "shaders/specialise/dominator_tree.h"
#include "shaders/specialise/module_index.h"

namespace kiln::specialise {

// Instructions, blocks, edges and functions are given by index, kNone for
// none.
struct Block {
  uint32_t function = kNone;
  uint32_t begin = 0;      // its OpLabel
  uint32_t merge = kNone;  // OpSelectionMerge or OpLoopMerge
  uint32_t terminator = kNone;
  uint32_t merge_block = kNone;
  uint32_t continue_block = kNone;  // of a loop header
  uint32_t back_edge = kNone;       // to this loop header
  // The header of the innermost construct that it is in and not the header of.
  uint32_t enclosing = kNone;
  uint32_t first_edge = 0;  // edges that leave it, each to another block
  uint32_t edge_count = 0;
  uint32_t first_entry = 0;  // edges that come in
  uint32_t entry_count = 0;
  bool reachable = false;

  bool IsLoop() const { return continue_block != kNone; }

  // Of the instructions: one past the terminator.
  uint32_t end() const { return terminator + 1; }
};

struct Edge {
  uint32_t from = kNone;
  uint32_t to = kNone;
};

struct Function {
  uint32_t result = 0;
  uint32_t begin = 0;  // its OpFunction
  uint32_t end = 0;    // one past OpFunctionEnd
  uint32_t first_block = 0;
  uint32_t block_count = 0;
  // Its blocks are in an order in which one can be read before those that it
  // leads to, and every cycle is a loop that has a header. Else it is left
  // alone.
  bool regular = true;
};

// Thread-safe. Lifetime: nothing of the index is kept.
class ControlFlow {
 public:
  explicit ControlFlow(const ModuleIndex& index);

  const std::vector<Function>& functions() const { return functions_; }

  const std::vector<Block>& blocks() const { return blocks_; }

  const std::vector<Edge>& edges() const { return edges_; }

  // The edges that come into a block.
  std::span<const uint32_t> Entries(const Block& block) const {
    return std::span(entries_).subspan(block.first_entry, block.entry_count);
  }

  // The block of a label; kNone of other ids.
  uint32_t BlockOfLabel(uint32_t id) const { return block_of_label_[id]; }

  // The block that an instruction is in; kNone outside of one.
  uint32_t BlockOf(uint32_t instruction) const {
    return block_of_[instruction];
  }

  // The function whose OpFunction makes `id`, or kNone.
  uint32_t FunctionOf(uint32_t id) const { return function_of_[id]; }

  // The edge that leads from `block` to `to`, or kNone.
  uint32_t EdgeTo(uint32_t block, uint32_t to) const;

  // The edge that the n-th pair of an OpPhi is about, or kNone.
  uint32_t PhiEdge(uint32_t phi, uint32_t pair) const {
    return phi_edges_[first_phi_edge_[phi] + pair];
  }

  // Requires: both reachable, in one regular function.
  bool Dominates(uint32_t above, uint32_t block) const {
    return dominators_.Dominates(above, block);
  }

 private:
  void FindBlocks(const ModuleIndex& index);
  void FindTargets(const ModuleIndex& index);
  void AddEdges(const ModuleIndex& index, uint32_t block);
  void CollectEntries();
  void MatchPhis(const ModuleIndex& index);
  void Order(Function& function);
  void CheckBackEdges(Function& function);
  void FindConstructs(Function& function);

  std::vector<Function> functions_;
  std::vector<Block> blocks_;
  std::vector<Edge> edges_;
  std::vector<uint32_t> entries_;         // edges, grouped by block
  std::vector<uint32_t> block_of_label_;  // by id
  std::vector<uint32_t> function_of_;     // by id
  std::vector<uint32_t> block_of_;        // by instruction
  std::vector<uint32_t> first_phi_edge_;  // by instruction
  std::vector<uint32_t> phi_edges_;
  DominatorTree dominators_{0};
  // With a way from each header to its merge block and continue target, which
  // is what constructs go by.
  DominatorTree structure_{0};
};

// How many words each literal of an OpSwitch has.
size_t SwitchLiteralWords(const ModuleIndex& index, uint32_t terminator);

}  // namespace kiln::specialise
