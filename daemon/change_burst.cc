// SPDX-License-Identifier: Apache-2.0
#include "daemon/change_burst.h"

#include <algorithm>
#include <utility>

namespace kiln::daemon {

void ChangeBurst::Add(std::filesystem::path path, Clock::time_point now) {
  Prolong(now);
  if (everything_) {
    return;
  }
  paths_.insert(std::move(path));
  if (paths_.size() > options_.max_paths) {
    AddEverything(now);
  }
}

void ChangeBurst::AddEverything(Clock::time_point now) {
  Prolong(now);
  everything_ = true;
  paths_.clear();
}

void ChangeBurst::SetBeingWritten(const std::string& file, bool being_written) {
  if (!being_written) {
    being_written_.erase(file);
  } else if (being_written_.size() < options_.max_paths) {
    being_written_.insert(file);
  }
}

ChangeBurst::Clock::time_point ChangeBurst::end() const {
  const Clock::time_point latest = first_ + options_.longest_wait;
  return being_written_.empty() ? std::min(last_ + options_.quiet, latest)
                                : latest;
}

SourceChange ChangeBurst::Take() {
  SourceChange change;
  change.everything = std::exchange(everything_, false);
  change.paths.assign(paths_.begin(), paths_.end());
  paths_.clear();
  being_written_.clear();
  started_ = false;
  return change;
}

void ChangeBurst::Prolong(Clock::time_point now) {
  last_ = now;
  if (!std::exchange(started_, true)) {
    first_ = now;
  }
}

}  // namespace kiln::daemon
