// SPDX-License-Identifier: Apache-2.0
#include "daemon/path_trail.h"

#include <sys/stat.h>

#include <deque>
#include <system_error>

namespace kiln::daemon {
namespace {

// As many as the kernel follows in one path.
constexpr int kMaxLinks = 40;

// The names of `path`, put in front of those that are still to come.
void PutInFront(const std::filesystem::path& path,
                std::deque<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::filesystem::path& part : path.relative_path()) {
    if (!part.empty() && part != ".") {
      parts.push_back(part.string());
    }
  }
  names.insert(names.begin(), parts.begin(), parts.end());
}

std::string ParentOf(const std::string& folder) {
  const size_t slash = folder.rfind('/');
  return slash == 0 ? "/" : folder.substr(0, slash);
}

}  // namespace

std::string JoinPath(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

bool IsInside(const std::string& path, const std::string& folder) {
  return path.starts_with(folder) &&
         (path.size() == folder.size() || folder.ends_with('/') ||
          path[folder.size()] == '/');
}

PathTrail FollowPath(const std::filesystem::path& path) {
  PathTrail trail;
  std::string folder = "/";
  std::deque<std::string> names;
  PutInFront(path, names);
  int links = 0;
  while (!names.empty()) {
    const std::string name = std::move(names.front());
    names.pop_front();
    if (name == "..") {
      folder = ParentOf(folder);
      continue;
    }
    trail.steps.push_back({folder, name});
    const std::string next = JoinPath(folder, name);

    struct stat info {};

    if (lstat(next.c_str(), &info) != 0) {
      return trail;
    }
    if (S_ISLNK(info.st_mode)) {
      std::error_code error;
      const std::filesystem::path to =
          std::filesystem::read_symlink(next, error);
      if (error || ++links > kMaxLinks) {
        return trail;
      }
      if (to.is_absolute()) {
        folder = "/";
      }
      PutInFront(to, names);
    } else if (S_ISDIR(info.st_mode)) {
      folder = next;
    } else {
      return trail;
    }
  }
  trail.folder = folder;
  return trail;
}

}  // namespace kiln::daemon
