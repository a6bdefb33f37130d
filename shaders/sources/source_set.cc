// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/source_set.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/sources/include_chain.h"
#include "shaders/sources/include_paths.h"
#include "shaders/sources/includer.h"

namespace kiln::sources {
namespace {

std::string MessageOf(const absl::Status& status) {
  return std::string(status.message());
}

// Not a property of the sources, so no part of a set.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status);
}

// Builds one set: breadth first, so that the chain to a file is the shortest.
class Resolver {
 public:
  explicit Resolver(RootView& view) : view_(view) {}

  absl::StatusOr<SourceSet> Run(std::span<const SourceEntry> entries) {
    for (const SourceEntry& entry : entries) {
      KILN_RETURN_IF_ERROR(AddEntry(entry));
    }
    while (!open_.empty()) {
      const std::string path = std::move(open_.front());
      open_.pop_front();
      KILN_RETURN_IF_ERROR(AddIncludesOf(path));
    }
    return Finish();
  }

 private:
  struct Node {
    SharedSource source;
    std::string includer;  // by which it was found first; empty: an entry
  };

  // The first of `candidates` that exists, loaded; `path` is its id.
  struct Found {
    std::string path;
    absl::StatusOr<SharedSource> source;
  };

  absl::Status AddEntry(const SourceEntry& entry) {
    const absl::StatusOr<std::vector<std::string>> candidates =
        EntryCandidates(view_.roots(), entry.name);
    if (!candidates.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("source {}: {}", QuoteName(entry.name),
                      MessageOf(candidates.status())));
    }
    const Found found = Search(*candidates, entry.language);
    if (found.path.empty()) {
      return absl::NotFoundError(
          candidates->empty()
              ? fmt::format("source {}: there are no search roots",
                            QuoteName(entry.name))
              : Shorten(fmt::format("source {} does not exist; looked for {}",
                                    QuoteName(entry.name),
                                    fmt::join(*candidates, ", ")),
                        limits::kStatusTextBytes));
    }
    if (!found.source.ok()) {
      return absl::Status(found.source.status().code(),
                          fmt::format("source {}: {}", QuoteName(entry.name),
                                      MessageOf(found.source.status())));
    }
    set_.entries.push_back({entry, found.path});
    NoteShadowed(*candidates, found.path);
    return AddFile(found.path, *found.source, "");
  }

  absl::Status AddIncludesOf(const std::string& path) {
    // Held here: the map may move while files are added.
    const SharedSource source = nodes_.at(path).source;
    std::set<std::pair<std::string_view, bool>> seen;
    for (const IncludeDirective& include : source->includes) {
      if (!seen.emplace(include.name, include.angled).second) {
        continue;
      }
      KILN_ASSIGN_OR_RETURN(IncludeEdge edge, Follow(path, include));
      edges_.insert(std::move(edge));
      if (edges_.size() > limits::kProgramIncludes) {
        return absl::InvalidArgumentError(
            fmt::format("more than {} includes: {}", limits::kProgramIncludes,
                        ChainTo(path)));
      }
    }
    return absl::OkStatus();
  }

  // What one directive of the file `from` opens; adds that file.
  absl::StatusOr<IncludeEdge> Follow(const std::string& from,
                                     const IncludeDirective& include) {
    IncludeEdge edge{from, EdgeName(include.name), include.angled, "", ""};
    if (include.computed) {
      edge.problem = "only a name in quotes or <> can be included, no macro";
      return edge;
    }
    const IncludeForm form =
        include.angled ? IncludeForm::kAngled : IncludeForm::kQuoted;
    const absl::StatusOr<std::vector<std::string>> candidates =
        IncludeCandidates(view_.roots(), from, include.name, form);
    if (!candidates.ok()) {
      edge.problem = MessageOf(candidates.status());
      return edge;
    }
    const Found found = Search(*candidates, Language::kGlsl);
    if (found.path.empty()) {
      // Without the places: a root that has no such file either changes
      // nothing.
      edge.problem = include.name.front() == '/' ? "no such file"
                     : include.angled
                         ? "no such file in a search root"
                         : "no such file beside it or in a search root";
      return edge;
    }
    if (!found.source.ok()) {
      if (MayPass(found.source.status())) {
        return found.source.status();
      }
      edge.problem = MessageOf(found.source.status());
      return edge;
    }
    edge.path = found.path;
    const bool beside =
        form == IncludeForm::kQuoted && found.path == candidates->front();
    if (!beside) {
      NoteShadowed(*candidates, found.path);
    }
    KILN_RETURN_IF_ERROR(AddFile(found.path, *found.source, from));
    return edge;
  }

  Found Search(const std::vector<std::string>& candidates, Language language) {
    for (const std::string& path : candidates) {
      const absl::StatusOr<SharedSource>& source = view_.Load(path, language);
      SourceSet::Watched& seen = looked_at_[{path, language}];
      if (absl::IsNotFound(source.status())) {
        continue;
      }
      if (source.ok()) {
        seen.digest = (*source)->digest;
      } else {
        seen.problem = MessageOf(source.status());
      }
      return {path, source};
    }
    return {"", absl::NotFoundError("")};
  }

