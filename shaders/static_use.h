// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which variables outside functions an entry point uses *statically*, as Vulkan
// means it: code names them in the entry point's function or in one that it
// calls, whether or not that code is ever reached.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kiln::shaders {

// A variable outside functions. What is not decorated with it is 0.
struct GlobalVariable {
  std::string name;  // its OpName, of any bytes; empty: it has none
  uint32_t storage_class = 0;
  uint32_t set = 0;
  uint32_t binding = 0;
};

// Those that `function`, an entry point's, uses; in the module's order.
// Requires: a validated module. Thread-safe. Linear in the module.
std::vector<GlobalVariable> StaticallyUsed(std::span<const uint32_t> spirv,
                                           uint32_t function);

}  // namespace kiln::shaders
