// SPDX-License-Identifier: Apache-2.0
#include "daemon/source_tree.h"

#include <sys/inotify.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include <spdlog/spdlog.h>

#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::daemon {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Added = FolderWatches::Added;

// How often a trail is followed again because it changed meanwhile.
constexpr int kTrailRounds = 4;

// The folder itself went, in whatever way.
constexpr uint32_t kSelfGone =
    IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;

bool IsSkippedFolder(std::string_view name) {
  return name.starts_with('.') || name == "node_modules";
}

// Locks, swap files, backups and trial files of vim and Emacs.
bool IsEditorsOwn(std::string_view name) {
  return name.ends_with('~') || name.ends_with(".swp") ||
         name.ends_with(".swo") || name.ends_with(".swx") ||
         name.starts_with(".#") || name == "4913" ||
         (name.size() > 1 && name.starts_with('#') && name.ends_with('#'));
}

// Whether whoever made the file at `path` is likely to be writing it: not if it
// is a link of either kind, which is born complete.
bool IsBeingWritten(const std::string& path) {
  struct stat info {};

  return lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         info.st_nlink == 1;
}

absl::Status NoWatchLeft() {
  return absl::ResourceExhaustedError(
      "more folders than may be watched; raise "
      "/proc/sys/fs/inotify/max_user_watches");
}

}  // namespace

bool SourceTree::SetRoots(std::vector<fs::path> folders) {
  std::vector<Root> roots;
  size_t kept = 0;
  for (fs::path& folder : folders) {
    auto is_it = [&](const Root& root) { return root.given == folder; };
    if (std::any_of(roots.begin(), roots.end(), is_it)) {
      continue;
    }
    auto known = std::find_if(roots_.begin(), roots_.end(), is_it);
    if (known != roots_.end()) {
      roots.push_back(*known);
      ++kept;
      continue;
    }
    Root root;
    std::error_code error;
    root.absolute = fs::absolute(folder, error);
    root.given = std::move(folder);
    roots.push_back(std::move(root));
  }
  const bool is_new = kept != roots.size() || kept != roots_.size();
  const bool is_less = kept != roots_.size();
  roots_ = std::move(roots);
  if (is_less) {
    DropUnwanted();
  }
  return is_new;
}

absl::Status SourceTree::Open() {
  Close();
  for (Root& root : roots_) {
    root.folder.clear();
    root.watch = -1;
    root.is_followed = false;
  }
  KILN_RETURN_IF_ERROR(watches_.Open());
  return FollowRoots();
}

void SourceTree::Close() {
  watches_.Close();
  to_visit_.clear();
  roots_moved_ = false;
  unsure_ = false;
  has_gaps_ = false;
}

absl::Status SourceTree::FollowRoots() {
  roots_moved_ = false;
  std::vector<PathTrail> trails;
  KILN_RETURN_IF_ERROR(WatchTrails(trails));
  for (size_t i = 0; i < roots_.size(); ++i) {
    KILN_RETURN_IF_ERROR(CompareRoot(roots_[i], trails[i].folder));
  }
  return Walk();
}

// A trail that changes after it was followed and before it is watched would go
// unnoticed: so it is followed again.
absl::Status SourceTree::WatchTrails(std::vector<PathTrail>& trails) {
  auto follow_all = [this] {
    std::vector<PathTrail> followed;
    for (const Root& root : roots_) {
      followed.push_back(FollowPath(root.absolute));
    }
    return followed;
  };
  trails = follow_all();
  unsure_ = true;
  for (int round = 0; round < kTrailRounds && unsure_; ++round) {
    const Added added = watches_.SetTrails(trails);
    if (added == Added::kFull) {
      return NoWatchLeft();
    }
    std::vector<PathTrail> again = follow_all();
    unsure_ = added != Added::kKnown || again != trails;
    trails = std::move(again);
  }
  return absl::OkStatus();
}

// Notices that `root` leads elsewhere now, or to another folder of that name.
absl::Status SourceTree::CompareRoot(Root& root, const std::string& folder) {
  const std::string folder_before = std::exchange(root.folder, folder);
  if (!folder.empty()) {
    KILN_RETURN_IF_ERROR(Visit(folder));
  }
  const int watch_before = std::exchange(root.watch, watches_.WatchOf(folder));
  if (!std::exchange(root.is_followed, true) ||
      (folder == folder_before && root.watch == watch_before)) {
    return absl::OkStatus();
  }
  burst_.Add(root.given);
  DropUnwanted();
  return absl::OkStatus();
}