  // Notes which of the candidates behind `winner` exist, too.
  void NoteShadowed(const std::vector<std::string>& candidates,
                    const std::string& winner) {
    if (shadowed_.contains(winner)) {
      return;
    }
    SourceSet::Shadowed& shadowed = shadowed_[winner];
    shadowed.name = SplitFileId(winner).path;
    shadowed.winner = winner;
    auto candidate = std::ranges::find(candidates, winner);
    while (++candidate != candidates.end()) {
      if (view_.HasFile(*candidate)) {
        shadowed.hidden.push_back(*candidate);
      }
    }
  }

  absl::Status AddFile(const std::string& path, const SharedSource& source,
                       const std::string& includer) {
    if (!nodes_.try_emplace(path, Node{source, includer}).second) {
      return absl::OkStatus();
    }
    open_.push_back(path);
    bytes_ += source->text.size();
    if (nodes_.size() > limits::kProgramFiles) {
      return absl::InvalidArgumentError(fmt::format(
          "more than {} files: {}", limits::kProgramFiles, ChainTo(path)));
    }
    if (bytes_ > limits::kProgramBytes) {
      return absl::InvalidArgumentError(
          fmt::format("the sources hold more than {} bytes: {}",
                      limits::kProgramBytes, ChainTo(path)));
    }
    return absl::OkStatus();
  }

  std::string ChainTo(std::string_view path) const {
    std::vector<std::string_view> chain;
    for (; !path.empty(); path = nodes_.at(std::string(path)).includer) {
      chain.push_back(path);
    }
    std::ranges::reverse(chain);
    return DescribeChain(std::move(chain));
  }

  SourceSet Finish() {
    set_.roots = view_.roots().Names();
    for (auto& [path, node] : nodes_) {
      set_.files.push_back({path, std::move(node.source)});
    }
    std::ranges::sort(set_.files, {}, &SourceSet::File::path);
    set_.includes.assign(edges_.begin(), edges_.end());
    for (auto& [place, seen] : looked_at_) {
      seen.path = place.first;
      seen.language = place.second;
      set_.looked_at.push_back(std::move(seen));
    }
    for (auto& [winner, shadowed] : shadowed_) {
      if (!shadowed.hidden.empty()) {
        set_.shadowed.push_back(std::move(shadowed));
      }
    }
    std::ranges::sort(set_.shadowed, {}, &SourceSet::Shadowed::name);
    return std::move(set_);
  }

  RootView& view_;
  SourceSet set_;
  std::unordered_map<std::string, Node> nodes_;  // by id
  std::deque<std::string> open_;  // ids whose includes are to be followed
  std::set<IncludeEdge> edges_;
  std::map<std::pair<std::string, Language>, SourceSet::Watched> looked_at_;
  std::map<std::string, SourceSet::Shadowed> shadowed_;  // by winner
  size_t bytes_ = 0;
};

bool IsUnchanged(const SourceSet::Watched& seen, RootView& view) {
  const absl::StatusOr<SharedSource>& now = view.Load(seen.path, seen.language);
  if (now.ok()) {
    return (*now)->digest == seen.digest;
  }
  const std::string problem =
      absl::IsNotFound(now.status()) ? "" : MessageOf(now.status());
  return seen.digest.is_none() && problem == seen.problem;
}

}  // namespace

std::vector<SourceEntry> EntriesOf(const Program& recipe) {
  std::vector<SourceEntry> entries;
  for (const StageSource& stage : recipe.stages) {
    entries.push_back({stage.path, stage.language});
  }
  return entries;
}

bool SourceSet::SameSources(const SourceSet& other) const {
  auto same_entry = [](const Entry& a, const Entry& b) {
    return a.source == b.source && a.path == b.path;
  };
  auto same_file = [](const File& a, const File& b) {
    return a.path == b.path && a.source->digest == b.source->digest;
  };
  return std::ranges::equal(entries, other.entries, same_entry) &&
         std::ranges::equal(files, other.files, same_file) &&
         includes == other.includes;
}

absl::StatusOr<SourceSet> ResolveSources(RootView& view,
                                         std::span<const SourceEntry> entries) {
  return Resolver(view).Run(entries);
}

absl::StatusOr<SourceSet> ResolveSources(const SearchRoots& roots,
                                         SourceCache& cache,
                                         std::span<const SourceEntry> entries) {
  RootView view(roots, cache);
  return ResolveSources(view, entries);
}

bool IsCurrent(const SourceSet& set, RootView& view) {
  // What a search finds follows from the roots' order and from what is at the
  // places it looks at; with both the same, it would be the same.
  if (set.roots == view.roots().Names()) {
    return std::ranges::all_of(set.looked_at,
                               [&](const SourceSet::Watched& seen) {
                                 return IsUnchanged(seen, view);
                               });
  }
  std::vector<SourceEntry> entries;
  for (const SourceSet::Entry& entry : set.entries) {
    entries.push_back(entry.source);
  }
  const absl::StatusOr<SourceSet> now = ResolveSources(view, entries);
  return now.ok() && now->SameSources(set);
}

bool IsCurrent(const SourceSet& set, const SearchRoots& roots,
               SourceCache& cache) {
  RootView view(roots, cache);
  return IsCurrent(set, view);
}

}  // namespace kiln::sources
