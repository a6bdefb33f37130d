// SPDX-License-Identifier: Apache-2.0
#include "daemon/live_programs.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/sources/snapshot.h"
#include "shaders/surface/surface_diagnostics.h"
#include "shaders/surface/surface_includes.h"
#include "shaders/surface/surface_program.h"
#include "shaders/surface/surface_rules.h"
#include "storage/variant_store.h"

namespace kiln::daemon {
namespace {

// Snapshots of one program that stay decoded in memory: undo and redo find
// what the front end made of them without a look at the store.
constexpr size_t kSnapshotsInMemory = 8;

uint64_t UnixMilliseconds() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
}

// The language of the stages' texts, in which surfaces are written too.
Language TextLanguage(const Program& program) {
  for (const StageSource& stage : program.stages) {
    if (stage.language != Language::kSpirv) {
      return stage.language;
    }
  }
  return Language::kGlsl;
}

void ReportShadowed(const Program& program, const sources::SourceSet& set) {
  for (const sources::SourceSet::Shadowed& name : set.shadowed) {
    spdlog::info("shadowed program={} file=\"{}\" by=\"{}\"", program.name,
                 ToValidUtf8(fmt::format("{}", fmt::join(name.hidden, ", "))),
                 ToValidUtf8(name.winner));
  }
}

// Adds the files and includes of `set` to a whole program.
void AddSources(const sources::SourceSet& set, Program& whole) {
  for (const sources::SourceSet::File& file : set.files) {
    const auto at =
        std::ranges::lower_bound(whole.files, file.path, {}, &SourceFile::path);
    if (at == whole.files.end() || at->path != file.path) {
      whole.files.insert(at, {file.path, file.source->text});
    }
  }
  for (const IncludeEdge& edge : set.includes) {
    const auto at = std::ranges::lower_bound(whole.includes, edge);
    if (at == whole.includes.end() || *at != edge) {
      whole.includes.insert(at, edge);
    }
  }
}

// The rules for surfaces, once more: they were accepted with other files, and a
// save may put into a header what no surface may bring.
absl::Status CheckRules(const Program& snapshot, const SurfaceSlot& slot,
                        const surface::SurfaceSet& surfaces) {
  if (surfaces.empty()) {
    return absl::OkStatus();
  }
  Program applied = snapshot;
  applied.surface = slot;
  return surface::CheckAllIncludes(applied, surfaces);
}

}  // namespace

absl::StatusOr<LivePrograms::Entry*> LivePrograms::Find(const Digest& id) {
  std::unique_ptr<Entry>& entry = entries_[id];
  if (entry == nullptr) {
    auto registered = registry_.Find(id);
    if (!registered.ok()) {
      entries_.erase(id);
      return registered.status();
    }
    entry = std::make_unique<Entry>();
    entry->registered = *std::move(registered);
    if (const auto stored = store_.GetSurfaces(id);
        stored.ok() && stored->has_value()) {
      if (auto set = surface::DecodeSurfaceSet(**stored); set.ok()) {
        entry->surfaces = *std::move(set);
      }
    }
  }
  return entry.get();
}

absl::StatusOr<ProgramState> LivePrograms::Current(const Digest& id) {
  KILN_ASSIGN_OR_RETURN(std::shared_ptr<RegisteredProgram> registered,
                        registry_.Find(id));
  if (!registered->program().IsLiving()) {
    return ProgramState{absl::OkStatus(), std::move(registered), 0};
  }
  absl::MutexLock lock(&mutex_);
  KILN_ASSIGN_OR_RETURN(Entry * entry, Find(id));
  sources::RootView view(roots_.roots(), cache_);
  KILN_RETURN_IF_ERROR(Refresh(id, *entry, view));
  return entry->state;
}

std::optional<ProgramState> LivePrograms::LastSeen(const Digest& id) const {
  absl::MutexLock lock(&mutex_);
  auto found = entries_.find(id);
  return found == entries_.end() ? std::nullopt
                                 : std::optional(found->second->state);
}

LivePrograms::Look LivePrograms::CurrentAll() {
  Look look;
  absl::MutexLock lock(&mutex_);
  sources::RootView view(roots_.roots(), cache_);
  for (const auto& [id, entry] : entries_) {
    if (Refresh(id, *entry, view).ok()) {
      look.states.emplace(id, entry->state);
    } else {
      look.complete = false;
    }
  }
  return look;
}

