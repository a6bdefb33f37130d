// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/assured_loads.h"

#include <unordered_map>

#include "shaders/specialise/dominator_tree.h"

namespace kiln::specialise {
namespace {

// One function, of which only the code that runs counts.
class RunningFunction {
 public:
  RunningFunction(const ModuleIndex& index, const ControlFlow& flow,
                  const FoldPlan& plan, const ConstantPropagation& known,
                  const Function& function)
      : index_(index),
        flow_(flow),
        plan_(plan),
        known_(known),
        function_(function),
        dominators_(function.block_count) {
    dominators_.AddRoot(0);
    for (uint32_t i = 1; i < function.block_count; ++i) {
      if (known.Runs(function.first_block + i)) {
        dominators_.Add(i, DominatorOf(i));
      }
    }
  }

  bool AddLoads(std::vector<bool>& assured) {
    bool gained = false;
    for (uint32_t i = 0; i < function_.block_count; ++i) {
      if (!known_.Runs(function_.first_block + i)) {
        continue;
      }
      for (const uint32_t step : plan_.Steps(function_.first_block + i)) {
        gained |= Visit(i, step, assured);
      }
    }
    return gained;
  }

 private:
  uint32_t DominatorOf(uint32_t number) const {
    uint32_t dominator = kNone;
    const uint32_t first = function_.first_block;
    for (const uint32_t edge : flow_.Entries(flow_.blocks()[first + number])) {
      const uint32_t from = flow_.edges()[edge].from - first;
      if (known_.IsTaken(edge) && from < number) {
        dominator = dominator == kNone
                        ? from
                        : dominators_.CommonAncestor(dominator, from);
      }
    }
    return dominator;
  }

  bool Visit(uint32_t block, uint32_t step, std::vector<bool>& assured) {
    switch (index_.at(step).op) {
      case spv::Op::OpVariable:
        first_store_.try_emplace(index_.at(step).result, block);
        return false;
      case spv::Op::OpStore:
        first_store_.try_emplace(index_.Word(step, 1), block);
        return false;
      case spv::Op::OpLoad:
        break;
      default:
        return false;
    }
    const uint32_t variable = index_.Word(step, 3);
    const auto store = first_store_.find(variable);
    if (assured[step] || !plan_.IsFollowed(variable) ||
        store == first_store_.end() ||
        !dominators_.Dominates(store->second, block)) {
      return false;
    }
    assured[step] = true;
    return known_.Value(variable).IsValue();
  }

  const ModuleIndex& index_;
  const ControlFlow& flow_;
  const FoldPlan& plan_;
  const ConstantPropagation& known_;
  const Function& function_;
  DominatorTree dominators_;
  std::unordered_map<uint32_t, uint32_t> first_store_;  // blocks, by variable
};

}  // namespace

bool AddAssuredLoads(const ModuleIndex& index, const ControlFlow& flow,
                     const FoldPlan& plan, const ConstantPropagation& known,
                     std::vector<bool>& assured) {
  bool gained = false;
  for (const uint32_t number : plan.doubtful()) {
    if (known.FunctionRuns(number)) {
      gained |=
          RunningFunction(index, flow, plan, known, flow.functions()[number])
              .AddLoads(assured);
    }
  }
  return gained;
}

}  // namespace kiln::specialise
