// SPDX-License-Identifier: Apache-2.0
#pragma once

// An inotify descriptor, and which folder each of its watches stands for. The
// kernel watches inodes, not paths: a folder that is moved keeps its watch and
// would go on to report under its old path, and one folder can be reached by
// two paths. What is to be watched, and what an event means, is
// source_watcher.h's business.

#include <sys/inotify.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "daemon/path_trail.h"
#include "daemon/unique_fd.h"

namespace kiln::daemon {

// Something happened to `name` in a folder, or, if `name` is empty, to the
// folder itself. Valid during the call it is passed to.
struct FolderEvent {
  uint32_t mask = 0;  // IN_*; IN_Q_OVERFLOW: events were lost, which is all
  std::string_view name;
  // The folder, by each path it was added by; none for a mere step of a trail.
  const std::vector<std::string>& folders;
  // It can change where a trail leads.
  bool on_trail = false;
};

// Thread-compatible.
class FolderWatches {
 public:
  // kNew: its subfolders are still to be added. kGone: no such folder any more.
  // kRefused: not readable, or an odd file system. kFull: no watch is left.
  enum class Added { kNew, kKnown, kGone, kRefused, kFull };

  // At most `limit` folders, steps of trails included.
  explicit FolderWatches(size_t limit) : limit_(limit) {}

  // Starts with no watch at all. The descriptor is close-on-exec and does not
  // block.
  // Errors: ResourceExhausted saying which limit to raise.
  absl::Status Open();
  void Close();

  bool is_open() const { return fd_.is_open(); }

  int descriptor() const { return fd_.get(); }

  // Watches the entries of `folder`, a path free of links, but not those of its
  // subfolders. If another folder was added by this path before, that one and
  // all below it are dropped. When it fails nothing is: see Drop.
  Added Add(const std::string& folder);

  // Forgets `folder` and everything below it.
  void Drop(const std::string& folder);

  // Forgets every added folder for which `wanted` is false.
  void DropUnless(const std::function<bool(const std::string&)>& wanted);

  // Watches the steps of `trails` in place of all earlier ones.
  // Returns: kKnown; else the worst that befell a step.
  Added SetTrails(const std::vector<PathTrail>& trails);

  // Identifies the watch of an added folder: two folders that are at one path
  // one after the other have different ones. Returns: -1 if it has none.
  int WatchOf(const std::string& folder) const;

  // Added folders, each path counted.
  size_t size() const { return folders_.size(); }

  // Calls `on_event` for a few kilobytes of what has happened; it must change
  // nothing here.
  // Returns: false when there was nothing.
  bool Read(const std::function<void(const FolderEvent&)>& on_event);

 private:
  struct Watch {
    std::vector<std::string> folders;
    std::vector<std::string> names;  // steps of trails
  };

  Added AddWatch(const std::string& folder, uint32_t mask, int& watch);
  void Detach(const std::string& folder, int watch);
  void Deliver(const inotify_event& event,
               const std::function<void(const FolderEvent&)>& on_event);

  const size_t limit_;
  UniqueFd fd_;
  std::unordered_map<int, Watch> watches_;
  std::map<std::string, int> folders_;
};

}  // namespace kiln::daemon
