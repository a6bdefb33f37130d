// SPDX-License-Identifier: Apache-2.0
#include "storage/schema.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "proto/bytes.h"
#include "proto/canonical.h"
#include "proto/status_macros.h"
#include "storage/envelope.h"
#include "storage/row_keys.h"
#include "storage/variant_store.h"

namespace kiln::storage {
namespace {

// What lies under the id of a program, or is named by something that does:
// version 4 gives every program another id. Targets and roots stay. (Failures
// came with version 4.)
absl::Status DeleteUnreachable(Database& database) {
  return database.DropFamilies(
      {Family::kPrograms, Family::kProgramIndex, Family::kModules,
       Family::kInterfaces, Family::kFrontEnds, Family::kShaders,
       Family::kArtifacts, Family::kArtifactIndex, Family::kTunings,
       Family::kSnapshots, Family::kSurfaces});
}

}  // namespace

absl::Status ApplySchema(Database& database, std::string_view folder) {
  const std::string row(kSchemaRow);
  KILN_ASSIGN_OR_RETURN(auto value, database.Get(Family::kMeta, row));
  bool outdated = !value.has_value();
  if (value.has_value()) {
    const absl::StatusOr<ByteView> payload = OpenEnvelope(
        ValueKind::kSchema, row, AsBytes(std::string_view(*value)));
    CanonicalReader in(payload.value_or(ByteView()));
    const uint32_t version = in.U32();
    if (!payload.ok() || !in.ok()) {
      return absl::DataLossError(
          fmt::format("store {}: the schema row is damaged", folder));
    }
    if (version > kSchemaVersion) {
      return absl::FailedPreconditionError(
          fmt::format("store {}: written by a newer Kiln, with schema version "
                      "{}; this one knows up to version {}",
                      folder, version, kSchemaVersion));
    }
    if (version < kSchemaVersion) {
      outdated = true;
      KILN_RETURN_IF_ERROR(DeleteUnreachable(database));
    }
  }
  KILN_RETURN_IF_ERROR(database.CreateMissingFamilies());
  if (!outdated) {
    return absl::OkStatus();
  }
  CanonicalWriter out;
  out.U32(kSchemaVersion);
  const RowWrite schema = Sealed(Family::kMeta, row, out.bytes());
  KILN_RETURN_IF_ERROR(database.Write({&schema, 1}));
  return database.Sync();
}

}  // namespace kiln::storage
