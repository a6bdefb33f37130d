// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the daemon's socket is: the one rule that client, command line and
// daemon share (KNOWN_FAULTS 24, 46).

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace kiln {

// Errors: InvalidArgument naming the path, its length and the limit of
// limits::kSocketPathBytes bytes.
absl::Status CheckSocketPath(std::string_view path);

// Returns: $XDG_RUNTIME_DIR/kiln/kilnd.sock; without that variable
// <temp>/kiln-<uid>/kilnd.sock. Where the first is over the limit, a short
// name in the second folder that holds a digest of it, so that different
// runtime folders still get different sockets. Reads the environment only.
std::string DefaultSocketPath();

// Returns: $XDG_STATE_HOME/kiln, else $HOME/.local/state/kiln, else
// <temp>/kiln-<uid>/state. Reads the environment only.
std::string DefaultStateFolder();

}  // namespace kiln
