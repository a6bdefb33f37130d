// SPDX-License-Identifier: Apache-2.0
#pragma once

// The store as the search for a nearest variant sees it.

#include "daemon/explain.h"
#include "daemon/program_registry.h"

namespace kiln::daemon {

// Thread-compatible. Requires: both outlive it.
class StoredVariants final : public ExplainSource {
 public:
  StoredVariants(storage::VariantStore& store, ProgramRegistry& registry)
      : store_(store), registry_(registry) {}

  absl::StatusOr<std::vector<StoredVariant>> WithKey(
      const Digest& key_id) override;
  absl::StatusOr<StoredPage> List(std::string_view after_row) override;

  // Read from disk, so that looking at the past does not fill the registry;
  // from there only what the disk had no room for.
  absl::StatusOr<std::optional<Program>> FindProgram(const Digest& id) override;
  absl::StatusOr<std::optional<TargetIdentity>> FindTarget(
      const Digest& id) override;
  absl::StatusOr<std::vector<Digest>> Snapshots(const Digest& program) override;

 private:
  storage::VariantStore& store_;
  ProgramRegistry& registry_;
};

}  // namespace kiln::daemon
