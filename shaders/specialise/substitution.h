// SPDX-License-Identifier: Apache-2.0
#pragma once

// What stands for a result in the specialised module: a constant where the
// value is known, another result where it is a copy of that one, or itself.
// Results with decorations stay, so that what those ask for does. Internal to
// this folder.

#include <cstdint>
#include <vector>

#include "shaders/specialise/constant_propagation.h"
#include "shaders/specialise/control_flow.h"
#include "shaders/specialise/fold_plan.h"
#include "shaders/specialise/module_index.h"

namespace kiln::specialise {

// Thread-compatible. Lifetime: all that it is given outlives it.
class Substitution {
 public:
  Substitution(const ModuleIndex& index, const ControlFlow& flow,
               const FoldPlan& plan, const ConstantPropagation& known);

  // True when a use of `id` in a function is one of the constant Value(id) of
  // `id`'s type, a scalar.
  bool IsConstant(uint32_t id) const;

  uint64_t Value(uint32_t id) const { return known_.Value(id).bits; }

  // The result that a use of `id` in a function is one of. Requires: not
  // IsConstant.
  uint32_t Of(uint32_t id) const { return stands_for_[id]; }

 private:
  void VisitBlock(uint32_t block);
  bool Visit(uint32_t instruction);
  uint32_t Root(uint32_t id) const;
  uint32_t CopiedByPhi(uint32_t phi) const;
  uint32_t CopiedByOperation(uint32_t instruction) const;

  const ModuleIndex& index_;
  const ControlFlow& flow_;
  const FoldPlan& plan_;
  const ConstantPropagation& known_;
  std::vector<uint32_t> stands_for_;  // by id
  std::vector<uint32_t> phis_;        // that were no copies at first sight
};

}  // namespace kiln::specialise
