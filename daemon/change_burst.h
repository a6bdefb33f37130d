// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which changes on disk belong together. A save is several: an editor makes a
// file, writes it, closes it and renames it over the old one. Knows neither
// inotify nor timers; see source_watcher.h for them.

#include <chrono>
#include <filesystem>
#include <set>
#include <string>

#include "daemon/source_watcher.h"

namespace kiln::daemon {

// The changes since the last Take. Thread-compatible. `now` never goes back.
class ChangeBurst {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ChangeBurst(const SourceWatchOptions& options) : options_(options) {}

  // Starts the burst or prolongs it.
  void Add(std::filesystem::path path, Clock::time_point now = Clock::now());
  void AddEverything(Clock::time_point now = Clock::now());

  // A file of this burst is open for writing, or no longer. While one is, the
  // burst goes on: half a file is no change yet.
  void SetBeingWritten(const std::string& file, bool being_written);

  bool started() const { return started_; }

  // When it is over, unless something is added before.
  // Requires: started().
  Clock::time_point end() const;

  // Returns: the burst; the next one has not started then.
  SourceChange Take();

 private:
  void Prolong(Clock::time_point now);

  const SourceWatchOptions options_;
  bool started_ = false;
  bool everything_ = false;
  Clock::time_point first_;
  Clock::time_point last_;
  std::set<std::filesystem::path> paths_;
  std::set<std::string> being_written_;
};

}  // namespace kiln::daemon
