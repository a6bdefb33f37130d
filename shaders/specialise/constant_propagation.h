// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is known of a module's values and branches once its specialization
// constants have theirs: sparse conditional constant propagation (Wegman and
// Zadeck, "Constant propagation with conditional branches", 1991) over all
// functions at once, with what functions return and what local variables hold.
// Time is linear in the code that can run. Internal to this folder.

#include <cstdint>
#include <vector>

#include "shaders/specialise/control_flow.h"
#include "shaders/specialise/fold_plan.h"
#include "shaders/specialise/folding.h"
#include "shaders/specialise/module_index.h"

namespace kiln::specialise {

// Thread-compatible. Lifetime: all that it is given outlives it.
class ConstantPropagation {
 public:
  // `values` by id, what the plan begins with and the constants' own.
  // `pinned`, by block: branches of which no way may be left out. `assured`, by
  // instruction: loads that a store is sure to come before.
  ConstantPropagation(const ModuleIndex& index, const ControlFlow& flow,
                      const FoldPlan& plan, std::vector<Known> values,
                      const std::vector<bool>& pinned,
                      const std::vector<bool>& assured);

  const Known& Value(uint32_t id) const { return values_[id]; }

  bool Runs(uint32_t block) const { return runs_[block]; }

  bool IsTaken(uint32_t edge) const { return taken_[edge]; }

  bool FunctionRuns(uint32_t function) const {
    return function_runs_[function];
  }

 private:
  void Run();
  void RunFunction(uint32_t function);
  void RunBlock(uint32_t block);
  void Take(uint32_t edge);
  void TakeAll(uint32_t block);
  bool FreeStuckBranches();
  void Await(uint32_t instruction);
  void Visit(uint32_t instruction);
  void VisitBranch(uint32_t block);
  void VisitPhis(uint32_t block);
  Known MeetPhi(uint32_t phi) const;
  Known Compute(uint32_t instruction) const;
  void Lower(uint32_t id, const Known& value);
  void Touch(uint32_t instruction);

  const ModuleIndex& index_;
  const ControlFlow& flow_;
  const FoldPlan& plan_;
  const std::vector<bool>& pinned_;
  const std::vector<bool>& assured_;
  std::vector<Known> values_;
  std::vector<bool> runs_;
  std::vector<bool> taken_;
  std::vector<bool> function_runs_;
  std::vector<bool> is_waiting_;  // by instruction
  std::vector<uint32_t> waiting_blocks_;
  std::vector<uint32_t> waiting_;  // instructions
  std::vector<uint32_t> running_;  // blocks, in the order that they were seen
};

}  // namespace kiln::specialise
