// SPDX-License-Identifier: Apache-2.0
#pragma once

// Keeps a driver from fusing a multiplication with an addition. Whether it
// does depends on the code around, so a variant, which has less of it, may
// round another way than the whole shader: measured on an NVIDIA H200, one
// pixel in some 50,000 by one step of a half float. Programs that promise the
// same picture to the last bit ask for this (Program::no_contraction).

#include <cstdint>
#include <span>
#include <vector>

namespace kiln::shaders {

// Returns: `spirv` with a NoContraction decoration on every floating-point
// arithmetic instruction that has none. Requires: a validated module.
std::vector<uint32_t> ForbidContraction(std::span<const uint32_t> spirv);

}  // namespace kiln::shaders
