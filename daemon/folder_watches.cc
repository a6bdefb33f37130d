// SPDX-License-Identifier: Apache-2.0
#include "daemon/folder_watches.h"

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace kiln::daemon {
namespace {

// Never the target of a link, and no news of files that are unlinked already.
constexpr uint32_t kHow =
    IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK | IN_MASK_ADD;

// What can change where a trail leads; it leaves out writes, since a trail may
// pass through folders as busy as /tmp.
constexpr uint32_t kStepEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM |
                                 IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF |
                                 IN_MOVE_SELF;
constexpr uint32_t kFolderEvents = kStepEvents | IN_MODIFY | IN_CLOSE_WRITE;

// At least one event with the longest name there is.
constexpr size_t kReadBytes = 16384;
static_assert(kReadBytes >= sizeof(inotify_event) + NAME_MAX + 1);

}  // namespace

absl::Status FolderWatches::Open() {
  Close();
  fd_ = UniqueFd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (fd_.is_open()) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(fmt::format(
      "no inotify descriptor: {}; raise the limit of open files, or "
      "/proc/sys/fs/inotify/max_user_instances beside "
      "/proc/sys/fs/inotify/max_user_watches",
      strerror(errno)));
}

void FolderWatches::Close() {
  fd_.reset();
  watches_.clear();
  folders_.clear();
}

FolderWatches::Added FolderWatches::AddWatch(const std::string& folder,
                                             uint32_t mask, int& watch) {
  watch = inotify_add_watch(fd_.get(), folder.c_str(), kHow | mask);
  if (watch >= 0) {
    if (!watches_.contains(watch) && watches_.size() >= limit_) {
      inotify_rm_watch(fd_.get(), watch);
      return Added::kFull;
    }
    return watches_.try_emplace(watch).second ? Added::kNew : Added::kKnown;
  }
  switch (errno) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
      return Added::kGone;
    case ENOSPC:
    case ENOMEM:
      return Added::kFull;
    default:
      return Added::kRefused;
  }
}

FolderWatches::Added FolderWatches::Add(const std::string& folder) {
  int watch = -1;
  const Added added = AddWatch(folder, kFolderEvents, watch);
  if (watch < 0 || added == Added::kFull) {
    return added;
  }
  if (const int before = WatchOf(folder); before == watch) {
    return Added::kKnown;
  } else if (before >= 0) {
    Drop(folder);
  }
  folders_[folder] = watch;
  watches_[watch].folders.push_back(folder);
  return Added::kNew;
}

void FolderWatches::Drop(const std::string& folder) {
  auto drop = [this](auto at) {
    Detach(at->first, at->second);
    return folders_.erase(at);
  };
  if (auto at = folders_.find(folder); at != folders_.end()) {
    drop(at);
  }
  const std::string below = JoinPath(folder, "");
  for (auto at = folders_.lower_bound(below);
       at != folders_.end() && at->first.starts_with(below);) {
    at = drop(at);
  }
}

void FolderWatches::DropUnless(
    const std::function<bool(const std::string&)>& wanted) {
  for (auto at = folders_.begin(); at != folders_.end();) {
    if (wanted(at->first)) {
      ++at;
    } else {
      Detach(at->first, at->second);
      at = folders_.erase(at);
    }
  }
}

// Its watch no longer stands for `folder`, and goes if it stands for nothing.
void FolderWatches::Detach(const std::string& folder, int watch) {
  auto at = watches_.find(watch);
  if (at == watches_.end()) {
    return;
  }
  std::erase(at->second.folders, folder);
  if (at->second.folders.empty() && at->second.names.empty()) {
    watches_.erase(at);
    inotify_rm_watch(fd_.get(), watch);  // fails for a folder that is deleted
  }
}

FolderWatches::Added FolderWatches::SetTrails(
    const std::vector<PathTrail>& trails) {
  Added worst = Added::kKnown;
  std::unordered_map<int, std::vector<std::string>> names;
  for (const PathTrail& trail : trails) {
    for (const PathTrail::Step& step : trail.steps) {
      int watch = -1;
      const Added added = AddWatch(step.folder, kStepEvents, watch);
      if (added == Added::kFull) {
        return added;
      }
      if (watch < 0) {
        worst = std::max(worst, added);
        continue;
      }
      names[watch].push_back(step.name);
    }
  }
  for (auto at = watches_.begin(); at != watches_.end();) {
    auto found = names.find(at->first);
    at->second.names = found == names.end() ? std::vector<std::string>()
                                            : std::move(found->second);
    if (at->second.folders.empty() && at->second.names.empty()) {
      inotify_rm_watch(fd_.get(), at->first);
      at = watches_.erase(at);
    } else {
      ++at;
    }
  }
  return worst;
}

int FolderWatches::WatchOf(const std::string& folder) const {
  auto at = folders_.find(folder);
  return at == folders_.end() ? -1 : at->second;
}

bool FolderWatches::Read(
    const std::function<void(const FolderEvent&)>& on_event) {
  alignas(inotify_event) std::array<char, kReadBytes> buffer;
  ssize_t size = -1;
  do {
    size = read(fd_.get(), buffer.data(), buffer.size());
  } while (size < 0 && errno == EINTR);
  if (size <= 0) {
    return false;
  }
  for (ssize_t at = 0; at < size;) {
    const auto* event =
        reinterpret_cast<const inotify_event*>(buffer.data() + at);
    Deliver(*event, on_event);
    at += static_cast<ssize_t>(sizeof(inotify_event)) + event->len;
  }
  return true;
}

void FolderWatches::Deliver(
    const inotify_event& event,
    const std::function<void(const FolderEvent&)>& on_event) {
  static const std::vector<std::string> kNone;
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    on_event({event.mask, {}, kNone, false});
    return;
  }
  auto at = watches_.find(event.wd);
  if (at == watches_.end()) {
    return;  // left in the queue by a watch that is gone
  }
  const Watch& watch = at->second;
  // The kernel pads names with NULs.
  const std::string_view name =
      event.len == 0 ? std::string_view() : std::string_view(event.name);
  const bool on_trail =
      !watch.names.empty() &&
      (event.mask & (IN_MODIFY | IN_CLOSE_WRITE)) == 0 &&
      (name.empty() || std::find(watch.names.begin(), watch.names.end(),
                                 name) != watch.names.end());
  on_event({event.mask, name, watch.folders, on_trail});
  if ((event.mask & IN_IGNORED) != 0) {
    for (const std::string& folder : watch.folders) {
      folders_.erase(folder);
    }
    watches_.erase(at);
  }
}

}  // namespace kiln::daemon
