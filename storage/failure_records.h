// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which variants cannot be made, and why: a key that fails costs one compile
// for everybody, until something that its key or target stands for changes (a
// source makes another program, a driver another target). Reached through
// variant_store.h; the rows are described in FORMAT.md.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/digest.h"
#include "proto/variant_key.h"

namespace kiln::storage {

class CheckedRows;

// Why a variant failed. Persisted: do not renumber.
enum class FailureCause : uint8_t {
  kRefused = 1,  // by the compiler, the validator or the device's limits
  kCrashed = 2,  // took two workers down: quarantined
};

struct FailureRecord {
  Digest target;
  VariantKey key;
  FailureCause cause = FailureCause::kRefused;
  std::string compiler;  // whose failure it is; another version may succeed
  absl::StatusCode code = absl::StatusCode::kInternal;
  std::string message;
  std::string diagnostics;  // as CapDiagnostics leaves them
  uint64_t unix_ms = 0;     // when

  friend bool operator==(const FailureRecord&, const FailureRecord&) = default;
};

struct FailurePage {
  std::vector<FailureRecord> failures;
  std::string next_row;  // pass as `after_row`; empty: this was the last page
};

// Part of VariantStore, with what is common to its functions. Thread-safe.
class FailureRecords {
 public:
  FailureRecords(const FailureRecords&) = delete;  // part of the store
  FailureRecords& operator=(const FailureRecords&) = delete;

  // Replaces what was there. Errors: InvalidArgument: over four times
  // limits::kDiagnosticBytes of text. ResourceExhausted: disk full, or nearly.
  // Blocks: disk.
  absl::Status PutFailure(const FailureRecord& failure);

  absl::StatusOr<std::optional<FailureRecord>> GetFailure(
      const Digest& target, const VariantKey& key);

  // Returns: whether there was one. Blocks: disk.
  absl::StatusOr<bool> RemoveFailure(const Digest& target,
                                     const Digest& key_id);

  // By target and key, at most `limit` or 100 rows after `after_row` (empty:
  // from the start). Errors: InvalidArgument: `after_row` is no row of a page.
  absl::StatusOr<FailurePage> ListFailures(std::string_view after_row,
                                           size_t limit);

 protected:
  // Lifetime: `rows` outlives every call.
  explicit FailureRecords(CheckedRows& rows) : rows_(rows) {}

  ~FailureRecords() = default;

 private:
  absl::StatusOr<std::optional<FailureRecord>> GetFailureAt(
      const std::string& row);

  CheckedRows& rows_;
};

}  // namespace kiln::storage
