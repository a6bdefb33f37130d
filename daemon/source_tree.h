// SPDX-License-Identifier: Apache-2.0
#pragma once

// Keeps the watches of inotify in step with the folders there are, and says
// what an event means for them. Internal to source_watcher.cc, which waits and
// reports.

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/change_burst.h"
#include "daemon/folder_watches.h"
#include "daemon/path_trail.h"
#include "daemon/source_watcher.h"

namespace kiln::daemon {

// Folders and all that is to be watched below them (source_watcher.h).
//
// Everything fallible fails with ResourceExhausted, naming the limit to raise;
// call Close then.
//
// Thread-compatible. Requires: `burst` and `counters` outlive it.
class SourceTree {
 public:
  SourceTree(const SourceWatchOptions& options, ChangeBurst& burst,
             SourceWatchCounters& counters)
      : slice_(options.slice),
        burst_(burst),
        counters_(counters),
        watches_(options.watch_limit) {}

  // What to watch, in place of what was watched.
  // Returns: whether that is anything else. Follow with Open or FollowRoots.
  bool SetRoots(std::vector<std::filesystem::path> folders);

  bool has_roots() const { return !roots_.empty(); }

  // Watches the roots from scratch; reports nothing.
  absl::Status Open();

  // Watches nothing. The roots stay.
  void Close();

  bool is_open() const { return watches_.is_open(); }

  int descriptor() const { return watches_.descriptor(); }

  // Looks where the roots lead now, watches that, and reports those that led
  // elsewhere before. Blocks: disk; a slice (see Walk).
  absl::Status FollowRoots();

  // Part of the way to a root is not watched: FollowRoots is to be called now
  // and then.
  bool is_unsure() const { return unsure_; }

  // Reads folders that are new, for a slice. What changed in a folder while it
  // waited for its slice is unknown.
  // Blocks: disk.
  absl::Status Walk();

  // There is more to walk.
  bool is_behind() const { return !to_visit_.empty(); }

  // Takes some events from the kernel's queue. Blocks: disk; a slice.
  // Returns: false when there was none.
  absl::StatusOr<bool> TakeEvents();

  // Events were lost: Open is to be called before the burst is reported.
  bool has_gaps() const { return has_gaps_; }

  size_t size() const { return watches_.size(); }

 private:
  // A folder that SetRoots was given.
  struct Root {
    std::filesystem::path given;
    std::filesystem::path absolute;
    std::string folder;  // where it leads; empty when it is missing
    int watch = -1;
    bool is_followed = false;
  };

  static bool IsWatchedBelow(const Root& root, const std::string& folder);
  bool IsWanted(const std::string& folder) const;
  void DropUnwanted();

  absl::Status WatchTrails(std::vector<PathTrail>& trails);
  absl::Status CompareRoot(Root& root, const std::string& folder);
  absl::Status Visit(const std::string& folder);
  void ListSubfolders(const std::string& folder);

  void OnEvent(const FolderEvent& event);
  void OnEntry(const std::string& path, std::string_view name, uint32_t mask);
  void Report(const std::string& path);

  const std::chrono::milliseconds slice_;
  ChangeBurst& burst_;
  SourceWatchCounters& counters_;
  std::vector<Root> roots_;
  FolderWatches watches_;
  std::vector<std::string> to_visit_;
  bool roots_moved_ = false;
  bool unsure_ = false;
  bool has_gaps_ = false;
  bool warned_of_refusal_ = false;
};

}  // namespace kiln::daemon
