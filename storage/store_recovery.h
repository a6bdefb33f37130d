// SPDX-License-Identifier: Apache-2.0
#pragma once

// Opening a store that may be damaged as a whole (a lost MANIFEST, a missing
// table file), without a person: KNOWN_FAULTS 26. What the daemon calls; plain
// opening is VariantStore::Open.

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "storage/variant_store.h"

namespace kiln::storage {

struct RecoveredStore {
  std::unique_ptr<VariantStore> store;

  // What had to be done, for the log and the health call; empty: nothing.
  std::string note;
};

// Opens the store. If it is damaged as a whole, repairs it once, which loses
// the artifacts and keeps what is readable of the rest; if that does not help,
// renames the folder to `<folder>.damaged-<UTC time>` and starts empty.
// Requires and Errors: as VariantStore::Open, but DataLoss only where the
// damaged folder could not be renamed. Blocks: disk; a repair reads every
// table.
absl::StatusOr<RecoveredStore> OpenOrRecover(
    const std::filesystem::path& db_folder, const StoreOptions& options);

}  // namespace kiln::storage
