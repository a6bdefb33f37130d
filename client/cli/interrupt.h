// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ctrl-C as a flag that a waiting loop looks at, so that it can restore the
// terminal and say where it stopped.

namespace kiln::cli {

// From here on the first SIGINT or SIGTERM sets the flag; a second one ends
// the process as usual.
void CatchInterrupts();

bool Interrupted();

}  // namespace kiln::cli
