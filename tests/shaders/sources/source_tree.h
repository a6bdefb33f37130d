// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folders with sources, and a cache of them, for the tests of this folder.

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "shaders/sources/search_roots.h"
#include "shaders/sources/source_cache.h"
#include "shaders/sources/source_set.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::sources {

// Roots "engine", "plugin" and "project", in this order, in folders of these
// names that exist. The cache's clock runs an hour ahead, so that what was just
// written is trusted at once; every write has a time of its own instead.
class SourceTree {
 public:
  explicit SourceTree(std::vector<std::string> names = {"engine", "plugin",
                                                        "project"})
      : cache(Ahead()) {
    for (const std::string& name : names) {
      std::filesystem::create_directories(folder / name);
      EXPECT_OK(roots.Add(name, (folder / name).string()));
    }
  }

  // `id` is "<folder>/<path>".
  void Write(const std::string& id, std::string_view text) {
    const std::filesystem::path path = folder / id;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
    Touch(id);
  }

  // Gives the file a modification time that no file had before.
  void Touch(const std::string& id) {
    const timespec time{1'600'000'000 + ++writes_, 123'456'789};
    const timespec times[] = {time, time};
    EXPECT_EQ(utimensat(AT_FDCWD, (folder / id).c_str(), times, 0), 0) << id;
  }

  void Remove(const std::string& id) {
    EXPECT_TRUE(std::filesystem::remove(folder / id)) << id;
  }

  absl::StatusOr<SourceSet> Resolve(const std::string& entry) {
    const SourceEntry entries[] = {{entry, LanguageOfPath(entry)}};
    return ResolveSources(roots, cache, entries);
  }

  bool Current(const SourceSet& set) { return IsCurrent(set, roots, cache); }

  // What happened to the counters since the last call.
  SourceCache::Counters Counted() {
    const SourceCache::Counters now = cache.counters();
    const SourceCache::Counters before = std::exchange(counted_, now);
    return {now.stats - before.stats, now.reads - before.reads};
  }

  testing::TempDir folder;
  SearchRoots roots;
  SourceCache cache;

 private:
  static SourceCacheOptions Ahead() {
    SourceCacheOptions options;
    options.now = [] {
      return std::chrono::system_clock::now().time_since_epoch() +
             std::chrono::hours(1);
    };
    return options;
  }

  int writes_ = 0;
  SourceCache::Counters counted_;
};

// The ids of the files of `set`.
inline std::vector<std::string> FilesOf(const SourceSet& set) {
  std::vector<std::string> paths;
  for (const SourceSet::File& file : set.files) {
    paths.push_back(file.path);
  }
  return paths;
}

// What the include `name` of the file `from` says, or "no edge".
inline std::string ProblemOf(const SourceSet& set, std::string_view from,
                             std::string_view name) {
  for (const IncludeEdge& edge : set.includes) {
    if (edge.from == from && edge.name == name) {
      return edge.problem;
    }
  }
  return "no edge";
}

// The id that the include `name` of the file `from` opens, or "".
inline std::string OpenedBy(const SourceSet& set, std::string_view from,
                            std::string_view name) {
  for (const IncludeEdge& edge : set.includes) {
    if (edge.from == from && edge.name == name) {
      return edge.path;
    }
  }
  return "";
}

}  // namespace kiln::sources
