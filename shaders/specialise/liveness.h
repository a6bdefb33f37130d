// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which instructions the specialised module has: those that do something and
// all that they need, marked from there (the mark phase of Cytron et al.,
// "Efficiently computing static single assignment form", 1991, section 7.1).
// Stores to variables that only this invocation sees wait until something
// reads the variable. Internal to this folder.

#include <cstdint>
#include <span>
#include <vector>

#include "shaders/specialise/constant_pool.h"
#include "shaders/specialise/prepared_tables.h"
#include "shaders/specialise/pruner.h"
#include "shaders/specialise/substitution.h"

namespace kiln::specialise {

// What is known of a variant. Lifetime: views, all of them.
struct Findings {
  const shaders::ModuleConstants& constants;  // with the variant's values
  const ConstantPropagation& known;
  std::span<const BlockPlan> plans;
  const Substitution& substitution;
};

// Thread-compatible. Lifetime: all that it is given outlives it.
class Liveness {
 public:
  // `unread`: outputs that are as private variables are. What code needs of
  // numbers is asked of `pool`, which is settled at the end.
  Liveness(const PreparedModule::Tables& tables, const Findings& findings,
           std::span<const uint32_t> unread, ConstantPool& pool);

  bool IsLive(uint32_t instruction) const { return live_[instruction]; }

  // Of the instruction that makes it.
  bool IsLiveId(uint32_t id) const {
    const uint32_t definition = tables_.index->DefinitionOf(id);
    return definition != kNone && live_[definition];
  }

  // Whether a specialization constant is written as a plain one.
  bool IsFolded(uint32_t instruction) const;

  // Whether a phi has an operand for this edge though it is not taken: the one
  // to the header of a loop that keeps a continue block which does nothing.
  bool IsStubEdge(uint32_t edge) const;

  // True of what is made outside of functions.
  bool IsGlobal(uint32_t id) const;

 private:
  void MarkGlobals();
  void MarkGlobal(uint32_t instruction);
  void MarkFunctions();
  void MarkBlock(uint32_t block);
  void MarkTerminator(uint32_t block);
  void MarkAll();
  void MarkOperands(uint32_t instruction);
  void MarkPhi(uint32_t instruction);
  void MarkIds(uint32_t instruction);
  void MarkUses(uint32_t instruction);
  void MarkUse(uint32_t id);
  void MarkId(uint32_t id);
  void Mark(uint32_t instruction);
  bool WaitsForRead(uint32_t instruction) const;
  void Settle();

  const PreparedModule::Tables& tables_;
  const ModuleIndex& index_;
  const shaders::ModuleConstants& constants_;
  const ConstantPropagation& known_;
  std::span<const BlockPlan> plans_;
  const Substitution& substitution_;
  ConstantPool& pool_;
  std::vector<bool> live_;         // by instruction
  std::vector<bool> unread_;       // by id
  std::vector<uint32_t> waiting_;  // instructions whose operands are to mark
};

}  // namespace kiln::specialise
