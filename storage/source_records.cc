// SPDX-License-Identifier: Apache-2.0
#include "storage/source_records.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "proto/canonical.h"
#include "proto/limits.h"
#include "proto/module_interface.h"
#include "proto/status_macros.h"
#include "storage/checked_rows.h"

namespace kiln::storage {
namespace {

constexpr size_t kMaxWarningBytes = 4 * limits::kDiagnosticBytes;
constexpr size_t kMaxRootsBytes = 1u << 20;
constexpr uint32_t kMaxIdentityFields = 4096;

std::string RowOf(const Digest& id) {
  return std::string(id.raw());
}

absl::Status CheckSize(std::string_view what, size_t size, size_t limit) {
  return size <= limit
             ? absl::OkStatus()
             : absl::InvalidArgumentError(fmt::format(
                   "{}: {} bytes, over the limit of {}", what, size, limit));
}

// The row keys of a family whose rows lie under digests.
absl::StatusOr<std::vector<Digest>> IdsIn(CheckedRows& rows, Family family) {
  std::vector<Digest> ids;
  KILN_RETURN_IF_ERROR(
      rows.database().Scan(family, "", [&](std::string_view row) -> ScanStep {
        if (auto id = Digest::FromRaw(row); id.ok()) {
          ids.push_back(*id);
        }
        return {};
      }));
  return ids;
}

}  // namespace

absl::Status SourceRecords::PutInterface(const Digest& module,
                                         ByteView canonical) {
  KILN_RETURN_IF_ERROR(
      CheckSize("interface", canonical.size(), limits::kModuleBytes));
  KILN_RETURN_IF_ERROR(DecodeInterface(canonical).status());
  return rows_.Put(Family::kInterfaces, RowOf(module), canonical);
}

absl::StatusOr<std::optional<Bytes>> SourceRecords::GetInterface(
    const Digest& module) {
  const std::string row = RowOf(module);
  KILN_ASSIGN_OR_RETURN(auto canonical, rows_.Get(Family::kInterfaces, row));
  if (canonical.has_value()) {
    if (auto decoded = DecodeInterface(*canonical); !decoded.ok()) {
      rows_.Drop(Family::kInterfaces, row,
                 std::string(decoded.status().message()));
      return std::nullopt;
    }
  }
  return canonical;
}

absl::Status SourceRecords::PutShader(const Digest& source_set,
                                      std::string_view compiler_version,
                                      const StoredShader& shader) {
  KILN_RETURN_IF_ERROR(CheckSize("compiler version", compiler_version.size(),
                                 kMaxCompilerVersionBytes));
  KILN_RETURN_IF_ERROR(
      CheckSize("warnings", shader.warnings.size(), kMaxWarningBytes));
  KILN_RETURN_IF_ERROR(rows_.RequireModule(shader.module));
  CanonicalWriter out;
  out.U8(static_cast<uint8_t>(shader.module.stage));
  out.Id(shader.module.module);
  out.Text(shader.warnings);
  return rows_.Put(Family::kShaders, ShaderRow(source_set, compiler_version),
                   out.bytes());
}

absl::StatusOr<std::optional<StoredShader>> SourceRecords::GetShader(
    const Digest& source_set, std::string_view compiler_version) {
  return rows_.GetRecord<StoredShader>(
      Family::kShaders, ShaderRow(source_set, compiler_version),
      [](CanonicalReader& in, StoredShader& shader) {
        shader.module.stage = static_cast<Stage>(in.U8());
        shader.module.module = in.Id();
        shader.warnings = in.Text();
      });
}

absl::Status SourceRecords::PutSnapshots(
    const Digest& recipe, const std::vector<SnapshotRecord>& newest_first) {
  if (newest_first.empty()) {
    return rows_.Erase(Family::kSnapshots, RowOf(recipe));
  }
  if (newest_first.size() > kSnapshotsPerRecipe) {
    return absl::InvalidArgumentError(fmt::format(
        "recipe {}: {} snapshots, over the limit of {}", recipe.ShortHex(),
        newest_first.size(), kSnapshotsPerRecipe));
  }
  std::set<Digest> seen;
  CanonicalWriter out;
  out.Sequence(newest_first, [&](const SnapshotRecord& snapshot) {
    seen.insert(snapshot.program);
    out.Id(snapshot.program);
    out.U64(snapshot.first_seen_unix_ms);
  });
  if (seen.size() != newest_first.size()) {
    return absl::InvalidArgumentError(
        fmt::format("recipe {}: a snapshot appears twice", recipe.ShortHex()));
  }
  return rows_.Put(Family::kSnapshots, RowOf(recipe), out.bytes());
}

absl::StatusOr<std::vector<SnapshotRecord>> SourceRecords::GetSnapshots(
    const Digest& recipe) {
  KILN_ASSIGN_OR_RETURN(
      auto snapshots,
      rows_.GetRecord<std::vector<SnapshotRecord>>(
          Family::kSnapshots, RowOf(recipe),
          [](CanonicalReader& in, std::vector<SnapshotRecord>& list) {
            in.Sequence(kSnapshotsPerRecipe, [&] {
              const Digest program = in.Id();
              list.push_back({program, in.U64()});
            });
          }));
  return std::move(snapshots).value_or(std::vector<SnapshotRecord>());
}

absl::StatusOr<std::optional<Digest>> SourceRecords::FindRecipe(
    const Digest& snapshot) {
  KILN_ASSIGN_OR_RETURN(const std::vector<Digest> recipes,
                        IdsIn(rows_, Family::kSnapshots));
  for (const Digest& recipe : recipes) {
    KILN_ASSIGN_OR_RETURN(const std::vector<SnapshotRecord> made,
                          GetSnapshots(recipe));
    if (std::ranges::find(made, snapshot, &SnapshotRecord::program) !=
        made.end()) {
      return recipe;
    }
  }
  return std::nullopt;
}

absl::Status SourceRecords::PutSurfaces(const Digest& program,
                                        ByteView surfaces) {
  if (surfaces.empty()) {
    return rows_.Erase(Family::kSurfaces, RowOf(program));
  }
  KILN_RETURN_IF_ERROR(
      CheckSize("surfaces", surfaces.size(), limits::kProgramBytes));
  return rows_.Put(Family::kSurfaces, RowOf(program), surfaces);
}

absl::StatusOr<std::optional<Bytes>> SourceRecords::GetSurfaces(
    const Digest& program) {
  return rows_.Get(Family::kSurfaces, RowOf(program));
}

absl::Status SourceRecords::PutTarget(const TargetIdentity& identity) {
  if (identity.fields.size() > kMaxIdentityFields) {
    return absl::InvalidArgumentError(fmt::format(
        "target {}: {} fields, over the limit of {}", identity.Id().ShortHex(),
        identity.fields.size(), kMaxIdentityFields));
  }
  const Digest id = identity.Id();
  if (rows_.IsKnown(Family::kTargets, id)) {
    return absl::OkStatus();
  }
  KILN_ASSIGN_OR_RETURN(auto stored, GetTarget(id));
  if (stored.has_value()) {
    return absl::OkStatus();
  }
  CanonicalWriter out;
  out.Text(identity.device_name);
  out.Sequence(identity.fields, [&](const IdentityField& field) {
    out.Text(field.name);
    out.Text(field.value);
  });
  KILN_RETURN_IF_ERROR(rows_.Put(Family::kTargets, RowOf(id), out.bytes()));
  rows_.SetKnown(Family::kTargets, id, true);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<TargetIdentity>> SourceRecords::GetTarget(
    const Digest& target) {
  const std::string row = RowOf(target);
  KILN_ASSIGN_OR_RETURN(
      auto identity,
      rows_.GetRecord<TargetIdentity>(
          Family::kTargets, row, [](CanonicalReader& in, TargetIdentity& read) {
            read.device_name = in.Text();
            in.Sequence(kMaxIdentityFields, [&] {
              std::string name = in.Text();
              read.fields.push_back({std::move(name), in.Text()});
            });
          }));
  if (identity.has_value() && identity->Id() != target) {
    rows_.Drop(Family::kTargets, row, "its fields are those of another target");
    identity.reset();
  }
  rows_.SetKnown(Family::kTargets, target, identity.has_value());
  return identity;
}

absl::StatusOr<std::vector<TargetIdentity>> SourceRecords::ListTargets() {
  KILN_ASSIGN_OR_RETURN(const std::vector<Digest> ids,
                        IdsIn(rows_, Family::kTargets));
  std::vector<TargetIdentity> targets;
  for (const Digest& id : ids) {
    KILN_ASSIGN_OR_RETURN(auto identity, GetTarget(id));
    if (identity.has_value()) {
      targets.push_back(*std::move(identity));
    }
  }
  return targets;
}

absl::Status SourceRecords::PutRoots(ByteView roots) {
  KILN_RETURN_IF_ERROR(CheckSize("roots", roots.size(), kMaxRootsBytes));
  return rows_.Put(Family::kRoots, std::string(kRootsRow), roots);
}

absl::StatusOr<std::optional<Bytes>> SourceRecords::GetRoots() {
  return rows_.Get(Family::kRoots, std::string(kRootsRow));
}

}  // namespace kiln::storage
