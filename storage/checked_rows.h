// SPDX-License-Identifier: Apache-2.0
#pragma once

// Rows as the parts of the store use them: sealed when they are written, and
// checked when they are read. Damage costs the row it hits: it is deleted,
// counted, logged and answered as a miss. Internal to storage/.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "proto/artifact.h"
#include "proto/bytes.h"
#include "proto/canonical.h"
#include "proto/digest.h"
#include "proto/status_macros.h"
#include "storage/database.h"
#include "storage/envelope.h"
#include "storage/row_keys.h"
#include "storage/store_options.h"

namespace kiln::storage {

// Part of some row keys; over it, a version is no text for people any more.
inline constexpr size_t kMaxCompilerVersionBytes = 1024;

// Row keys in their order, and where the next page goes on.
struct RowPage {
  std::vector<std::string> rows;
  std::string next_row;  // empty: this was the last page
};

// Owns the database. Thread-safe, but for what `Database` says of Close.
class CheckedRows {
 public:
  // `counters` are those that `database` counts in.
  CheckedRows(std::unique_ptr<StoreCounters> counters,
              std::unique_ptr<Database> database, const StoreOptions& options)
      : options_(options),
        counters_(std::move(counters)),
        database_(std::move(database)) {}

  CheckedRows(const CheckedRows&) = delete;  // owns the database
  CheckedRows& operator=(const CheckedRows&) = delete;

  // Returns: the payload of a row's envelope; nothing for a miss and for
  // damage. Errors: Unavailable. Blocks: disk.
  absl::StatusOr<std::optional<Bytes>> Get(Family family,
                                           const std::string& row);

  // `Get`, where `read(in, value)` makes a T of the whole payload.
  template <typename T, typename Read>
  absl::StatusOr<std::optional<T>> GetRecord(Family family,
                                             const std::string& row,
                                             Read read) {
    KILN_ASSIGN_OR_RETURN(auto payload, Get(family, row));
    if (!payload.has_value()) {
      return std::nullopt;
    }
    T value;
    CanonicalReader in(*payload);
    read(in, value);
    if (absl::Status whole = in.Finish(KindText(KindOf(family))); !whole.ok()) {
      Drop(family, row, std::string(whole.message()));
      return std::nullopt;
    }
    return value;
  }

  absl::Status Put(Family family, std::string row, ByteView payload);

  // Deletes a row that need not be there.
  absl::Status Erase(Family family, std::string row);

  // Deletes, counts and logs a damaged row, and its row in the index.
  void Drop(Family family, const std::string& row, std::string_view why);

  // The rows after `after_row` (empty: from the start) of a family whose rows
  // are targets and keys (ArtifactRow): at most `limit`, and at most
  // limits::kListPageSize. Errors: InvalidArgument: `after_row` is no such row.
  absl::StatusOr<RowPage> ListTargetRows(Family family,
                                         std::string_view after_row,
                                         size_t limit) const;

  // Content lies under its SHA-256: programs and modules. Putting what is there
  // does nothing. Errors: InvalidArgument: `id` is another digest, or over the
  // limit of the family.
  absl::Status PutContent(Family family, const Digest& id, ByteView content);
  absl::StatusOr<std::optional<Bytes>> GetContent(Family family,
                                                  const Digest& id);

  // What PutContent checks, without writing.
  static absl::Status CheckContent(Family family, const Digest& id,
                                   ByteView content);

  // Errors: FailedPrecondition naming the module when it is not stored.
  absl::Status RequireModule(const StageModule& stage);

  // Whether a row under this id was seen to be stored and whole.
  bool IsKnown(Family family, const Digest& id);
  void SetKnown(Family family, const Digest& id, bool known);

  Database& database() { return *database_; }

  const StoreCounters& counters() const { return *counters_; }

 private:
  const StoreOptions options_;
  const std::unique_ptr<StoreCounters> counters_;
  const std::unique_ptr<Database> database_;

  // So that the programs, modules and targets which many variants share are
  // neither written nor read again for each variant. A leaf lock: nothing is
  // called while it is held.
  absl::Mutex mutex_;
  absl::flat_hash_set<std::pair<Family, Digest>> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln::storage
