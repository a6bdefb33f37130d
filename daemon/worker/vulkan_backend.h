// SPDX-License-Identifier: Apache-2.0
#pragma once

// Real drivers: a device that compiles and its equal that only proves.

#include "daemon/worker/backend.h"

namespace kiln::daemon {

// An OpenBackend. Requires: called once in a process (pipeline::SelectDriver).
absl::StatusOr<std::unique_ptr<Backend>> OpenVulkan(
    const TargetSpec& spec, const BackendOptions& options);

}  // namespace kiln::daemon
