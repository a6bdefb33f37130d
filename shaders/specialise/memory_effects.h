// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which stores matter only if their variable is read, and which global
// variables stay though nothing names them. Internal to this folder.

#include <cstdint>
#include <span>
#include <vector>

#include "shaders/specialise/module_index.h"

namespace kiln::specialise {

// Thread-safe. Lifetime: nothing that it is made of is kept.
class MemoryEffects {
 public:
  explicit MemoryEffects(const ModuleIndex& index);

  // The plain stores to a variable, or to a part of it.
  std::span<const uint32_t> StoresTo(uint32_t variable) const {
    return std::span(stores_).subspan(
        first_store_[variable],
        first_store_[variable + 1] - first_store_[variable]);
  }

  // The variable of a plain store to a variable that is known; else 0.
  uint32_t StoredVariable(const ModuleIndex& index, uint32_t store) const;

  // Ids whose being there says something by itself: outputs of the stage,
  // inputs that make a fragment stage run per sample, what is decorated as the
  // workgroup's size or exported.
  std::span<const uint32_t> kept() const { return kept_; }

 private:
  void FindKept(const ModuleIndex& index);

  std::vector<uint32_t> stores_;
  std::vector<uint32_t> first_store_;  // by id
  std::vector<uint32_t> kept_;
};

}  // namespace kiln::specialise
