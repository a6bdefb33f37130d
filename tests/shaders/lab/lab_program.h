// SPDX-License-Identifier: Apache-2.0
#pragma once

// A program that draws one triangle and has one of everything a draw can read,
// with three blocks, gates and a derivation; and cases for it.

#include <cstdint>
#include <vector>

#include "proto/program.h"
#include "shaders/lab/case_source.h"
#include "shaders/lab/draw_inputs.h"

namespace kiln::lab {

// Feature bits of LabProgram. Each block's gate is the flag of that number:
// Glow adds light, Tint multiplies by the table's row, Holes discards every
// other column and so also changes the depth.
inline constexpr FeatureMask kGlow = 1 << 0;
inline constexpr FeatureMask kTint = 1 << 1;
inline constexpr FeatureMask kHoles = 1 << 2;

// Kinds opaque and blended (blends alpha and additive), which ignore nothing,
// and depth, which ignores Glow and Tint.
Program LabProgram();

// Inputs for it: a triangle over the upper left half of the picture, drawn once
// for each of `flags`, which turn on the gates.
DrawInputs LabInputs(const std::vector<uint32_t>& flags, uint32_t width = 16,
                     uint32_t height = 8);

// Two draws a case, with random flags.
class LabCases : public CaseSource {
 public:
  DrawInputs Make(uint64_t seed, const CaseKey& key) override;
};

}  // namespace kiln::lab
