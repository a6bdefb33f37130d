// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which blocks lie on every way to a block. Built one block after the other,
// each after all that it can be reached from but back edges; common ancestors
// are found by the jump pointers of Myers, "An applicative random-access
// stack" (1983), so that a chain of n blocks costs n log n and no stack.
// Internal to this folder.

#include <cstdint>
#include <vector>

namespace kiln::specialise {

// Thread-compatible.
class DominatorTree {
 public:
  explicit DominatorTree(size_t nodes)
      : parent_(nodes), jump_(nodes), depth_(nodes) {}

  void AddRoot(uint32_t node) {
    parent_[node] = node;
    jump_[node] = node;
    depth_[node] = 0;
  }

  // Requires: `parent` has been added.
  void Add(uint32_t node, uint32_t parent) {
    const uint32_t jump = jump_[parent];
    parent_[node] = parent;
    depth_[node] = depth_[parent] + 1;
    jump_[node] =
        depth_[parent] - depth_[jump] == depth_[jump] - depth_[jump_[jump]]
            ? jump_[jump]
            : parent;
  }

  uint32_t parent(uint32_t node) const { return parent_[node]; }

  // Requires, of both: added, under one root.
  uint32_t CommonAncestor(uint32_t a, uint32_t b) const {
    a = Lift(a, depth_[b]);
    b = Lift(b, depth_[a]);
    while (a != b) {
      const bool far = jump_[a] != jump_[b];
      a = far ? jump_[a] : parent_[a];
      b = far ? jump_[b] : parent_[b];
    }
    return a;
  }

  // A node dominates itself.
  bool Dominates(uint32_t above, uint32_t node) const {
    return Lift(node, depth_[above]) == above;
  }

 private:
  // The ancestor of at most that depth.
  uint32_t Lift(uint32_t node, uint32_t depth) const {
    while (depth_[node] > depth) {
      node = depth_[jump_[node]] >= depth ? jump_[node] : parent_[node];
    }
    return node;
  }

  std::vector<uint32_t> parent_;
  std::vector<uint32_t> jump_;
  std::vector<uint32_t> depth_;
};

}  // namespace kiln::specialise
