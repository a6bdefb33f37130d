// SPDX-License-Identifier: Apache-2.0
#pragma once

// The modules of all stages against the pipeline that the program declares
// (shaders/pipeline_interface_check.h).

#include <span>
#include <string>

#include "absl/status/status.h"
#include "proto/program.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::daemon {

// Whether the program's pipeline is to be checked by its front end already. Not
// that of a single shader which declares nothing, as `kiln compile` makes one
// of a file: it has to fit once a variant of it is asked for.
bool DeclaresPipeline(const Program& program);

// `code`: the modules of the program's stages, in their order.
// Errors: InvalidArgument naming the stage; `diagnostics` then says what does
// not fit, as of a source that does not compile.
absl::Status CheckInterfaces(const Program& program,
                             std::span<const pipeline::StageCode> code,
                             std::string* diagnostics);

}  // namespace kiln::daemon