// Whether `root` holds `folder` with no skipped folder on the way.
bool SourceTree::IsWatchedBelow(const Root& root, const std::string& folder) {
  if (root.folder.empty() || !IsInside(folder, root.folder)) {
    return false;
  }
  const fs::path rest = folder.substr(root.folder.size());
  return std::none_of(rest.begin(), rest.end(), [](const fs::path& part) {
    return IsSkippedFolder(part.native());
  });
}

bool SourceTree::IsWanted(const std::string& folder) const {
  return std::any_of(roots_.begin(), roots_.end(), [&](const Root& root) {
    return IsWatchedBelow(root, folder);
  });
}

void SourceTree::DropUnwanted() {
  watches_.DropUnless(
      [this](const std::string& folder) { return IsWanted(folder); });
}

absl::Status SourceTree::Walk() {
  const Clock::time_point end = Clock::now() + slice_;
  while (!to_visit_.empty()) {
    const std::string folder = std::move(to_visit_.back());
    to_visit_.pop_back();
    KILN_RETURN_IF_ERROR(Visit(folder));
    if (Clock::now() >= end) {
      break;
    }
  }
  return absl::OkStatus();
}

// Brings what is watched at `folder` up to date with what is there.
absl::Status SourceTree::Visit(const std::string& folder) {
  if (!IsWanted(folder)) {
    return absl::OkStatus();
  }
  switch (watches_.Add(folder)) {
    case Added::kNew:
      ListSubfolders(folder);
      break;
    case Added::kKnown:
      break;
    case Added::kGone:
      watches_.Drop(folder);
      break;
    case Added::kRefused:
      watches_.Drop(folder);
      ++counters_.folders_refused;
      if (!std::exchange(warned_of_refusal_, true)) {
        spdlog::warn(
            "source folder not watched path=\"{}\" reason=\"it cannot "
            "be read\"",
            ToValidUtf8(folder));
      }
      break;
    case Added::kFull:
      return NoWatchLeft();
  }
  return absl::OkStatus();
}

// The folder is watched by now: whatever comes later has its own event.
void SourceTree::ListSubfolders(const std::string& folder) {
  ++counters_.folders_listed;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code gone;  // both know from the listing, as a rule
    if (!IsSkippedFolder(at->path().filename().native()) &&
        !at->is_symlink(gone) && at->is_directory(gone)) {
      to_visit_.push_back(at->path().string());
    }
  }
}

absl::StatusOr<bool> SourceTree::TakeEvents() {
  if (!watches_.Read([this](const FolderEvent& event) { OnEvent(event); })) {
    return false;
  }
  KILN_RETURN_IF_ERROR(roots_moved_ ? FollowRoots() : Walk());
  return true;
}

void SourceTree::OnEvent(const FolderEvent& event) {
  ++counters_.events;
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    ++counters_.overflows;
    has_gaps_ = true;
    burst_.AddEverything();
    return;
  }
  roots_moved_ |= event.on_trail;
  for (const std::string& folder : event.folders) {
    if (!event.name.empty()) {
      OnEntry(JoinPath(folder, std::string(event.name)), event.name,
              event.mask);
    } else if ((event.mask & kSelfGone) != 0) {
      roots_moved_ |=
          std::any_of(roots_.begin(), roots_.end(),
                      [&](const Root& root) { return root.folder == folder; });
    }
  }
}

void SourceTree::OnEntry(const std::string& path, std::string_view name,
                         uint32_t mask) {
  if ((mask & IN_ISDIR) != 0) {
    if (!IsSkippedFolder(name)) {
      to_visit_.push_back(path);
      Report(path);
    }
    return;
  }
  if (IsEditorsOwn(name)) {
    return;
  }
  if ((mask & IN_MODIFY) != 0 ||
      ((mask & IN_CREATE) != 0 && IsBeingWritten(path))) {
    burst_.SetBeingWritten(path, true);
  } else if ((mask & IN_ATTRIB) == 0) {
    burst_.SetBeingWritten(path, false);
  }
  Report(path);
}

// Adds `path` to the burst, as each root that holds it spells it.
void SourceTree::Report(const std::string& path) {
  for (const Root& root : roots_) {
    if (root.folder.empty() || !IsInside(path, root.folder)) {
      continue;
    }
    const fs::path rest =
        fs::path(path.substr(root.folder.size())).relative_path();
    burst_.Add(rest.empty() ? root.given : root.given / rest);
  }
}

}  // namespace kiln::daemon
