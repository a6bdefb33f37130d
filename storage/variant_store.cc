// SPDX-License-Identifier: Apache-2.0
#include "storage/variant_store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/canonical.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "storage/checked_rows.h"
#include "storage/database.h"
#include "storage/envelope.h"
#include "storage/row_keys.h"
#include "storage/schema.h"

namespace kiln::storage {
namespace {

constexpr uint32_t kMaxStageModules = 256;
constexpr size_t kMaxProgramPage = 4096;

ScanStep SeekTo(std::string row) {
  const bool end = row.empty();
  return {end ? ScanStep::Action::kStop : ScanStep::Action::kSeek,
          std::move(row)};
}

}  // namespace

VariantStore::VariantStore(std::unique_ptr<CheckedRows> rows)
    : SourceRecords(*rows), FailureRecords(*rows), rows_(std::move(rows)) {}

VariantStore::~VariantStore() {
  Close().IgnoreError();
}

absl::StatusOr<std::unique_ptr<VariantStore>> VariantStore::Open(
    const std::filesystem::path& db_folder, const StoreOptions& options) {
  auto counters = std::make_unique<StoreCounters>();
  KILN_ASSIGN_OR_RETURN(auto database,
                        Database::Open(db_folder, options, *counters));
  KILN_RETURN_IF_ERROR(ApplySchema(*database, ToValidUtf8(db_folder.string())));
  return std::unique_ptr<VariantStore>(
      new VariantStore(std::make_unique<CheckedRows>(
          std::move(counters), std::move(database), options)));
}

absl::Status VariantStore::PutProgram(const Digest& id, ByteView canonical) {
  return rows_->PutContent(Family::kPrograms, id, canonical);
}

absl::StatusOr<std::optional<Bytes>> VariantStore::GetProgram(
    const Digest& id) {
  return rows_->GetContent(Family::kPrograms, id);
}

absl::StatusOr<ProgramPage> VariantStore::ListPrograms(const Digest& after,
                                                       size_t limit) {
  const size_t page_size = std::clamp<size_t>(limit, 1, kMaxProgramPage);
  ProgramPage page;
  KILN_RETURN_IF_ERROR(rows_->database().Scan(
      Family::kProgramIndex, after.is_none() ? "" : after.raw(),
      [&](std::string_view row) -> ScanStep {
        const absl::StatusOr<Digest> id = Digest::FromRaw(row);
        if (!id.ok() || *id == after) {
          return {};
        }
        if (page.programs.size() == page_size) {
          page.next = page.programs.back();
          return {ScanStep::Action::kStop, ""};
        }
        page.programs.push_back(*id);
        return {};
      }));
  return page;
}

absl::Status VariantStore::PutModule(const Digest& id, ByteView spirv) {
  return rows_->PutContent(Family::kModules, id, spirv);
}

absl::StatusOr<std::optional<Bytes>> VariantStore::GetModule(const Digest& id) {
  return rows_->GetContent(Family::kModules, id);
}

absl::Status VariantStore::CheckModules(const std::vector<StageModule>& modules,
                                        std::span<const Module> arriving) {
  if (modules.size() > kMaxStageModules) {
    return absl::InvalidArgumentError(fmt::format(
        "{} modules, over the limit of {}", modules.size(), kMaxStageModules));
  }
  for (const StageModule& stage : modules) {
    if (std::ranges::find(arriving, stage.module, &Module::id) ==
        arriving.end()) {
      KILN_RETURN_IF_ERROR(rows_->RequireModule(stage));
    }
  }
  return absl::OkStatus();
}

absl::Status VariantStore::PutFrontEnd(const Digest& program,
                                       std::string_view compiler_version,
                                       const FrontEnd& front_end) {
  if (compiler_version.size() > kMaxCompilerVersionBytes) {
    return absl::InvalidArgumentError(fmt::format(
        "compiler version is over {} bytes", kMaxCompilerVersionBytes));
  }
  KILN_RETURN_IF_ERROR(CheckModules(front_end.modules, {}));
  CanonicalWriter out;
  out.Sequence(front_end.modules, [&](const StageModule& stage) {
    out.U8(static_cast<uint8_t>(stage.stage));
    out.Id(stage.module);
  });
  out.Sequence(front_end.unused_overrides,
               [&](const std::string& name) { out.Text(name); });
  return rows_->Put(Family::kFrontEnds, FrontEndRow(program, compiler_version),
                    out.bytes());
}

absl::StatusOr<std::optional<FrontEnd>> VariantStore::GetFrontEnd(
    const Digest& program, std::string_view compiler_version) {
  return rows_->GetRecord<FrontEnd>(
      Family::kFrontEnds, FrontEndRow(program, compiler_version),
      [](CanonicalReader& in, FrontEnd& front_end) {
        in.Sequence(kMaxStageModules, [&] {
          const auto stage = static_cast<Stage>(in.U8());
          front_end.modules.push_back({stage, in.Id()});
        });
        in.Sequence(limits::kOverrides,
                    [&] { front_end.unused_overrides.push_back(in.Text()); });
      });
}

absl::Status VariantStore::PutTuning(const Digest& target,
                                     const Digest& program,
                                     const Tuning& tuning) {
  CanonicalWriter out;
  out.Sequence(tuning.overrides, [&](const OverrideValue& entry) {
    out.Text(entry.name);
    out.U64(entry.value);
  });
  out.U64(tuning.median_ns);
  out.U32(tuning.candidates);
  return rows_->Put(Family::kTunings, TuningRow(target, program), out.bytes());
}

absl::StatusOr<std::optional<Tuning>> VariantStore::GetTuning(
    const Digest& target, const Digest& program) {
  return rows_->GetRecord<Tuning>(
      Family::kTunings, TuningRow(target, program),
      [](CanonicalReader& in, Tuning& tuning) {
        in.Sequence(limits::kOverrides, [&] {
          std::string name = in.Text();
          tuning.overrides.push_back({std::move(name), in.U64()});
        });
        tuning.median_ns = in.U64();
        tuning.candidates = in.U32();
      });
}

absl::Status VariantStore::PutArtifact(const Artifact& artifact,
                                       std::span<const Module> modules) {
  const Digest key_id = KeyId(artifact.key);
  if (artifact.target.is_none()) {
    return absl::InvalidArgumentError(
        fmt::format("artifact {}: it names no target", key_id.ShortHex()));
  }
  if (artifact.blob.size() > limits::kBlobBytes) {
    return absl::InvalidArgumentError(fmt::format(
        "artifact {}: blob of {} bytes, over the limit of {}",
        key_id.ShortHex(), artifact.blob.size(), limits::kBlobBytes));
  }
  KILN_RETURN_IF_ERROR(CheckModules(artifact.modules, modules));
  std::vector<RowWrite> rows;
  for (const Module& module : modules) {
    if (rows_->IsKnown(Family::kModules, module.id)) {
      continue;
    }
    KILN_RETURN_IF_ERROR(
        CheckedRows::CheckContent(Family::kModules, module.id, module.spirv));
    rows.push_back(
        Sealed(Family::kModules, std::string(module.id.raw()), module.spirv));
  }
  const std::string row = ArtifactRow(artifact.target, key_id);
  rows.push_back(Sealed(Family::kArtifacts, row, EncodeArtifact(artifact)));
  CanonicalWriter index;
  index.U64(artifact.blob.size());
  rows.push_back(Sealed(Family::kArtifactIndex, row, index.bytes()));
  KILN_RETURN_IF_ERROR(rows_->database().Write(rows));
  for (const Module& module : modules) {
    rows_->SetKnown(Family::kModules, module.id, true);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Artifact>> VariantStore::GetArtifactAt(
    const std::string& row) {
  KILN_ASSIGN_OR_RETURN(auto payload, rows_->Get(Family::kArtifacts, row));
  if (!payload.has_value()) {
    return std::nullopt;
  }
  absl::StatusOr<Artifact> artifact = DecodeArtifact(*payload);
  if (!artifact.ok()) {
    rows_->Drop(Family::kArtifacts, row,
                std::string(artifact.status().message()));
    return std::nullopt;
  }
  if (ArtifactRow(artifact->target, KeyId(artifact->key)) != row) {
    rows_->Drop(Family::kArtifacts, row, "it is of another target or key");
    return std::nullopt;
  }
  return *std::move(artifact);
}

absl::StatusOr<std::optional<Artifact>> VariantStore::GetArtifact(
    const Digest& target, const VariantKey& key) {
  const std::string row = ArtifactRow(target, KeyId(key));
  KILN_ASSIGN_OR_RETURN(auto artifact, GetArtifactAt(row));
  if (artifact.has_value() &&
      (artifact->target != target || artifact->key != key)) {
    rows_->Drop(Family::kArtifacts, row,
                "its key has the same digest and is another");
    return std::nullopt;
  }
  return artifact;
}

absl::StatusOr<std::optional<Artifact>> VariantStore::GetArtifactById(
    const Digest& target, const Digest& key_id) {
  return GetArtifactAt(ArtifactRow(target, key_id));
}

absl::Status VariantStore::RemoveArtifact(const Digest& target,
                                          const Digest& key_id) {
  const std::string row = ArtifactRow(target, key_id);
  const std::vector<RowWrite> rows = {
      {Family::kArtifacts, row, std::nullopt},
      {Family::kArtifactIndex, row, std::nullopt}};
  return rows_->database().Erase(rows);
}

absl::StatusOr<std::vector<Artifact>> VariantStore::FindArtifacts(
    std::string_view key_hex_prefix, size_t limit) {
  KILN_ASSIGN_OR_RETURN(const DigestRange wanted,
                        DigestRange::Of(key_hex_prefix));
  // Rows are ordered by target, and there are few targets: within each, go
  // straight to the wanted keys, then straight to the next target.
  std::vector<std::string> rows;
  auto visit = [&](std::string_view row) -> ScanStep {
    const std::string target(row.substr(0, Digest::kBytes));
    const std::string_view key_id = row.substr(target.size());
    if (key_id < wanted.first) {
      return SeekTo(target + wanted.first);
    }
    if (!wanted.contains(key_id)) {
      return SeekTo(AfterTarget(target));
    }
    rows.emplace_back(row);
    return {
        rows.size() < limit ? ScanStep::Action::kNext : ScanStep::Action::kStop,
        ""};
  };
  std::vector<Artifact> artifacts;
  if (limit == 0) {
    return artifacts;
  }
  KILN_RETURN_IF_ERROR(
      rows_->database().Scan(Family::kArtifactIndex, "", visit));
  for (const std::string& row : rows) {
    KILN_ASSIGN_OR_RETURN(auto artifact, GetArtifactAt(row));
    if (artifact.has_value()) {
      artifacts.push_back(*std::move(artifact));
    }
  }
  return artifacts;
}

absl::StatusOr<ArtifactPage> VariantStore::ListArtifacts(
    std::string_view after_row, size_t limit) {
  KILN_ASSIGN_OR_RETURN(
      RowPage listed,
      rows_->ListTargetRows(Family::kArtifactIndex, after_row, limit));
  ArtifactPage page;
  page.next_row = std::move(listed.next_row);
  for (const std::string& row : listed.rows) {
    KILN_ASSIGN_OR_RETURN(auto artifact, GetArtifactAt(row));
    if (artifact.has_value()) {
      const uint64_t blob_bytes = artifact->blob.size();
      artifact->blob = Bytes();
      page.artifacts.push_back({*std::move(artifact), blob_bytes});
    }
  }
  return page;
}

StoreCounts VariantStore::counts() const {
  return {rows_->database().EstimatedRows(Family::kPrograms),
          rows_->database().EstimatedRows(Family::kModules),
          rows_->database().EstimatedRows(Family::kArtifactIndex),
          rows_->database().DiskBytes()};
}

const StoreCounters& VariantStore::counters() const {
  return rows_->counters();
}

absl::Status VariantStore::Sync() {
  return rows_->database().Sync();
}

absl::Status VariantStore::Close() {
  return rows_->database().Close();
}

}  // namespace kiln::storage
