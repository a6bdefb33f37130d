// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tells kilnd that sources have changed on disk. It says where, not what: who
// is told compares the files that it knows. What kilnd does then is not decided
// here; the bookkeeping of inotify is in folder_watches.h.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace kiln::daemon {

struct SourceWatchOptions {
  // A burst of changes ends when nothing has happened for so long. Shorter:
  // what belongs together is reported apart. Longer: a later reload.
  std::chrono::milliseconds quiet{50};
  // But this long after its first change at the latest. A burst lasts as long,
  // too, while a file is known to be open for writing. At least `quiet`.
  std::chrono::milliseconds longest_wait{300};
  // How often to report when the kernel does not tell.
  std::chrono::milliseconds poll{1000};
  // Changed paths of one burst; more become `everything`.
  size_t max_paths = 256;
  // Folders watched; beyond them it polls. A watch costs the kernel about a
  // kilobyte, and the user's other programs need some. 0: always polls.
  size_t watch_limit = 65536;
  // How long the io thread reads folders before others have their turn. A
  // larger tree takes more turns and is reported as changed after the last.
  std::chrono::milliseconds slice{5};
};

// One burst.
struct SourceChange {
  // Anything may have changed: events were lost, or it polls, or there were too
  // many. `paths` is empty then.
  bool everything = false;
  // Files and folders that came, went, were written or got other permissions,
  // sorted, each spelled as a watched folder and what follows. A folder, or a
  // link to one, stands for all that is below it; a watched folder is listed
  // itself when it came, went or was replaced. What exists no longer is listed
  // too, as an editor's temporary file.
  std::vector<std::filesystem::path> paths;
};

struct SourceWatchCounters {
  uint64_t events = 0;           // from the kernel
  uint64_t bursts = 0;           // reported, without polls
  uint64_t polls = 0;            // reported because the kernel does not tell
  uint64_t overflows = 0;        // of the kernel's queue
  uint64_t folders_listed = 0;   // read for their subfolders
  uint64_t folders_refused = 0;  // not readable, so not watched
  size_t folders = 0;            // watched now
  bool polling = false;
};

// Watches folders and what is below them, except for subfolders named
// node_modules or with a leading dot, and files that only editors care about.
// Links below a watched folder are not followed: one that comes, goes or is
// switched is reported, what lies behind it only if it is in a watched folder
// itself. The watched folders themselves may be, or be reached through, links,
// be replaced, and be missing.
//
// The kernel does not tell of what another machine changes on a shared disk.
//
// Confined to the io thread. May be destroyed at any time, also in `on_change`.
class SourceWatcher {
 public:
  // May call Watch and Stop.
  using OnChange = std::function<void(const SourceChange&)>;

  SourceWatcher(boost::asio::io_context& io, SourceWatchOptions options,
                OnChange on_change);
  SourceWatcher(const SourceWatcher&) = delete;  // has descriptors
  SourceWatcher& operator=(const SourceWatcher&) = delete;
  ~SourceWatcher();

  // Watches `folders` in place of the earlier ones; those that stay are not
  // read again. What changes once this has returned is reported: large trees
  // are read in slices, and then everything is reported as changed at the end.
  // Blocks: disk, for about a slice.
  void Watch(std::vector<std::filesystem::path> folders);

  // Ends all watching, for good. `on_change` is not called any more.
  void Stop();

  SourceWatchCounters counters() const;

 private:
  class State;

  std::shared_ptr<State> state_;  // shared with what waits in the io_context
};

}  // namespace kiln::daemon
