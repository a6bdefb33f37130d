// SPDX-License-Identifier: Apache-2.0
#pragma once

// The search roots: named folders with shader sources, in order (SPEC section
// 3). A name that two of them hold means the file of the first; the other one
// keeps its full virtual path, "/<root>/<path in root>". How names are searched
// is in include_paths.h, how files are read in root_file.h.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace kiln::sources {

struct SearchRoot {
  // A part of a path: not empty, no '/', neither "." nor "..", printable UTF-8
  // of at most kRootNameBytes bytes.
  std::string name;
  std::string folder;  // absolute, without a '/' at the end

  friend bool operator==(const SearchRoot&, const SearchRoot&) = default;
};

inline constexpr size_t kRootNameBytes = 64;

// An ordered list of roots. A folder that does not exist is skipped in every
// search until it does. Thread-compatible value.
class SearchRoots {
 public:
  // Adds a root before the one at `position`; absent: at the end.
  // Errors: AlreadyExists for a name or folder that another root has (folders
  // are compared after symbolic links, where they exist); InvalidArgument for a
  // name that is none, a folder that is relative or the whole file system, or a
  // position past the end; ResourceExhausted past limits::kSearchRoots.
  // Blocks: disk.
  absl::Status Add(std::string_view name, std::string_view folder,
                   std::optional<size_t> position = std::nullopt);

  // Errors: NotFound, naming the roots there are.
  absl::Status Remove(std::string_view name);

  const std::vector<SearchRoot>& roots() const { return roots_; }

  // Returns: the root or nullptr. Lifetime: until the next change.
  const SearchRoot* Find(std::string_view name) const;

  // In order.
  std::vector<std::string> Names() const;

  friend bool operator==(const SearchRoots&, const SearchRoots&) = default;

 private:
  std::vector<SearchRoot> roots_;
};

}  // namespace kiln::sources
