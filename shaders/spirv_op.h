// SPDX-License-Identifier: Apache-2.0
#pragma once

// The opcode of an instruction by its name. Apart from proto/spirv_view.h,
// which needs no SPIRV-Headers.

#include <spirv/unified1/spirv.hpp11>

#include "proto/spirv_view.h"

namespace kiln::shaders {

inline spv::Op OpOf(const Instruction& instruction) {
  return static_cast<spv::Op>(instruction.opcode);
}

}  // namespace kiln::shaders
