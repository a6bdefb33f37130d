// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether a module fits the pipeline that its program declares. Drivers do not
// ask: RADV crashes over a binding that the layout has not got. What Vulkan
// leaves open is left open here: a declaration that no code uses, a colour that
// nothing takes, a descriptor or attribute that no shader reads.

#include <cstdint>
#include <span>
#include <string>

#include "proto/program.h"

namespace kiln::shaders {

// What of the module of `source`, one of the program's stages, its pipeline
// cannot serve: descriptors by set, binding, type, count and stage; the push
// constants' size and stage; a vertex stage's inputs by location and by being
// integers or not. Arrays have the length that the constants' defaults give.
// Requires: a module that CompileStage made, of a program that is a pipeline.
// Returns: a line "path:line: error: ..." for each fault; empty: there is none,
// or SPIRV-Cross cannot read the module. Thread-safe.
std::string PipelineFaults(const Program& program, const StageSource& source,
                           std::span<const uint32_t> spirv);

}  // namespace kiln::shaders
