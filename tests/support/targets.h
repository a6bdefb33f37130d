// SPDX-License-Identifier: Apache-2.0
#pragma once

// Targets that need no GPU.

namespace kiln::testing {

// Compiles for a Steam Deck on null hardware; draws nothing.
inline constexpr char kVanGogh[] = "radv:vangogh";
// Draws on the CPU.
inline constexpr char kLavapipe[] = "lavapipe";

}  // namespace kiln::testing
