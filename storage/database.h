// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one owner of the RocksDB handle: how the database is opened and tuned,
// what its statuses mean, and rows of bytes in named column families. It knows
// nothing of what the rows hold; that is checked_rows.h. Internal to
// storage/: nothing else includes this.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/bytes.h"
#include "storage/store_options.h"

namespace kiln::storage {

// The column families of this schema. Their names are persisted (FORMAT.md).
enum class Family : uint8_t {
  kMeta,
  kPrograms,
  kModules,
  kFrontEnds,
  kArtifacts,
  kArtifactIndex,
  kTunings,
  kProgramIndex,
  kInterfaces,
  kShaders,
  kSnapshots,
  kSurfaces,
  kTargets,
  kRoots,
  kFailures,
};
inline constexpr size_t kFamilyCount = 15;

struct RowWrite {
  Family family;
  std::string key;
  std::optional<Bytes> value;  // absent: delete the row
};

// What a scan does after it was shown a row.
struct ScanStep {
  enum class Action : uint8_t { kNext, kSeek, kStop };

  Action action = Action::kNext;
  std::string seek;  // kSeek: go on with the first row that is not below this
};

// Thread-safe. `Close` and the destructor need all other calls to have ended.
class Database {
 public:
  // Opens the database in `folder`, or makes an empty one. Column families it
  // does not know are opened and left alone; families that are missing are
  // not made: see CreateMissingFamilies.
  // Errors: as VariantStore::Open. Lifetime: `counters` outlives the database.
  // Blocks: disk.
  static absl::StatusOr<std::unique_ptr<Database>> Open(
      const std::filesystem::path& folder, const StoreOptions& options,
      StoreCounters& counters);

  // Rebuilds the database's own bookkeeping from its table files and logs.
  // RocksDB's repair forgets blob files, so the artifacts are dropped; all
  // other families keep what is readable. Requires: not open.
  static absl::Status Repair(const std::filesystem::path& folder,
                             const StoreOptions& options);

  Database(const Database&) = delete;  // owns the handle
  Database& operator=(const Database&) = delete;
  ~Database();

  absl::Status CreateMissingFamilies();

  // Deletes all rows of `families`, and the families with them.
  absl::Status DropFamilies(std::initializer_list<Family> families);

  // Returns: the row's value, or nothing where there is no such row or family.
  // Errors: DataLoss when the row is there and cannot be read; Unavailable when
  // the disk failed for another reason. Blocks: disk.
  absl::StatusOr<std::optional<std::string>> Get(Family family,
                                                 std::string_view row) const;

  // Writes all of `rows` or none of them.
  // Errors: ResourceExhausted below the free-space floor or on a full disk;
  // Unavailable, DataLoss as RocksDB reports them. Blocks: disk.
  absl::Status Write(std::span<const RowWrite> rows);

  // Deletes a row that was found damaged: `Write` without the space check.
  absl::Status Erase(std::span<const RowWrite> rows);

  // Shows `visit` the keys of `family` in order, from the first that is not
  // below `from`. Errors: as Get. Blocks: disk.
  absl::Status Scan(
      Family family, std::string_view from,
      const std::function<ScanStep(std::string_view row)>& visit) const;

  uint64_t EstimatedRows(Family family) const;
  uint64_t DiskBytes() const;

  // Makes every finished write survive a power loss. Costs nothing when there
  // was none since the last call. Blocks: disk.
  absl::Status Sync();

  // Moves the log into table files, so that the next open has nothing to read
  // back, and closes. Later calls of anything are an error of the programmer.
  absl::Status Close();

 private:
  class Handle;  // the only place with RocksDB types

  Database(std::unique_ptr<Handle> handle, const StoreOptions& options,
           StoreCounters& counters);

  void StopMergingDamage();
  absl::Status CheckFreeSpace() const;
  absl::Status Apply(std::span<const RowWrite> rows);

  StoreOptions options_;
  StoreCounters& counters_;
  std::unique_ptr<Handle> handle_;
  std::atomic<bool> unsynced_ = false;
};

}  // namespace kiln::storage
