// SPDX-License-Identifier: Apache-2.0
#pragma once

// One pass over the search roots: what they hold now. Each file is looked at
// once in a pass, however many shaders include it, so that all of them see the
// same one; the next pass looks again. Roots are opened anew, so a folder that
// came, went or was replaced is noticed.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "shaders/sources/root_file.h"
#include "shaders/sources/search_roots.h"
#include "shaders/sources/source_cache.h"

namespace kiln::sources {

// Thread-compatible. Lifetime: the cache must outlive it.
class RootView {
 public:
  RootView(const SearchRoots& roots, SourceCache& cache);

  const SearchRoots& roots() const { return roots_; }

  // The file with this id (include_paths.h), prepared.
  // Errors: those of SourceCache::Load, naming the id; NotFound, without it, is
  // no error to whoever searches, and also for a root without a folder.
  // Blocks: disk, on the first call for an id.
  const absl::StatusOr<SharedSource>& Load(const std::string& id,
                                           Language language);

  // True for a regular file; reads nothing. Blocks: disk.
  bool HasFile(const std::string& id);

 private:
  const absl::StatusOr<RootFolder>& FolderOfRoot(std::string_view name);
  absl::StatusOr<SharedSource> LoadNow(const std::string& id,
                                       Language language);

  const SearchRoots roots_;
  SourceCache& cache_;
  std::map<std::string, absl::StatusOr<RootFolder>, std::less<>> folders_;
  std::unordered_map<std::string, absl::StatusOr<SharedSource>> texts_;
  std::unordered_map<std::string, absl::StatusOr<SharedSource>> modules_;
};

}  // namespace kiln::sources