absl::Status LivePrograms::Refresh(const Digest& id, Entry& entry,
                                   sources::RootView& view) {
  if (sealed_) {
    if (entry.outdated) {
      Adopt(id, entry, LastSnapshot(id));
    }
    return absl::OkStatus();
  }
  const Program& program = entry.registered->program();
  if (!entry.outdated &&
      (!program.rooted || (entry.sources.has_value() &&
                           IsCurrent(program, *entry.sources, view)))) {
    return absl::OkStatus();
  }
  auto gathered = Gather(program, entry.surfaces, view);
  if (absl::IsUnavailable(gathered.status())) {
    return gathered.status();
  }
  if (!gathered.ok()) {
    entry.sources.reset();
    Adopt(id, entry, gathered.status());
    return absl::OkStatus();
  }
  entry.sources = *std::move(gathered);
  absl::StatusOr<Program> snapshot =
      Compose(program, entry.sources, entry.surfaces);
  if (snapshot.ok()) {
    if (absl::Status rules =
            CheckRules(*snapshot, program.surface, entry.surfaces);
        !rules.ok()) {
      snapshot = std::move(rules);
    }
  }
  if (snapshot.ok()) {
    Adopt(id, entry, Register(*snapshot));
  } else {
    Adopt(id, entry, snapshot.status());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<LivePrograms::Gathered>> LivePrograms::Gather(
    const Program& program, const surface::SurfaceSet& surfaces,
    sources::RootView& view) {
  if (!program.rooted) {
    return std::optional<Gathered>();
  }
  Gathered gathered;
  KILN_ASSIGN_OR_RETURN(
      gathered.stages,
      sources::ResolveSources(view, sources::EntriesOf(program)));
  ReportShadowed(program, gathered.stages);
  for (const auto& [index, surface] : surfaces.surfaces()) {
    for (const surface::SurfaceInclude& include :
         surface::IncludesOf(surface.text)) {
      const sources::SourceEntry entry{std::string(include.name),
                                       TextLanguage(program)};
      auto found = sources::ResolveSources(view, {&entry, 1});
      if (absl::IsUnavailable(found.status())) {
        return found.status();
      }
      gathered.includes.insert_or_assign(entry.name, std::move(found));
    }
  }
  return std::optional<Gathered>(std::move(gathered));
}

bool LivePrograms::IsCurrent(const Program& program, const Gathered& gathered,
                             sources::RootView& view) {
  if (!sources::IsCurrent(gathered.stages, view)) {
    return false;
  }
  for (const auto& [name, set] : gathered.includes) {
    if (set.ok()) {
      if (!sources::IsCurrent(*set, view)) {
        return false;
      }
      continue;
    }
    // What did not open is looked for again; nothing else is gathered for it.
    const sources::SourceEntry entry{name, TextLanguage(program)};
    if (sources::ResolveSources(view, {&entry, 1}).status() != set.status()) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<Program> LivePrograms::Whole(
    const Program& program, const std::optional<Gathered>& sources) {
  if (!sources.has_value()) {
    return program;
  }
  return sources::MakeSnapshot(program, sources->stages);
}

absl::StatusOr<Program> LivePrograms::Compose(
    const Program& program, const std::optional<Gathered>& sources,
    const surface::SurfaceSet& surfaces) {
  KILN_ASSIGN_OR_RETURN(Program snapshot, Whole(program, sources));
  if (!snapshot.surface.include.empty()) {
    surface::IncludeResolver resolve;
    if (sources.has_value()) {
      for (const auto& [name, set] : sources->includes) {
        if (set.ok()) {
          AddSources(*set, snapshot);
        }
      }
      resolve = [&sources](const Program&,
                           const surface::SurfaceInclude& include)
          -> absl::StatusOr<std::string> {
        const auto found = sources->includes.find(std::string(include.name));
        if (found == sources->includes.end()) {
          return absl::NotFoundError("it was not looked for");
        }
        KILN_RETURN_IF_ERROR(found->second.status());
        return found->second->entries.front().path;
      };
    }
    KILN_ASSIGN_OR_RETURN(snapshot,
                          surface::Apply(snapshot, surfaces, resolve));
    snapshot.surface = {};
  }
  KILN_RETURN_IF_ERROR(snapshot.Validate());
  return snapshot;
}

absl::StatusOr<std::shared_ptr<RegisteredProgram>> LivePrograms::Register(
    const Program& snapshot) {
  Bytes bytes = EncodeProgram(snapshot);
  const Digest id = Digest::Of(bytes);
  KILN_RETURN_IF_ERROR(registry_.Register(id, std::move(bytes)).status());
  return registry_.Find(id);
}

absl::StatusOr<std::shared_ptr<RegisteredProgram>> LivePrograms::LastSnapshot(
    const Digest& id) {
  KILN_ASSIGN_OR_RETURN(const auto snapshots, store_.GetSnapshots(id));
  if (snapshots.empty()) {
    return absl::NotFoundError(
        "sealed: nothing of this program is stored, and its sources are not "
        "looked at");
  }
  return registry_.Find(snapshots.front().program);
}

void LivePrograms::Adopt(
    const Digest& id, Entry& entry,
    absl::StatusOr<std::shared_ptr<RegisteredProgram>> snapshot) {
  entry.outdated = false;
  ProgramState& state = entry.state;
  if (state.generation > 0 && state.status == snapshot.status() &&
      (!snapshot.ok() || state.program->id() == (*snapshot)->id())) {
    return;
  }
  const std::string& name = entry.registered->program().name;
  ++state.generation;
  state.status = snapshot.status();
  if (!snapshot.ok()) {
    spdlog::warn("program has no snapshot program={} error=\"{}\"", name,
                 Shorten(state.status.ToString(), 600));
    return;
  }
  std::erase(entry.replaced, (*snapshot)->id());
  if (state.program != nullptr) {
    entry.replaced.push_back(state.program->id());
  }
  state.program = *std::move(snapshot);
  if (entry.replaced.size() > kSnapshotsInMemory) {
    registry_.Forget(entry.replaced.front());
    entry.replaced.erase(entry.replaced.begin());
  }
  spdlog::info("snapshot program={} generation={} id={} files={}", name,
               state.generation, state.program->id().ShortHex(),
               state.program->program().files.size());
  if (!sealed_) {
    Remember(id, state.program->id());
  }
}

// For `kiln why` and sealed daemons.
void LivePrograms::Remember(const Digest& id, const Digest& snapshot) {
  std::vector<storage::SnapshotRecord> records =
      store_.GetSnapshots(id).value_or(std::vector<storage::SnapshotRecord>());
  storage::SnapshotRecord newest{snapshot, UnixMilliseconds()};
  std::erase_if(records, [&](const storage::SnapshotRecord& record) {
    if (record.program != newest.program) {
      return false;
    }
    newest.first_seen_unix_ms = record.first_seen_unix_ms;
    return true;
  });
  records.insert(records.begin(), newest);
  if (records.size() > storage::kSnapshotsPerRecipe) {
    records.resize(storage::kSnapshotsPerRecipe);
  }
  if (absl::Status status = store_.PutSnapshots(id, records); !status.ok()) {
    spdlog::warn("snapshot not stored error=\"{}\"", status.ToString());
  }
}

absl::StatusOr<surface::SurfaceSet> LivePrograms::Surfaces(const Digest& id) {
  KILN_ASSIGN_OR_RETURN(const auto registered, registry_.Find(id));
  if (registered->program().surface.include.empty()) {
    return absl::FailedPreconditionError(
        fmt::format("program {} takes no surface shaders: it has no [surface]",
                    registered->program().name));
  }
  absl::MutexLock lock(&mutex_);
  KILN_ASSIGN_OR_RETURN(Entry * entry, Find(id));
  return entry->surfaces;
}

absl::StatusOr<Program> LivePrograms::WithoutSurfaces(const Digest& id) {
  KILN_ASSIGN_OR_RETURN(const auto registered, registry_.Find(id));
  sources::RootView view(roots_.roots(), cache_);
  KILN_ASSIGN_OR_RETURN(const std::optional<Gathered> sources,
                        Gather(registered->program(), {}, view));
  return Whole(registered->program(), sources);
}

absl::StatusOr<Program> LivePrograms::WithSurfaces(
    const Digest& id, const surface::SurfaceSet& surfaces) {
  KILN_ASSIGN_OR_RETURN(const auto registered, registry_.Find(id));
  sources::RootView view(roots_.roots(), cache_);
  KILN_ASSIGN_OR_RETURN(const std::optional<Gathered> sources,
                        Gather(registered->program(), surfaces, view));
  return Compose(registered->program(), sources, surfaces);
}

std::string LivePrograms::MapDiagnostics(const Digest& id,
                                         std::string_view output) {
  absl::MutexLock lock(&mutex_);
  const absl::StatusOr<Entry*> entry = Find(id);
  if (!entry.ok() || (*entry)->surfaces.empty() ||
      (*entry)->state.program == nullptr) {
    return std::string(output);
  }
  Program applied = (*entry)->state.program->program();
  applied.surface = (*entry)->registered->program().surface;
  return surface::MapDiagnostics(output, (*entry)->surfaces, applied);
}

absl::StatusOr<bool> LivePrograms::SetSurfaces(const Digest& id,
                                               const Digest& expected,
                                               surface::SurfaceSet surfaces) {
  absl::MutexLock lock(&mutex_);
  KILN_ASSIGN_OR_RETURN(Entry * entry, Find(id));
  if (entry->surfaces.Hash() != expected) {
    return false;
  }
  if (absl::Status status =
          store_.PutSurfaces(id, surface::EncodeSurfaceSet(surfaces));
      !status.ok()) {
    spdlog::warn("surfaces not stored error=\"{}\"", status.ToString());
  }
  entry->surfaces = std::move(surfaces);
  entry->outdated = true;
  return true;
}

}  // namespace kiln::daemon
