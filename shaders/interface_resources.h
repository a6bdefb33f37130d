// SPDX-License-Identifier: Apache-2.0
#pragma once

// The part of a module's interface that SPIRV-Cross lists: descriptors, push
// constants, inputs and outputs. Internal to interface_reflection.cc.

#include "absl/status/status.h"
#include "proto/module_interface.h"

namespace kiln::shaders {

class ParsedModule;

// Fills the lists of `out`, sorted, for the entry point that is set in
// `module`. `several`: there are others in it, so only what this one uses is
// bound. Requires: array lengths that are literals (freeze.h).
// Errors: InvalidArgument naming what SPIRV-Cross cannot read, or when there
// are more than 65,536 inputs or outputs.
absl::Status ReadResources(const ParsedModule& module, bool several,
                           ModuleInterface& out);

}  // namespace kiln::shaders
