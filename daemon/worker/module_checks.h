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

// Whether the device can hold the module with these values of its constants.
// Errors: InvalidArgument naming the constant, its value and the limit.
// Requires: the module is valid with its defaults and declares all of them.
absl::Status CheckLimits(std::span<const uint32_t> spirv,
                         std::span<const Constant> constants,
                         const pipeline::DeviceLimits& limits);

}  // namespace kiln::daemon
