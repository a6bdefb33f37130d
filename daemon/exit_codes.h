// SPDX-License-Identifier: Apache-2.0
#pragma once

// kilnd's exit codes, as its --help states them.

namespace kiln::daemon {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitAlreadyRunning = 3;

}  // namespace kiln::daemon
