// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of one function and the variables that count them. A loop is what
// lies between the block with the OpLoopMerge and the merge block: glslang
// writes blocks in structured order, a merge block after all blocks of its
// construct. In a module of other order fewer loops are seen.

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "shaders/lint/module.h"

namespace kiln::shaders::lint {

inline constexpr int kNoLoop = -1;

struct Loop {
  uint32_t header = 0;  // labels
  uint32_t merge = 0;
  uint32_t continue_target = 0;
  int parent = kNoLoop;
  uint32_t depth = 0;
  bool marked = false;    // [[unroll]] in the source
  bool unrolled = false;  // marked, and some counter's bounds are constants
  Place place;
};

// How a value that indexes something follows from the loops around it.
enum class IndexKind {
  kDynamic,
  kCounter,   // made of constants and counters whose bounds are constants
  kUnrolled,  // that, and each of the loops is marked [[unroll]]
};

// Thread-compatible. Lifetime: module and function must outlive it.
class LoopNest {
 public:
  LoopNest(const Module& module, const Function& function);

  const std::vector<Loop>& loops() const { return loops_; }

  // The innermost loop around a block, or kNoLoop.
  int LoopOfBlock(uint32_t label) const;

  // The loop whose header (merge block) is `label`, or kNoLoop.
  int LoopOfHeader(uint32_t label) const;
  int LoopOfMerge(uint32_t label) const;

  // Whether `loop` is `around` or nested in it.
  bool IsWithin(int loop, int around) const;

  // The innermost loop that variable `variable` counts, seen from `loop`: it
  // changes by a constant and nowhere but after the loop's body, so it has one
  // value throughout an iteration. kNoLoop: none.
  int LoopCountedBy(uint32_t variable, int loop) const;

  // Whether that counter starts, steps and ends at constants.
  bool HasConstantBounds(uint32_t variable, int loop) const;

  // The kind of value `id`, used in `loop`.
  IndexKind KindOfIndex(uint32_t id, int loop) const;

 private:
  struct Store {
    uint32_t value = 0;
    int loop = kNoLoop;
    bool in_continue = false;  // of that loop
  };

  void FindBlocks();
  int CloseLoops(uint32_t label, int open) const;
  int OpenLoop(const Statement& merge, uint32_t label, int open);
  void FindStores();
  void FindBounds();
  void FindCounters();
  void AddCounter(uint32_t variable, int loop,
                  const std::vector<Store>& stores);
  void NoteUses(const Statement& statement);
  bool IsStep(uint32_t value, uint32_t variable) const;
  uint32_t LoadedVariable(uint32_t value) const;
  IndexKind KindOfIndex(uint32_t id, int loop, int depth) const;

  const Module& module_;
  const Function& function_;
  std::vector<Loop> loops_;
  std::map<uint32_t, int> block_loops_;
  std::map<uint32_t, int> headers_;
  std::map<uint32_t, int> merges_;
  std::set<uint32_t> continue_blocks_;
  std::map<uint32_t, std::vector<Store>> stores_;  // by variable
  std::set<uint32_t> escaping_;                 // written by other means, too
  std::set<std::pair<uint32_t, int>> bounded_;  // variables in the exit test
  std::map<std::pair<uint32_t, int>, bool> counters_;  // constant bounds?
};

}  // namespace kiln::shaders::lint
