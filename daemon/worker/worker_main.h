// SPDX-License-Identifier: Apache-2.0
#pragma once

// The whole of kiln-worker but for its driver: the command line, the limits a
// worker sets itself, the loop that answers kilnd, and `--job F --out G`.

#include "daemon/worker/backend.h"

namespace kiln::daemon {

// Returns: the process's exit code. Requires: called once, from main.
int RunWorker(int argc, char** argv, OpenBackend open_backend);

}  // namespace kiln::daemon
