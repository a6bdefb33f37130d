// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the store remembers besides programs and artifacts: what compilers made
// of single sources, what became of recipes, and which targets and search roots
// there were. All of it can be found again, at a cost: losing a record is
// legal. Reached through variant_store.h; the rows are described in FORMAT.md.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/artifact.h"
#include "proto/bytes.h"
#include "proto/digest.h"
#include "proto/target.h"

namespace kiln::storage {

class CheckedRows;

// What one compiler made of one source set: one stage with every file that it
// can include.
struct StoredShader {
  StageModule module;
  std::string warnings;  // as CapDiagnostics leaves them

  friend auto operator<=>(const StoredShader&, const StoredShader&) = default;
};

// A program that was made of a recipe.
struct SnapshotRecord {
  Digest program;
  uint64_t first_seen_unix_ms = 0;

  friend auto operator<=>(const SnapshotRecord&,
                          const SnapshotRecord&) = default;
};

// A recipe's snapshots that are worth going back to: each save makes one.
inline constexpr size_t kSnapshotsPerRecipe = 16;

// Part of VariantStore, with what is common to its functions. Thread-safe.
//
// A Put replaces what was there. Errors of all of them: InvalidArgument: over a
// limit. ResourceExhausted: disk full, or nearly. Block: disk.
class SourceRecords {
 public:
  SourceRecords(const SourceRecords&) = delete;  // part of the store
  SourceRecords& operator=(const SourceRecords&) = delete;

  // Remembers what a module declares to the outside: EncodeInterface. The
  // module need not be stored. Errors: InvalidArgument: not an interface.
  absl::Status PutInterface(const Digest& module, ByteView canonical);
  absl::StatusOr<std::optional<Bytes>> GetInterface(const Digest& module);

  // Errors: FailedPrecondition when the module is not stored; InvalidArgument:
  // a compiler version over 1 KiB, or warnings over four times
  // limits::kDiagnosticBytes.
  absl::Status PutShader(const Digest& source_set,
                         std::string_view compiler_version,
                         const StoredShader& shader);

  // The module is not looked up: it may still turn out to be damaged.
  absl::StatusOr<std::optional<StoredShader>> GetShader(
      const Digest& source_set, std::string_view compiler_version);

  // Remembers the programs made of a recipe, the current one first; none
  // deletes the record.
  // Errors: InvalidArgument: over kSnapshotsPerRecipe, or one twice.
  absl::Status PutSnapshots(const Digest& recipe,
                            const std::vector<SnapshotRecord>& newest_first);

  // Returns: what was put; empty where nothing was, or it was damaged.
  absl::StatusOr<std::vector<SnapshotRecord>> GetSnapshots(
      const Digest& recipe);

  // The recipe that `snapshot` was made of; any, if several. Takes a look at
  // every recipe there is. Errors: Unavailable.
  absl::StatusOr<std::optional<Digest>> FindRecipe(const Digest& snapshot);

  // Remembers the surface shaders registered with a program, as the owner
  // encodes them, at most limits::kProgramBytes; empty deletes the record.
  absl::Status PutSurfaces(const Digest& program, ByteView surfaces);
  absl::StatusOr<std::optional<Bytes>> GetSurfaces(const Digest& program);

  // Remembers what a target is, under `identity.Id()`. Storing one that is
  // there does nothing and costs one hash: its name stays the first one.
  absl::Status PutTarget(const TargetIdentity& identity);
  absl::StatusOr<std::optional<TargetIdentity>> GetTarget(const Digest& target);

  // Every target that was ever put, by id: some dozens at most. Errors:
  // DataLoss: the table of them is damaged.
  absl::StatusOr<std::vector<TargetIdentity>> ListTargets();

  // Remembers the search roots, as the owner encodes them, at most 1 MiB.
  absl::Status PutRoots(ByteView roots);
  absl::StatusOr<std::optional<Bytes>> GetRoots();

 protected:
  // Lifetime: `rows` outlives every call.
  explicit SourceRecords(CheckedRows& rows) : rows_(rows) {}

  ~SourceRecords() = default;

 private:
  CheckedRows& rows_;
};

}  // namespace kiln::storage
