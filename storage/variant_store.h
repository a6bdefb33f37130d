// SPDX-License-Identifier: Apache-2.0
#pragma once

// The durable state of Kiln: programs, modules, which modules a program's
// front end made, and artifacts; source_records.h has the rest. Front door of
// storage/. The store never decides what to compile, when to evict or who may
// ask; it keeps bytes, and gives back either exactly the bytes that were put or
// nothing.
//
// Damage costs the entry it hits: the entry is deleted, counted, logged and
// answered as a miss. Opening a store that is damaged as a whole is in
// store_recovery.h; the bytes on disk are described in FORMAT.md.
//
//                       process crash (kill -9)   power loss
//   everything that     kept once the call        kept once a later Sync
//   is put              returned OK               returned OK; what came after
//                                                 may be gone, newest first
//   deletion of damage  kept                      may come back; found again

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/artifact.h"
#include "proto/bytes.h"
#include "proto/digest.h"
#include "proto/variant_key.h"
#include "storage/failure_records.h"
#include "storage/source_records.h"
#include "storage/store_options.h"

namespace kiln::storage {

// The version of everything below the database folder (FORMAT.md, "Evolution").
inline constexpr uint32_t kSchemaVersion = 4;

// SPIR-V and the SHA-256 of it.
struct Module {
  Digest id;
  Bytes spirv;
};

// An artifact as lists show it.
struct ListedArtifact {
  Artifact artifact;        // its blob left out
  uint64_t blob_bytes = 0;  // what the blob's size was
};

struct ArtifactPage {
  std::vector<ListedArtifact> artifacts;
  std::string next_row;  // pass as `after_row`; empty: this was the last page
};

struct ProgramPage {
  std::vector<Digest> programs;
  Digest next;  // pass as `after`; none: this was the last page
};

// The sole owner of one database folder. Thread-safe: all but Close and the
// destructor, which need every other call to have returned.
//
//   KILN_ASSIGN_OR_RETURN(auto store, VariantStore::Open(folder, {}));
//   KILN_RETURN_IF_ERROR(store->PutArtifact(artifact, modules));
//   KILN_ASSIGN_OR_RETURN(auto found, store->GetArtifact(artifact.target,
//   artifact.key));
//
// Common to all functions: Unavailable means that the disk failed and is worth
// another try. A Get answers nullopt for a miss, and for an entry that was
// damaged, so that a caller has one way to go on: compile it.
class VariantStore : public SourceRecords, public FailureRecords {
 public:
  // Opens the store in `db_folder`, which is made if it is not there.
  // Requires: the caller holds Kiln's own instance lock, which lies beside the
  // folder: closing any file inside it would release RocksDB's (KNOWN_FAULTS
  // 7). Errors, all naming the folder: PermissionDenied: not writable.
  // FailedPrecondition: not a folder, or written by a newer schema (both
  // versions are named; no row is changed). Unavailable: another process has
  // it open. ResourceExhausted: disk full. DataLoss: damaged, see
  // store_recovery.h.
  // Blocks: disk; longer after a kill, by at most StoreOptions::log_bytes.
  static absl::StatusOr<std::unique_ptr<VariantStore>> Open(
      const std::filesystem::path& db_folder, const StoreOptions& options);

  VariantStore(const VariantStore&) = delete;  // owns the database
  VariantStore& operator=(const VariantStore&) = delete;
  ~VariantStore();

  // Stores a program under its id. Storing one that is there does nothing.
  // Errors: InvalidArgument: `id` is not the SHA-256 of `canonical`, or over
  // limits::kProgramBytes. ResourceExhausted: disk full, or nearly. Blocks:
  // disk.
  absl::Status PutProgram(const Digest& id, ByteView canonical);
  absl::StatusOr<std::optional<Bytes>> GetProgram(const Digest& id);

