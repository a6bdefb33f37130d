// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which SPIR-V instructions may be left out where nothing reads their result.
// A list of those that have no other effect: whatever it lacks is kept, so an
// opcode that this code has never heard of is safe. Internal to this folder.

#include <spirv/unified1/spirv.hpp11>

#include "proto/spirv_view.h"

namespace kiln::specialise {

// True when all that the opcode does is to make its result from its operands
// and from memory. Not of OpExtInst: see the next. OpLoad may still be of
// volatile memory.
bool HasNoEffect(spv::Op op);

// The same of an instruction of GLSL.std.450: all but those that also store
// through a pointer.
bool GlslHasNoEffect(const Instruction& instruction);

// True when memory operands, the literal at word `index` if it is there, ask
// for nothing but an alignment or that it bypass caches.
bool IsPlainAccess(const Instruction& instruction, size_t index);

}  // namespace kiln::specialise
