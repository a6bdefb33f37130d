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

// Whether the socket at `path` can only have been made by this user or root: a
// stranger's daemon would read our sources and hand blobs to our driver
// (KNOWN_FAULTS 24). A socket that is not there is fine.
// Errors: PermissionDenied naming the path and its owner.
absl::Status CheckSocketOwner(std::string_view path);

}  // namespace kiln::client
