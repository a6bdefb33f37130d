// SPDX-License-Identifier: Apache-2.0
#pragma once

// Waiting for completions the way a command must: it can be interrupted, it
// notices a daemon that froze, and it keeps the status line moving.

#include <chrono>
#include <cstddef>
#include <functional>

#include "absl/status/status.h"
#include "client/blocking.h"

namespace kiln::cli {

struct AwaitOptions {
  size_t count = 0;                      // completions to wait for
  std::chrono::milliseconds timeout{0};  // 0: as long as it takes
  std::function<void(const v1::Completion&)> on_completion;
  std::function<void()> on_tick;  // about ten times a second
};

// Blocks until `count` completions came.
// Errors: Aborted after Ctrl-C, OutOfRange at the timeout, else those of
// BlockingSession.
absl::Status AwaitCompletions(client::BlockingSession& session,
                              const AwaitOptions& options);

}  // namespace kiln::cli
