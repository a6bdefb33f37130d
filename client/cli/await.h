// SPDX-License-Identifier: Apache-2.0
#pragma once

// Waiting for completions the way a command must: it can be interrupted, it
// notices a daemon that froze, and it keeps the status line moving.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "client/blocking.h"

namespace kiln::cli {

struct AwaitOptions {
  uint64_t first = 0;                    // the first request waited for
  size_t count = 0;                      // requests waited for, from there on
  std::chrono::milliseconds timeout{0};  // 0: as long as it takes
  // Once for each request: what a living program becomes later is not waited
  // for.
  std::function<void(const v1::Completion&)> on_completion;
  std::function<void()> on_tick;  // about ten times a second
  // Called before each wait, to send what was held back. May be empty; an error
  // of it ends the waiting.
  std::function<absl::Status()> send_more;
};

// Blocks until each of `count` requests has its completion.
// Errors: Aborted after Ctrl-C, OutOfRange at the timeout, else those of
// BlockingSession.
absl::Status AwaitCompletions(client::BlockingSession& session,
                              const AwaitOptions& options);

}  // namespace kiln::cli
