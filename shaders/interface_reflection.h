// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a module declares to the outside (proto/module_interface.h), found by
// SPIRV-Cross when the module is made. Which constants there are, alone, is in
// reflection.h.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "proto/module_interface.h"
#include "proto/program.h"

namespace kiln::shaders {

// The interface of one entry point; array lengths are those of the constants'
// defaults. In a module with several, only what this
// one uses is bound; else all that is declared, used or not.
//
// Names: of a binding, the variable's, or else that of its block; of a member
// of a structure with locations, "variable.member"; of one in an array of
// structures, "variable[2].member".
// Requires: a module that CompileStage made or would take. Thread-safe.
// Errors: InvalidArgument when there is no such entry point, the defaults make
// an array that no device can hold, SPIRV-Cross cannot read the module, or it
// has more than 65,536 inputs or outputs.
// Blocks: a tenth of a second for a megabyte of module.
absl::StatusOr<ModuleInterface> ReflectInterface(
    std::span<const uint32_t> spirv, Stage stage, std::string_view entry);

// A warning, "path:1: warning: ...", for each two descriptors of different
// types that share a binding: no layout can serve both. Of `source`'s module.
std::string SharedBindingWarnings(const StageSource& source,
                                  const ModuleInterface& interface);

}  // namespace kiln::shaders
