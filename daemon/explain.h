// SPDX-License-Identifier: Apache-2.0
#pragma once

// Finds the stored variant that is nearest to a key, and says what is
// different: why the key is not stored, or why it had to be compiled. The call
// is in explain_call.h; what a difference is, in proto/program_diff.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/digest.h"
#include "proto/program.h"
#include "proto/program_diff.h"
#include "proto/target.h"
#include "proto/variant_key.h"

namespace kiln::daemon {

struct StoredVariant {
  Digest target;
  VariantKey key;
};

struct StoredPage {
  std::vector<StoredVariant> variants;
  std::string next_row;  // empty: this was the last page
};

// What the search reads. Errors of all functions: those of the store; they end
// the search.
class ExplainSource {
 public:
  virtual ~ExplainSource() = default;

  // The variants with this key id, of every target.
  virtual absl::StatusOr<std::vector<StoredVariant>> WithKey(
      const Digest& key_id) = 0;

  // One page of all variants; `after_row`: `next_row` of the page before.
  virtual absl::StatusOr<StoredPage> List(std::string_view after_row) = 0;

  // Returns: nullopt for what is not known (any more).
  virtual absl::StatusOr<std::optional<Program>> FindProgram(
      const Digest& id) = 0;
  virtual absl::StatusOr<std::optional<TargetIdentity>> FindTarget(
      const Digest& id) = 0;

  // The snapshots of the living program that `program` is a snapshot of, the
  // newest first; empty where it is none.
  virtual absl::StatusOr<std::vector<Digest>> Snapshots(
      const Digest& program) = 0;
};

// Bounds of one search, so that a large store answers within a second. Past
// them a nearer variant may be missed.
struct SearchLimits {
  size_t rows = 20000;    // of the store's index
  size_t programs = 256;  // read and compared, a few ms each
};

struct NearestVariant {
  // Absent: no other variant of a program of that name is stored.
  std::optional<StoredVariant> variant;
  std::string label;  // KeyLabel of it
  std::vector<Difference> differences;
  uint32_t entries_searched = 0;
  bool searched_all = false;  // the bounds were not reached
};

// The nearest is the one with the fewest differences. One in the choices of a
// key weighs as much as eight of the sources, the driver or the device: that
// the same choices were compiled before tells more about an edit or an update
// than that others were. Among equals, the newest snapshot. `asked` itself is
// left out, so that a stored key says why it was compiled.
// Requires: `asked` is normalised for `program`. Errors: those of `source`.
// Blocks: disk.
absl::StatusOr<NearestVariant> FindNearest(ExplainSource& source,
                                           const Program& program,
                                           const StoredVariant& asked,
                                           const SearchLimits& limits = {});

}  // namespace kiln::daemon
