// SPDX-License-Identifier: Apache-2.0
#pragma once

// One call of a function, followed block by block in the module's order: what
// is known of the arrays at each point of it. What is known at a block is what
// is known on every way to it from above. The way back to a loop's header is
// left out: what was written counts within an iteration only.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "shaders/lint/loop_trace.h"
#include "shaders/lint/loops.h"
#include "shaders/lint/module.h"

namespace kiln::shaders::lint {

// Thread-compatible. Lifetime: `loops` and `runs` must outlive it.
class Flow {
 public:
  // `base`: the loop run that the call is in.
  Flow(const LoopNest& loops, LoopRuns& runs, LoopRun base,
       ArrayKnowledge knowledge);

  // The block with `label` begins.
  void Enter(uint32_t label);

  // Follows a terminator; other statements are ignored.
  void Leave(const Statement& statement);

  // Nullptr: this point can not be reached, or lies after a terminator.
  ArrayKnowledge* knowledge() { return knowledge_ ? &*knowledge_ : nullptr; }

  LoopRun base() const { return base_; }

  LoopRun run() const { return run_; }

  int loop() const { return loop_; }

  const LoopNest& loops() const { return loops_; }

  // Goes on after a call that has changed what is known; empty: it never ends.
  void Resume(std::optional<ArrayKnowledge> knowledge) {
    knowledge_ = std::move(knowledge);
  }

  // What is known when the function returns; empty: it never does. Ends it.
  std::optional<ArrayKnowledge> TakeReturned() { return std::move(returned_); }

  // What was copied so far, in facts.
  size_t cost() const { return cost_; }

 private:
  // The ways into a block that have been followed.
  struct Arrival {
    ArrayKnowledge knowledge;
    int ways = 0;
  };

  using Written = std::map<uint32_t, std::map<Path, LoopRun>>;

  void Go(uint32_t label);
  void GoBack(int loop);
  void AddIterations(int loop, bool complete);

  const LoopNest& loops_;
  LoopRuns& loop_runs_;
  const LoopRun base_;
  std::vector<LoopRun> runs_;  // by loop
  int loop_ = kNoLoop;         // of the block
  LoopRun run_;
  bool entered_ = false;
  std::optional<ArrayKnowledge> knowledge_;
  std::map<uint32_t, Arrival> arrivals_;  // by label
  // What the iterations of a loop add to what is known behind it: what they may
  // have written, and what they have if it ran through.
  std::map<int, Writers> writers_;
  std::map<int, Written> counted_;
  std::optional<ArrayKnowledge> returned_;
  size_t cost_ = 0;
};

}  // namespace kiln::shaders::lint
