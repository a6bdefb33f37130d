// SPDX-License-Identifier: Apache-2.0
#pragma once

// Source sets (SPEC section 3): every file that a shader can include, under any
// set of macros, and every name that was looked for and did not exist. Together
// they say whether a compiled shader is still what its sources say: editing an
// include, adding a file earlier in the search order and creating one that was
// missing all give another set; nothing else does.
//
// An include that does not open is part of the set, with the reason, and no
// error: it may lie under an #if that is not taken. So is one that is a circle.
// Programs are made of sets in snapshot.h, hashes in source_hash.h.

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/digest.h"
#include "proto/program.h"
#include "shaders/sources/root_view.h"
#include "shaders/sources/search_roots.h"
#include "shaders/sources/source_cache.h"

namespace kiln::sources {

// A file to begin at: a stage's.
struct SourceEntry {
  std::string name;  // plain, or "/<root>/<path>"
  Language language = Language::kGlsl;

  friend bool operator==(const SourceEntry&, const SourceEntry&) = default;
};

// One for each stage. Requires: a recipe (Program::rooted).
std::vector<SourceEntry> EntriesOf(const Program& recipe);

struct SourceSet {
  struct Entry {
    SourceEntry source;
    std::string path;  // the id of what was found (include_paths.h)
  };

  struct File {
    std::string path;  // its id
    SharedSource source;
  };

  // What there was at a place that was looked at.
  struct Watched {
    std::string path;  // an id
    Language language = Language::kGlsl;
    Digest digest;        // none: there was no usable file
    std::string problem;  // why what is there cannot be used; empty: nothing is
  };

  // A plain name that more than one root has. For people: it changes nothing.
  struct Shadowed {
    std::string name;
    std::string winner;               // an id
    std::vector<std::string> hidden;  // ids, in search order
  };

  std::vector<std::string> roots;     // names, in search order
  std::vector<Entry> entries;         // as asked for
  std::vector<File> files;            // sorted by path
  std::vector<IncludeEdge> includes;  // sorted, unique; paths are ids
  std::vector<Watched> looked_at;     // sorted by path
  std::vector<Shadowed> shadowed;     // sorted by name

  // True when `other` was made of the same entries, texts and includes, so
  // that everything made of either is the same.
  bool SameSources(const SourceSet& other) const;
};

// Finds `entries` and everything they can include.
// Errors: NotFound, InvalidArgument or PermissionDenied for an entry that does
// not open, naming it and the places searched; InvalidArgument for more than
// limits::kProgramFiles files, kProgramIncludes includes or kProgramBytes
// bytes, naming the chain that went past; Unavailable when a file could not be
// read just now (root_file.h): ask again. Blocks: disk.
absl::StatusOr<SourceSet> ResolveSources(RootView& view,
                                         std::span<const SourceEntry> entries);
absl::StatusOr<SourceSet> ResolveSources(const SearchRoots& roots,
                                         SourceCache& cache,
                                         std::span<const SourceEntry> entries);

// The warm check: true when ResolveSources would give the same sources again.
// Stats files, and reads those whose stat changed. Many sets are best checked
// in one view, since they share files. Blocks: disk.
bool IsCurrent(const SourceSet& set, RootView& view);
bool IsCurrent(const SourceSet& set, const SearchRoots& roots,
               SourceCache& cache);

}  // namespace kiln::sources
