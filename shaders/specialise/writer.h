// SPDX-License-Identifier: Apache-2.0
#pragma once

// Writes the specialised module: what is live, in the order in which it was,
// with ids numbered from 1 in the order in which they appear, as some drivers
// pay by the bound. Internal to this folder.

#include <cstdint>
#include <span>
#include <vector>

#include "shaders/freeze.h"
#include "shaders/specialise/liveness.h"

namespace kiln::specialise {

// Thread-compatible. Lifetime: all that it is given outlives it.
class ModuleWriter {
 public:
  ModuleWriter(const PreparedModule::Tables& tables, const Findings& findings,
               const Liveness& liveness, const ConstantPool& pool);

  // Call once.
  std::vector<uint32_t> Write();

 private:
  void WriteGlobal(uint32_t instruction);
  void WriteEntryPoint(uint32_t instruction);
  void WriteConstant(uint32_t instruction);
  void WriteNewGlobals();
  void WriteFunction(const Function& function);
  void WriteBlock(uint32_t block);
  void WriteBranch(uint32_t block);
  void WritePhi(uint32_t instruction);
  void WriteGlobalCopy(uint32_t instruction);
  void WriteCopy(uint32_t instruction);
  void Renumber(size_t begin);
  void Emit(spv::Op op, std::initializer_list<uint32_t> operands);
  uint32_t Number(uint32_t id);
  uint32_t NumberOfUse(uint32_t id);
  uint32_t LabelOf(uint32_t block);

  const PreparedModule::Tables& tables_;
  const ModuleIndex& index_;
  const ConstantPropagation& known_;
  std::span<const BlockPlan> plans_;
  const Substitution& substitution_;
  const Liveness& liveness_;
  const ConstantPool& pool_;
  shaders::ConstantFreezer freezer_;
  std::vector<uint32_t> numbers_;  // by id; 0: none yet
  uint32_t next_number_ = 1;
  std::vector<uint32_t> out_;
};

}  // namespace kiln::specialise
