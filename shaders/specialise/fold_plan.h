// SPDX-License-Identifier: Apache-2.0
#pragma once

// What constant propagation needs to know of a module whatever the values are:
// which instructions it has to look at, who reads what they give, and the
// values that no specialization constant decides. Internal to this folder.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shaders/module_constants.h"
#include "shaders/specialise/control_flow.h"
#include "shaders/specialise/folding.h"
#include "shaders/specialise/module_index.h"

namespace kiln::specialise {

// Thread-safe. Lifetime: nothing that it is made of is kept.
class FoldPlan {
 public:
  FoldPlan(const ModuleIndex& index, const ControlFlow& flow,
           const shaders::ModuleConstants& constants);

  // The type of a scalar by the id of its type; nullopt for other types.
  const std::optional<shaders::NumericType>& ScalarType(uint32_t type) const {
    return scalar_types_[type];
  }

  // The bits that a value of that integer type has.
  uint64_t LowBitsOf(uint32_t type) const {
    const auto& scalar = scalar_types_[type];
    return scalar && scalar->bits < 64 ? (uint64_t{1} << scalar->bits) - 1
                                       : ~uint64_t{0};
  }

  // By id. Of a variable that is followed, what it holds; of a function, what
  // it returns. Specialization constants vary.
  const std::vector<Known>& initial() const { return initial_; }

  // Ids of the scalars among the specialization constants.
  std::span<const uint32_t> specialized() const { return specialized_; }

  // The instructions of a block to look at once it runs, in order; branches
  // are not among them.
  std::span<const uint32_t> Steps(uint32_t block) const {
    return std::span(steps_).subspan(
        first_step_[block], first_step_[block + 1] - first_step_[block]);
  }

  // The instructions to look at again once more is known of `id`.
  std::span<const uint32_t> Users(uint32_t id) const {
    return std::span(users_).subspan(first_user_[id],
                                     first_user_[id + 1] - first_user_[id]);
  }

  // True for a local variable whose content is followed: a scalar.
  bool IsFollowed(uint32_t variable) const { return followed_[variable]; }

  // By instruction: loads of such variables that are sure to come after a
  // store, whatever runs.
  const std::vector<bool>& assured() const { return assured_; }

  // The functions with loads that are not.
  const std::vector<uint32_t>& doubtful() const { return doubtful_; }

  // The functions that run whether something calls them or not: entry points,
  // and those named by an instruction that is no call.
  const std::vector<uint32_t>& roots() const { return roots_; }

 private:
  void FindScalars(const ModuleIndex& index,
                   const shaders::ModuleConstants& constants);
  void FindVariables(const ModuleIndex& index, const ControlFlow& flow);
  void VisitAccess(const ModuleIndex& index, const ControlFlow& flow,
                   uint32_t instruction, std::vector<uint32_t>& first_store);
  void FindSteps(const ModuleIndex& index, const ControlFlow& flow);
  void FindUsers(const ModuleIndex& index, const ControlFlow& flow);
  void FindRoots(const ModuleIndex& index, const ControlFlow& flow);
  bool IsStep(const ModuleIndex& index, uint32_t instruction);
  bool MayBecomeKnown(const ModuleIndex& index, uint32_t id) const;
  bool Touches(const ModuleIndex& index, uint32_t instruction) const;

  std::vector<std::optional<shaders::NumericType>> scalar_types_;  // by id
  std::vector<Known> initial_;
  std::vector<bool> followed_;
  std::vector<bool> assured_;
  std::vector<uint32_t> doubtful_;
  std::vector<uint32_t> specialized_;
  std::vector<uint32_t> steps_;
  std::vector<uint32_t> first_step_;
  std::vector<uint32_t> users_;
  std::vector<uint32_t> first_user_;
  std::vector<uint32_t> roots_;
};

// True of a plain load of all of `variable`, or such a store to it.
bool IsWholeAccess(const ModuleIndex& index, uint32_t instruction,
                   uint32_t variable);

}  // namespace kiln::specialise
