// SPDX-License-Identifier: Apache-2.0
#include "daemon/stored_variants.h"

#include <utility>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "storage/variant_store.h"

namespace kiln::daemon {
namespace {

// A key for more targets than any machine has.
constexpr size_t kTargetsPerKey = 64;

}  // namespace

absl::StatusOr<std::vector<StoredVariant>> StoredVariants::WithKey(
    const Digest& key_id) {
  KILN_ASSIGN_OR_RETURN(std::vector<Artifact> found,
                        store_.FindArtifacts(key_id.Hex(), kTargetsPerKey));
  std::vector<StoredVariant> variants;
  for (Artifact& artifact : found) {
    variants.push_back({artifact.target, std::move(artifact.key)});
  }
  return variants;
}

absl::StatusOr<StoredPage> StoredVariants::List(std::string_view after_row) {
  KILN_ASSIGN_OR_RETURN(storage::ArtifactPage page,
                        store_.ListArtifacts(after_row, limits::kListPageSize));
  StoredPage out;
  for (storage::ListedArtifact& listed : page.artifacts) {
    out.variants.push_back(
        {listed.artifact.target, std::move(listed.artifact.key)});
  }
  out.next_row = std::move(page.next_row);
  return out;
}

absl::StatusOr<std::optional<Program>> StoredVariants::FindProgram(
    const Digest& id) {
  KILN_ASSIGN_OR_RETURN(const std::optional<Bytes> canonical,
                        store_.GetProgram(id));
  if (canonical) {
    if (auto program = DecodeProgram(*canonical); program.ok()) {
      return *std::move(program);
    }
    return std::nullopt;
  }
  const auto registered = registry_.Find(id);
  if (!registered.ok()) {
    return std::nullopt;
  }
  return (*registered)->program();
}

absl::StatusOr<std::optional<TargetIdentity>> StoredVariants::FindTarget(
    const Digest& id) {
  return store_.GetTarget(id);
}

absl::StatusOr<std::vector<Digest>> StoredVariants::Snapshots(
    const Digest& program) {
  std::vector<Digest> ids;
  KILN_ASSIGN_OR_RETURN(const std::optional<Digest> recipe,
                        store_.FindRecipe(program));
  if (recipe.has_value()) {
    KILN_ASSIGN_OR_RETURN(const std::vector<storage::SnapshotRecord> records,
                          store_.GetSnapshots(*recipe));
    for (const storage::SnapshotRecord& record : records) {
      ids.push_back(record.program);
    }
  }
  return ids;
}

}  // namespace kiln::daemon
