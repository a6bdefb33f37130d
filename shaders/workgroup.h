// SPDX-License-Identifier: Apache-2.0
#pragma once

// How large a compute entry point's workgroup is and which constants say so.
// Internal to this folder. Not by SPIRV-Cross, which throws through its C API
// at a size that is computed.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace kiln::shaders {

class ModuleConstants;

struct Workgroup {
  std::array<uint32_t, 3> size{};     // zero where it cannot be computed
  std::array<uint32_t, 3> results{};  // SPIR-V ids; 0: a literal
  // Where the size is a specialization constant itself, its constant_id.
  std::array<std::optional<uint32_t>, 3> constant_ids{};
};

// By the values that `constants`, of the same module, has. `function` is an
// entry point's. Returns: all zero when it has no workgroup.
Workgroup WorkgroupOf(std::span<const uint32_t> spirv,
                      const ModuleConstants& constants, uint32_t function);

}  // namespace kiln::shaders
