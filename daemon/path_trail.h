// SPDX-License-Identifier: Apache-2.0
#pragma once

// The places that decide what a path means. A search root is often reached
// through a link that is switched (`current -> v2`), or does not exist yet; it
// changes when one name in one of these folders does. Watching them is
// folder_watches.h's business.

#include <filesystem>
#include <string>
#include <vector>

namespace kiln::daemon {

// How the kernel gets from "/" to a folder.
struct PathTrail {
  // A name that is looked up on the way, in a folder that is no link and is
  // reached through none.
  struct Step {
    std::string folder;
    std::string name;

    friend auto operator<=>(const Step&, const Step&) = default;
  };

  // In order. Ends early, with the name that is missing, for a path that leads
  // nowhere: that name's coming is what to wait for.
  std::vector<Step> steps;
  // Where the path leads, free of links; empty when there is no folder.
  std::string folder;

  friend bool operator==(const PathTrail&, const PathTrail&) = default;
};

// Follows `path`, which is absolute. Blocks: an lstat a step.
PathTrail FollowPath(const std::filesystem::path& path);

// `name` in `folder`.
std::string JoinPath(const std::string& folder, const std::string& name);

// Whether `path` is `folder` or below it, by their spelling.
bool IsInside(const std::string& path, const std::string& folder);

}  // namespace kiln::daemon
