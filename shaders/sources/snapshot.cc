// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/snapshot.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/sources/source_hash.h"

namespace kiln::sources {

absl::StatusOr<Program> MakeSnapshot(const Program& recipe,
                                     const SourceSet& set) {
  if (!recipe.rooted) {
    return absl::InvalidArgumentError(
        fmt::format("program {} is no recipe", Shorten(recipe.name, 100)));
  }
  Program snapshot = recipe;
  snapshot.rooted = false;
  snapshot.derivation.clear();
  for (StageSource& stage : snapshot.stages) {
    const SourceEntry wanted{stage.path, stage.language};
    const auto entry =
        std::ranges::find(set.entries, wanted, &SourceSet::Entry::source);
    if (entry == set.entries.end()) {
      return absl::InvalidArgumentError(
          fmt::format("the source set has no '{}'", Shorten(stage.path, 200)));
    }
    stage.path = entry->path;
  }
  for (const SourceSet::File& file : set.files) {
    snapshot.files.push_back({file.path, file.source->text});
  }
  snapshot.includes = set.includes;

  std::set<std::string> reached;
  for (const StageSource& stage : snapshot.stages) {
    for (const SourceFile* file : ReachedBy(snapshot, stage).files) {
      reached.insert(file->path);
    }
  }
  std::erase_if(snapshot.files, [&](const SourceFile& file) {
    return !reached.contains(file.path);
  });
  std::erase_if(snapshot.includes, [&](const IncludeEdge& edge) {
    return !reached.contains(edge.from);
  });
  KILN_RETURN_IF_ERROR(snapshot.Validate());
  return snapshot;
}

}  // namespace kiln::sources
