// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which constant of the specialised module stands for a number that code of
// its functions needs: the first that there is, else a new one behind all
// types. So that equal code has equal constants whatever decided them.
// Internal to this folder.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "shaders/specialise/fold_plan.h"
#include "shaders/specialise/module_index.h"

namespace kiln::specialise {

// A number: the instruction of its type, so that they are in the order of
// types, and its bits.
using Number = std::pair<uint32_t, uint64_t>;

// The constants of a module that are none to specialize: of each number the
// first. Thread-safe.
class ConstantTable {
 public:
  ConstantTable(const ModuleIndex& index, const FoldPlan& plan);

  // The instruction, or kNone.
  uint32_t Find(const Number& number) const {
    const auto found = constants_.find(number);
    return found == constants_.end() ? kNone : found->second;
  }

 private:
  std::map<Number, uint32_t> constants_;
};

// Thread-compatible. Lifetime: all that it is given outlives it.
class ConstantPool {
 public:
  // New constants, and undefined values, have the ids from `bound` on.
  ConstantPool(const ModuleIndex& index, const ConstantTable& table)
      : index_(index), table_(table), bound_(index.bound()) {}

  // `type` is an id.
  void Need(uint32_t type, uint64_t bits) {
    needed_[{index_.DefinitionOf(type), bits}] = 0;
  }

  void NeedUndefined(uint32_t type) {
    undefined_[index_.DefinitionOf(type)] = 0;
  }

  // Chooses a constant for each number needed. `frozen`: those that are
  // specialization constants and written anyway, in the order of the module.
  // Returns: the instructions chosen.
  std::vector<uint32_t> Settle(
      const std::vector<std::pair<uint32_t, Number>>& frozen);

  // Requires: Settle. The ids.
  uint32_t IdOf(uint32_t type, uint64_t bits) const {
    return needed_.at({index_.DefinitionOf(type), bits});
  }

  uint32_t UndefinedOf(uint32_t type) const {
    return undefined_.at(index_.DefinitionOf(type));
  }

  // One past the last id given out.
  uint32_t bound() const { return bound_; }

  // Those that are new, by number or type, with their ids.
  std::vector<std::pair<Number, uint32_t>> NewConstants() const;

  const std::map<uint32_t, uint32_t>& undefined() const { return undefined_; }

 private:
  const ModuleIndex& index_;
  const ConstantTable& table_;
  std::map<Number, uint32_t> needed_;       // ids
  std::map<uint32_t, uint32_t> undefined_;  // ids, by instruction of the type
  uint32_t bound_;
};

}  // namespace kiln::specialise
