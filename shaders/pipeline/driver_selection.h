// SPDX-License-Identifier: Apache-2.0
#pragma once

// What SelectDriver (device.h) remembers, for Device::Open to check.

#include "absl/status/status.h"
#include "proto/target.h"

namespace kiln::pipeline {

// Errors: FailedPrecondition unless the last SelectDriver call was for `spec`.
absl::Status CheckDriverSelected(const TargetSpec& spec);

}  // namespace kiln::pipeline
