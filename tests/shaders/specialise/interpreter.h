// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a fragment module whose values are scalars, to see that a specialised
// one does what the frozen one does.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kiln::specialise {

// What one invocation did, in order.
struct Trace {
  // Stores to outputs: location and value.
  std::vector<std::pair<uint32_t, uint64_t>> stores;
  std::string end;  // "return", "kill", "unreachable", "too long", "unknown op"

  friend bool operator==(const Trace&, const Trace&) = default;
};

// Runs the first entry point. `inputs` by location; others are 0. Ends with
// "too long" after some thousand instructions.
Trace Interpret(std::span<const uint32_t> spirv,
                std::span<const uint64_t> inputs);

}  // namespace kiln::specialise