  // Returns: the ids of the programs after `after` (none: from the start), in
  // order, at most `limit` or 4096. No program is read; one that is listed may
  // still turn out to be damaged. Errors: DataLoss: the index is damaged.
  absl::StatusOr<ProgramPage> ListPrograms(const Digest& after, size_t limit);

  // As PutProgram and GetProgram, for SPIR-V of at most limits::kModuleBytes.
  absl::Status PutModule(const Digest& id, ByteView spirv);
  absl::StatusOr<std::optional<Bytes>> GetModule(const Digest& id);

  // Remembers what the front end of `compiler_version` made of a program;
  // replaces what was remembered for the pair.
  // Errors: FailedPrecondition naming a module that is not stored; as
  // PutProgram.
  absl::Status PutFrontEnd(const Digest& program,
                           std::string_view compiler_version,
                           const FrontEnd& front_end);

  // The modules named are not looked up: each may still turn out to be damaged.
  absl::StatusOr<std::optional<FrontEnd>> GetFrontEnd(
      const Digest& program, std::string_view compiler_version);

  // Remembers the fastest override values of a program on a target; replaces
  // what was remembered. Errors: as PutProgram. Blocks: disk.
  absl::Status PutTuning(const Digest& target, const Digest& program,
                         const Tuning& tuning);
  absl::StatusOr<std::optional<Tuning>> GetTuning(const Digest& target,
                                                  const Digest& program);

  // Stores an artifact together with those of `modules` that are not stored
  // yet, all or nothing; replaces the artifact of the same target and key.
  // Errors: FailedPrecondition naming a module of the artifact that is neither
  // stored nor in `modules`. InvalidArgument: no target, a module under a wrong
  // id, or a size over limits.h. ResourceExhausted: disk full, or nearly.
  // Blocks: disk.
  absl::Status PutArtifact(const Artifact& artifact,
                           std::span<const Module> modules);

  // Requires: `key` is normalised. Compares the whole stored key and target
  // with what was asked for, not only their digests.
  absl::StatusOr<std::optional<Artifact>> GetArtifact(const Digest& target,
                                                      const VariantKey& key);
  absl::StatusOr<std::optional<Artifact>> GetArtifactById(const Digest& target,
                                                          const Digest& key_id);

  // Removes an artifact; its modules stay. One that is not there is fine.
  absl::Status RemoveArtifact(const Digest& target, const Digest& key_id);

  // Returns: at most `limit` artifacts, of any target, whose key id starts with
  // the 1 to 64 hexadecimal digits given. More than one with the same key id
  // are the same variant for several targets.
  // Errors: InvalidArgument: not such digits. DataLoss: the index is damaged.
  absl::StatusOr<std::vector<Artifact>> FindArtifacts(
      std::string_view key_hex_prefix, size_t limit);

  // Returns: the artifacts after the row `after_row` (empty: from the start),
  // by target and then key id, at most `limit` or limits::kListPageSize. A page
  // may hold fewer, even none, and still not be the last: `next_row` says.
  // Errors: InvalidArgument: not a row. DataLoss: the index is damaged.
  absl::StatusOr<ArtifactPage> ListArtifacts(std::string_view after_row,
                                             size_t limit);

  StoreCounts counts() const;

  const StoreCounters& counters() const;

  // Makes everything put so far survive a power loss. Meant to be called every
  // 100 ms; costs nothing when there was no write. Blocks: disk.
  absl::Status Sync();

  // Syncs and closes, so that the next open is quick. Called by the destructor
  // where it was not before. Requires: nothing is called afterwards.
  absl::Status Close();

 private:
  explicit VariantStore(std::unique_ptr<CheckedRows> rows);

  // Fails unless every one of `modules` is stored or among `arriving`.
  absl::Status CheckModules(const std::vector<StageModule>& modules,
                            std::span<const Module> arriving);

  // Returns: the artifact, whose target and key id are those of `row`.
  absl::StatusOr<std::optional<Artifact>> GetArtifactAt(const std::string& row);

  const std::unique_ptr<CheckedRows> rows_;
};

}  // namespace kiln::storage
