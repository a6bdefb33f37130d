// SPDX-License-Identifier: Apache-2.0
#include "client/cli/interrupt.h"

#include <signal.h>

#include <atomic>

namespace kiln::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

void CatchInterrupts() {
  struct sigaction action {};

  action.sa_handler = [](int) { interrupted.store(true); };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool Interrupted() {
  return interrupted.load();
}

}  // namespace kiln::cli
