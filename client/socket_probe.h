// SPDX-License-Identifier: Apache-2.0
#pragma once

// Why a Unix socket cannot be reached, in the kernel's words rather than in
// those of a gRPC version.

#include <string_view>

#include "absl/status/status.h"

namespace kiln::client {

// Connects once and closes again. Never waits.
// Returns: OK when somebody accepts connections there.
// Errors: Unavailable, PermissionDenied or InvalidArgument naming the path and
// the cause.
absl::Status ProbeSocket(std::string_view path);

}  // namespace kiln::client
