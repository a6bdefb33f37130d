// SPDX-License-Identifier: Apache-2.0
#pragma once

// How gRPC's threads and an engine's threads tell one waiting thread that
// there is something to look at.

#include <chrono>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kiln::client {

using SteadyTime = std::chrono::steady_clock::time_point;

// A flag that one thread waits for and any thread sets. Thread-safe.
class Wakeup {
 public:
  void Notify() {
    absl::MutexLock lock(&mutex_);
    notified_ = true;
  }

  // Returns once notified since the last return, or at `deadline`.
  void WaitUntil(SteadyTime deadline) {
    const auto left = deadline - std::chrono::steady_clock::now();
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&notified_),
                            absl::FromChrono(left));
    notified_ = false;
  }

 private:
  absl::Mutex mutex_;
  bool notified_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace kiln::client
