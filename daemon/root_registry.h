// SPDX-License-Identifier: Apache-2.0
#pragma once

// The search roots of this daemon: those it was started with come first, then
// those that were added while it ran, which it remembers.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "shaders/sources/search_roots.h"

namespace kiln::storage {
class VariantStore;
}  // namespace kiln::storage

namespace kiln::daemon {

struct RegisteredRoot {
  std::string name;
  std::string folder;
  bool fixed = false;        // the daemon was started with it
  bool precompiled = false;  // a batch precompile has covered it
};

// Thread-safe. Requires: the store outlives it.
class RootRegistry {
 public:
  explicit RootRegistry(storage::VariantStore& store) : store_(store) {}

  // Takes up the roots that the daemon was started with, each "NAME=FOLDER" or
  // a folder, which is then called as its last part, and those it remembers.
  // One of these that is in the way of a given one is forgotten.
  // Errors: InvalidArgument naming the root. Blocks: disk.
  absl::Status Load(const std::vector<std::string>& given);

  // Called after each change, on the thread that made it.
  void set_on_change(std::function<void()> on_change) {
    on_change_ = std::move(on_change);
  }

  // `before`: the name of the root to put it before; empty: last.
  // Returns: whether it was there already, under the same name and folder.
  // Errors: those of SearchRoots::Add, NotFound for `before`. Blocks: disk.
  absl::StatusOr<bool> Add(std::string_view name, std::string_view folder,
                           std::string_view before);

  // Errors: NotFound; FailedPrecondition for a fixed one. Blocks: disk.
  absl::Status Remove(std::string_view name);

  // Errors: NotFound naming the root; then nothing is changed. Blocks: disk.
  absl::Status MarkPrecompiled(const std::vector<std::string>& names,
                               bool precompiled);

  std::vector<RegisteredRoot> List() const;
  sources::SearchRoots roots() const;

 private:
  void Keep(const RegisteredRoot& root) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Save() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LoadSaved() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  storage::VariantStore& store_;
  std::function<void()> on_change_ = [] {};
  mutable absl::Mutex mutex_;
  sources::SearchRoots roots_ ABSL_GUARDED_BY(mutex_);
  // Beside roots_, by name.
  std::vector<RegisteredRoot> registered_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln::daemon
