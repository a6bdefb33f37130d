// SPDX-License-Identifier: Apache-2.0
#pragma once

// What living programs mean now. A recipe's files lie in the search roots, and
// user code is put into programs that take surface shaders; both change while
// engines run. Here each becomes a *snapshot*: an ordinary program with exactly
// the files it can include, under the SHA-256 of its bytes. So a key is never
// stale, text that comes back finds what was compiled of it, and the rest of
// the daemon knows nothing of files.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/program_registry.h"
#include "daemon/root_registry.h"
#include "shaders/sources/root_view.h"
#include "shaders/sources/source_cache.h"
#include "shaders/sources/source_set.h"
#include "shaders/surface/surface_set.h"

namespace kiln::daemon {

// What a program id means at one moment.
struct ProgramState {
  // Not OK: the program has no snapshot (a source is missing, ...).
  absl::Status status;
  std::shared_ptr<RegisteredProgram> program;
  // 0: it is not living. Otherwise goes up whenever the above changes.
  uint64_t generation = 0;
};

// Thread-safe. Requires: everything passed in outlives it.
class LivePrograms {
 public:
  // `sealed`: no file is looked at; a recipe means what it meant last.
  LivePrograms(storage::VariantStore& store, ProgramRegistry& registry,
               const RootRegistry& roots, bool sealed)
      : store_(store), registry_(registry), roots_(roots), sealed_(sealed) {}

  // Looks at the files first, so that what was saved before this call is what
  // it returns. Errors: NotFound for an unknown program, Unavailable when a
  // file could not be read just now: ask again. What is wrong with a known
  // program is in the state. Blocks: disk, a stat for each file and for each
  // place where an include could be.
  absl::StatusOr<ProgramState> Current(const Digest& id);

  // What the last look found. Returns: nothing where there was none, or the
  // program is not living.
  std::optional<ProgramState> LastSeen(const Digest& id) const;

  // What became of every living program that `Current` was asked for. All are
  // looked at in one pass, so each file once.
  struct Look {
    std::map<Digest, ProgramState> states;
    bool complete = true;  // false: some could not be read just now
  };

  Look CurrentAll();

  // Errors: NotFound for an unknown program, FailedPrecondition for one that
  // takes no surface shaders.
  absl::StatusOr<surface::SurfaceSet> Surfaces(const Digest& id);

  // The whole program that `id` is now, as its surfaces are put into it; and
  // what it would be with `surfaces`. Neither is known to anybody yet.
  // Errors: as what is wrong with it. Blocks: disk.
  absl::StatusOr<Program> WithoutSurfaces(const Digest& id);
  absl::StatusOr<Program> WithSurfaces(const Digest& id,
                                       const surface::SurfaceSet& surfaces);

  // Compiler output about the current snapshot of `id`, in the terms of those
  // who wrote its surfaces.
  std::string MapDiagnostics(const Digest& id, std::string_view output);

  // Makes `surfaces` those of the program, for good, unless they are not
  // `expected` any more. Returns: whether it did. Blocks: disk.
  absl::StatusOr<bool> SetSurfaces(const Digest& id, const Digest& expected,
                                   surface::SurfaceSet surfaces);

  bool sealed() const { return sealed_; }

  // Files looked at and files read, since the start.
  sources::SourceCache::Counters source_counters() const {
    return cache_.counters();
  }

 private:
  // The files of a recipe: of its stages, which it cannot do without, and of
  // each include of a surface, which may lie under an #if.
  struct Gathered {
    sources::SourceSet stages;
    std::map<std::string, absl::StatusOr<sources::SourceSet>> includes;
  };

  struct Entry {
    std::shared_ptr<RegisteredProgram> registered;
    std::optional<Gathered> sources;  // of a recipe
    surface::SurfaceSet surfaces;
    // Raised by SetSurfaces: `state` is to be made again.
    bool outdated = true;
    ProgramState state;
    std::vector<Digest> replaced;  // snapshots still in memory, oldest first
  };

  absl::StatusOr<Entry*> Find(const Digest& id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Errors: Unavailable when a file could not be read just now.
  absl::Status Refresh(const Digest& id, Entry& entry, sources::RootView& view)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static absl::StatusOr<std::optional<Gathered>> Gather(
      const Program& program, const surface::SurfaceSet& surfaces,
      sources::RootView& view);
  static bool IsCurrent(const Program& program, const Gathered& gathered,
                        sources::RootView& view);
  static absl::StatusOr<Program> Whole(const Program& program,
                                       const std::optional<Gathered>& sources);
  static absl::StatusOr<Program> Compose(const Program& program,
                                         const std::optional<Gathered>& sources,
                                         const surface::SurfaceSet& surfaces);
  absl::StatusOr<std::shared_ptr<RegisteredProgram>> Register(
      const Program& snapshot);
  absl::StatusOr<std::shared_ptr<RegisteredProgram>> LastSnapshot(
      const Digest& id);
  void Adopt(const Digest& id, Entry& entry,
             absl::StatusOr<std::shared_ptr<RegisteredProgram>> snapshot)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remember(const Digest& id, const Digest& snapshot);

  storage::VariantStore& store_;
  ProgramRegistry& registry_;
  const RootRegistry& roots_;
  const bool sealed_;
  sources::SourceCache cache_;

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Digest, std::unique_ptr<Entry>> entries_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln::daemon
