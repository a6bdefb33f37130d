// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a worker makes sure of between the front end and the driver: the
// program's overrides are constants of its modules, and the values of one key
// make modules that are valid and that the device can hold. A driver asks
// neither question and crashes instead (KNOWN_FAULTS 15).

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/constant.h"
#include "proto/program.h"
#include "shaders/pipeline/device.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::daemon {

// Returns: the names, sorted, of overrides that no code of any stage reads
// (KNOWN_FAULTS 34). Errors: InvalidArgument naming an override that no stage
// declares, that has another type or default there, or whose constant another
// part of a key sets too.
absl::StatusOr<std::vector<std::string>> CheckOverrides(
    const Program& program, std::span<const pipeline::StageCode> code);

// Errors: InvalidArgument naming the constant, its value and the limit.
// Requires: the modules are valid with their defaults.
absl::Status CheckModules(std::span<const pipeline::StageCode> code,
                          std::span<const Constant> constants,
                          const pipeline::DeviceLimits& limits);

}  // namespace kiln::daemon
