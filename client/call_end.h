// SPDX-License-Identifier: Apache-2.0
#pragma once

// The end of a call that gRPC makes on threads of its own, and that its owner
// waits for before it goes. Internal; engines use client.h.

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/wakeup.h"

namespace kiln::client {

// Thread-safe. Lifetime: `wakeup` lives until `Await` has returned.
class CallEnd {
 public:
  explicit CallEnd(Wakeup* wakeup) : wakeup_(wakeup) {}

  // Once, by gRPC.
  void Set(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    status_ = std::move(status);
    done_ = true;
    // Before the lock is free: the owner may then destroy this, and soon the
    // wakeup as well.
    wakeup_->Notify();
  }

  bool done() const {
    absl::MutexLock lock(&mutex_);
    return done_;
  }

  // Requires: done().
  absl::Status status() const {
    absl::MutexLock lock(&mutex_);
    return status_;
  }

  // Blocks: until the end. Cancel the call first.
  void Await() const {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&done_));
  }

 private:
  Wakeup* const wakeup_;
  mutable absl::Mutex mutex_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln::client
