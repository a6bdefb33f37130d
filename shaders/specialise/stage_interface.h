// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which locations, and which components of them, the inputs and outputs of a
// module have (Vulkan specification, "Location and Component Assignment").
// Internal to this folder.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <spirv/unified1/spirv.hpp11>

#include "absl/status/statusor.h"

namespace kiln::specialise {

struct InterfaceVariable {
  uint32_t id = 0;
  spv::StorageClass storage = spv::StorageClass::Input;
  // The components used of each location, a bit each.
  std::map<uint32_t, uint8_t> slots;
  // False of what is not known by its locations alone: built-ins, what is per
  // patch, primitive or vertex, and what has a size that is not known.
  bool plain = true;
  bool is_built_in = false;  // it, or all of a block
};

struct StageInterface {
  spv::ExecutionModel model = spv::ExecutionModel::Vertex;
  size_t entry_points = 0;
  bool captures = false;  // transform feedback
  std::vector<InterfaceVariable> variables;
};

// Of the first entry point; variables of all. Inputs and outputs that are
// declared count. Requires: a validated module.
// Errors: InvalidArgument when the words are no SPIR-V.
absl::StatusOr<StageInterface> ReadStageInterface(
    std::span<const uint32_t> spirv);

}  // namespace kiln::specialise
