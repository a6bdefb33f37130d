// SPDX-License-Identifier: Apache-2.0
#pragma once

// Keeps one copy of each SPIR-V module in this process: the variants of a
// program share their modules, and every delivery brings them again.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "client/variant.h"
#include "proto/digest.h"

namespace kiln::client {

// Confined to one thread. Holds no module alive.
class ModulePool {
 public:
  // Replaces `module`'s words by an equal copy that is already in use, if any.
  void Share(ModuleCode& module) {
    std::weak_ptr<const std::vector<uint32_t>>& known = pool_[module.digest];
    if (auto words = known.lock()) {
      module.spirv = std::move(words);
      return;
    }
    known = module.spirv;
    if (pool_.size() > prune_above_) {
      absl::erase_if(pool_,
                     [](const auto& entry) { return entry.second.expired(); });
      prune_above_ = std::max(kPruneAbove, 2 * pool_.size());
    }
  }

 private:
  static constexpr size_t kPruneAbove = 64;

  absl::flat_hash_map<Digest, std::weak_ptr<const std::vector<uint32_t>>> pool_;
  size_t prune_above_ = kPruneAbove;
};

}  // namespace kiln::client
