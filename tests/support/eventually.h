// SPDX-License-Identifier: Apache-2.0
#pragma once

// Waiting for what another thread or process does, without guessing how long
// it takes: a condition is looked at again and again until it holds or a
// deadline, far beyond the expected time, has passed.

#include <chrono>
#include <thread>

namespace kiln::testing {

// Long enough for a driver to start on a loaded machine.
inline constexpr std::chrono::seconds kLongEnough{60};

// Returns: whether `condition()` became true before `limit` had passed.
// Blocks: until then.
template <typename Condition>
bool Eventually(Condition condition,
                std::chrono::milliseconds limit = kLongEnough) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      return condition();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace kiln::testing
