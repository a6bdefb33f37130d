// SPDX-License-Identifier: Apache-2.0
#pragma once

// The daemon as a whole: takes the locks, opens the store, binds the socket,
// runs until it is told to stop, and takes all of it down in time.

#include "absl/status/status.h"
#include "daemon/options.h"

namespace kiln::daemon {

// Runs the daemon until SIGTERM, SIGINT or a fault.
// Returns: OK when it was told to stop. Errors: AlreadyExists naming the other
// daemon's pid, PermissionDenied or FailedPrecondition naming the state folder,
// InvalidArgument or others naming the socket.
// Requires: called once, from the main thread, before any other is started.
absl::Status RunDaemon(const DaemonOptions& options);

}  // namespace kiln::daemon
