// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/memory_effects.h"

#include "shaders/specialise/opcode_effects.h"

namespace kiln::specialise {
namespace {

// Whether a decoration keeps what it is of. Vulkan runs a fragment stage once
// a sample if an input of its interface has one of these, read or not.
bool Keeps(spv::Decoration decoration, uint32_t operand) {
  switch (decoration) {
    case spv::Decoration::Sample:
    case spv::Decoration::LinkageAttributes:
      return true;
    case spv::Decoration::BuiltIn: {
      const auto built_in = static_cast<spv::BuiltIn>(operand);
      return built_in == spv::BuiltIn::SampleId ||
             built_in == spv::BuiltIn::SamplePosition ||
             built_in == spv::BuiltIn::WorkgroupSize;
    }
    default:
      return false;
  }
}

}  // namespace

MemoryEffects::MemoryEffects(const ModuleIndex& index)
    : first_store_(index.bound() + 1, 0) {
  const auto count = static_cast<uint32_t>(index.instructions().size());
  const auto each_store = [&](auto visit) {
    for (uint32_t i = index.first_function(); i < count; ++i) {
      const uint32_t variable =
          index.at(i).op == spv::Op::OpStore ? StoredVariable(index, i) : 0;
      if (variable != 0) {
        visit(variable, i);
      }
    }
  };
  each_store(
      [&](uint32_t variable, uint32_t) { ++first_store_[variable + 1]; });
  for (uint32_t id = 0; id < index.bound(); ++id) {
    first_store_[id + 1] += first_store_[id];
  }
  stores_.resize(first_store_.back());
  std::vector<uint32_t> next(first_store_.begin(), first_store_.end() - 1);
  each_store([&](uint32_t variable, uint32_t store) {
    stores_[next[variable]++] = store;
  });
  FindKept(index);
}

uint32_t MemoryEffects::StoredVariable(const ModuleIndex& index,
                                       uint32_t store) const {
  const Instruction view = index.View(store);
  const uint32_t variable = index.RootVariable(view.word(1));
  // A pointer to itself, stored, would be a use.
  return IsPlainAccess(view, 3) && view.word(2) != variable ? variable : 0;
}

void MemoryEffects::FindKept(const ModuleIndex& index) {
  std::vector<bool> keeps(index.bound(), false);  // types and others
  for (uint32_t i = 0; i < index.first_function(); ++i) {
    const IndexedInstruction& at = index.at(i);
    const Instruction view = index.View(i);
    if (at.op == spv::Op::OpDecorate || at.op == spv::Op::OpMemberDecorate) {
      const size_t place = at.op == spv::Op::OpDecorate ? 2 : 3;
      if (Keeps(static_cast<spv::Decoration>(view.word(place)),
                view.word(place + 1))) {
        keeps[view.word(1)] = true;
      }
      continue;
    }
    if (at.result == 0) {
      continue;
    }
    // A structure's members decide for pointers to it, and arrays of it.
    if (at.op == spv::Op::OpTypeArray) {
      keeps[at.result] = keeps[view.word(2)];
    } else if (at.op == spv::Op::OpTypePointer) {
      keeps[at.result] = keeps[view.word(3)];
    } else if (at.op == spv::Op::OpVariable) {
      const spv::StorageClass storage = index.StorageOf(at.result);
      if (storage == spv::StorageClass::Output || keeps[at.result] ||
          (storage == spv::StorageClass::Input && keeps[at.type])) {
        kept_.push_back(at.result);
      }
    } else if (at.type != 0 && keeps[at.result]) {
      kept_.push_back(at.result);
    }
  }
}

}  // namespace kiln::specialise
