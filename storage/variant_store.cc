// SPDX-License-Identifier: Apache-2.0
#include "storage/variant_store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/canonical.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "storage/database.h"
#include "storage/envelope.h"
#include "storage/row_keys.h"

namespace kiln::storage {
namespace {

constexpr uint32_t kMaxStageModules = 256;
constexpr size_t kMaxKnown = 65536;  // some 4 MB; then it starts anew
constexpr size_t kMaxVersionBytes = 1024;

absl::Status CheckContent(Family family, const Digest& id, ByteView content) {
  const size_t limit =
      family == Family::kModules ? limits::kModuleBytes : limits::kBlobBytes;
  const std::string_view kind = KindText(KindOf(family));
  if (content.size() > limit) {
    return absl::InvalidArgumentError(
        fmt::format("{} {}: {} bytes, over the limit of {}", kind,
                    id.ShortHex(), content.size(), limit));
  }
  if (Digest::Of(content) != id) {
    return absl::InvalidArgumentError(fmt::format(
        "{} {}: the content has another digest", kind, id.ShortHex()));
  }
  return absl::OkStatus();
}

ScanStep SeekTo(std::string row) {
  const bool end = row.empty();
  return {end ? ScanStep::Action::kStop : ScanStep::Action::kSeek,
          std::move(row)};
}

// Checks the schema version, or writes it into an empty database. Everything
// that version 1 stored lies under ids that version 2 never asks for.
absl::Status CheckSchema(Database& database, std::string_view folder) {
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
      KILN_RETURN_IF_ERROR(database.DropFamilies(
          {Family::kPrograms, Family::kModules, Family::kFrontEnds,
           Family::kArtifacts, Family::kArtifactIndex}));
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

}  // namespace

VariantStore::VariantStore(std::unique_ptr<StoreCounters> counters,
                           std::unique_ptr<Database> database,
                           const StoreOptions& options)
    : options_(options),
      counters_(std::move(counters)),
      database_(std::move(database)) {}

VariantStore::~VariantStore() {
  Close().IgnoreError();
}

absl::StatusOr<std::unique_ptr<VariantStore>> VariantStore::Open(
    const std::filesystem::path& db_folder, const StoreOptions& options) {
  auto counters = std::make_unique<StoreCounters>();
  KILN_ASSIGN_OR_RETURN(auto database,
                        Database::Open(db_folder, options, *counters));
  KILN_RETURN_IF_ERROR(CheckSchema(*database, ToValidUtf8(db_folder.string())));
  return std::unique_ptr<VariantStore>(
      new VariantStore(std::move(counters), std::move(database), options));
}

bool VariantStore::IsKnown(Family family, const Digest& id) {
  absl::MutexLock lock(&mutex_);
  return known_.contains({family, id});
}

void VariantStore::SetKnown(Family family, const Digest& id, bool known) {
  absl::MutexLock lock(&mutex_);
  if (!known) {
    known_.erase({family, id});
    return;
  }
  if (known_.size() >= kMaxKnown) {
    known_.clear();
  }
  known_.insert({family, id});
}

void VariantStore::Drop(Family family, const std::string& row,
                        std::string_view why) {
  ++counters_->damaged_entries;
  std::vector<RowWrite> rows = {{family, row, std::nullopt}};
  if (family == Family::kArtifacts) {
    rows.push_back({Family::kArtifactIndex, row, std::nullopt});
  }
  // A good value that another thread put just now is lost with it: legal, and
  // cheaper than a lock around every write.
  const absl::Status erased = database_->Erase(rows);
  options_.log(
      Shorten(fmt::format("{} {} is damaged and dropped: {}{}",
                          KindText(KindOf(family)), RowText(row), why,
                          erased.ok() ? "" : "; deleting it failed as well"),
              limits::kStatusTextBytes));
}

absl::StatusOr<std::optional<Bytes>> VariantStore::GetPayload(
    Family family, const std::string& row) {
  absl::StatusOr<std::optional<std::string>> value =
      database_->Get(family, row);
  absl::Status damage;
  if (value.ok()) {
    if (!value->has_value()) {
      return std::nullopt;
    }
    absl::StatusOr<ByteView> payload =
        OpenEnvelope(KindOf(family), row, AsBytes(std::string_view(**value)));
    if (payload.ok()) {
      return ToBytes(*payload);
    }
    damage = payload.status();
  } else if (absl::IsDataLoss(value.status())) {
    damage = value.status();
  } else {
    return value.status();
  }
  Drop(family, row, std::string(damage.message()));
  return std::nullopt;
}

absl::Status VariantStore::PutContent(Family family, const Digest& id,
                                      ByteView content) {
  KILN_RETURN_IF_ERROR(CheckContent(family, id, content));
  if (IsKnown(family, id)) {
    return absl::OkStatus();
  }
  KILN_ASSIGN_OR_RETURN(auto stored, GetContent(family, id));
  if (stored.has_value()) {
    return absl::OkStatus();
  }
  const RowWrite row = Sealed(family, std::string(id.raw()), content);
  KILN_RETURN_IF_ERROR(database_->Write({&row, 1}));
  SetKnown(family, id, true);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Bytes>> VariantStore::GetContent(
    Family family, const Digest& id) {
  const std::string row(id.raw());
  KILN_ASSIGN_OR_RETURN(auto content, GetPayload(family, row));
  if (content.has_value() && Digest::Of(*content) != id) {
    Drop(family, row, "the content has another digest");
    content.reset();
  }
  SetKnown(family, id, content.has_value());
  return content;
}

absl::Status VariantStore::PutProgram(const Digest& id, ByteView canonical) {
  return PutContent(Family::kPrograms, id, canonical);
}

absl::StatusOr<std::optional<Bytes>> VariantStore::GetProgram(
    const Digest& id) {
  return GetContent(Family::kPrograms, id);
}

absl::Status VariantStore::PutModule(const Digest& id, ByteView spirv) {
  return PutContent(Family::kModules, id, spirv);
}

absl::StatusOr<std::optional<Bytes>> VariantStore::GetModule(const Digest& id) {
  return GetContent(Family::kModules, id);
}

absl::Status VariantStore::CheckModules(const std::vector<StageModule>& modules,
                                        std::span<const Module> arriving) {
  if (modules.size() > kMaxStageModules) {
    return absl::InvalidArgumentError(fmt::format(
        "{} modules, over the limit of {}", modules.size(), kMaxStageModules));
  }
  for (const StageModule& stage : modules) {
    if (std::ranges::find(arriving, stage.module, &Module::id) !=
            arriving.end() ||
        IsKnown(Family::kModules, stage.module)) {
      continue;
    }
    KILN_ASSIGN_OR_RETURN(auto stored,
                          GetContent(Family::kModules, stage.module));
    if (!stored.has_value()) {
      return absl::FailedPreconditionError(
          fmt::format("{} module {} is not stored", StageName(stage.stage),
                      stage.module.ShortHex()));
    }
  }
  return absl::OkStatus();
}

absl::Status VariantStore::PutFrontEnd(const Digest& program,
                                       std::string_view compiler_version,
                                       const FrontEnd& front_end) {
  if (compiler_version.size() > kMaxVersionBytes) {
    return absl::InvalidArgumentError(
        fmt::format("compiler version is over {} bytes", kMaxVersionBytes));
  }
  KILN_RETURN_IF_ERROR(CheckModules(front_end.modules, {}));
  CanonicalWriter out;
  out.Sequence(front_end.modules, [&](const StageModule& stage) {
    out.U8(static_cast<uint8_t>(stage.stage));
    out.Id(stage.module);
  });
  out.Sequence(front_end.unused_overrides,
               [&](const std::string& name) { out.Text(name); });
  const RowWrite row = Sealed(
      Family::kFrontEnds, FrontEndRow(program, compiler_version), out.bytes());
  return database_->Write({&row, 1});
}

absl::StatusOr<std::optional<FrontEnd>> VariantStore::GetFrontEnd(
    const Digest& program, std::string_view compiler_version) {
  const std::string row = FrontEndRow(program, compiler_version);
  KILN_ASSIGN_OR_RETURN(auto payload, GetPayload(Family::kFrontEnds, row));
  if (!payload.has_value()) {
    return std::nullopt;
  }
  FrontEnd front_end;
  CanonicalReader in(*payload);
  in.Sequence(kMaxStageModules, [&] {
    const auto stage = static_cast<Stage>(in.U8());
    front_end.modules.push_back({stage, in.Id()});
  });
  in.Sequence(limits::kOverrides,
              [&] { front_end.unused_overrides.push_back(in.Text()); });
  if (absl::Status read = in.Finish("front end"); !read.ok()) {
    Drop(Family::kFrontEnds, row, std::string(read.message()));
    return std::nullopt;
  }
  return front_end;
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
  const RowWrite row =
      Sealed(Family::kTunings, TuningRow(target, program), out.bytes());
  return database_->Write({&row, 1});
}

absl::StatusOr<std::optional<Tuning>> VariantStore::GetTuning(
    const Digest& target, const Digest& program) {
  const std::string row = TuningRow(target, program);
  KILN_ASSIGN_OR_RETURN(auto payload, GetPayload(Family::kTunings, row));
  if (!payload.has_value()) {
    return std::nullopt;
  }
  Tuning tuning;
  CanonicalReader in(*payload);
  in.Sequence(limits::kOverrides, [&] {
    std::string name = in.Text();
    tuning.overrides.push_back({std::move(name), in.U64()});
  });
  tuning.median_ns = in.U64();
  tuning.candidates = in.U32();
  if (absl::Status read = in.Finish("tuning"); !read.ok()) {
    Drop(Family::kTunings, row, std::string(read.message()));
    return std::nullopt;
  }
  return tuning;
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
    if (IsKnown(Family::kModules, module.id)) {
      continue;
    }
    KILN_RETURN_IF_ERROR(
        CheckContent(Family::kModules, module.id, module.spirv));
    rows.push_back(
        Sealed(Family::kModules, std::string(module.id.raw()), module.spirv));
  }
  const std::string row = ArtifactRow(artifact.target, key_id);
  rows.push_back(Sealed(Family::kArtifacts, row, EncodeArtifact(artifact)));
  CanonicalWriter index;
  index.U64(artifact.blob.size());
  rows.push_back(Sealed(Family::kArtifactIndex, row, index.bytes()));
  KILN_RETURN_IF_ERROR(database_->Write(rows));
  for (const Module& module : modules) {
    SetKnown(Family::kModules, module.id, true);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Artifact>> VariantStore::GetArtifactAt(
    const std::string& row) {
  KILN_ASSIGN_OR_RETURN(auto payload, GetPayload(Family::kArtifacts, row));
  if (!payload.has_value()) {
    return std::nullopt;
  }
  absl::StatusOr<Artifact> artifact = DecodeArtifact(*payload);
  if (!artifact.ok()) {
    Drop(Family::kArtifacts, row, std::string(artifact.status().message()));
    return std::nullopt;
  }
  if (ArtifactRow(artifact->target, KeyId(artifact->key)) != row) {
    Drop(Family::kArtifacts, row, "it is of another target or key");
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
    Drop(Family::kArtifacts, row, "its key has the same digest and is another");
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
  return database_->Erase(rows);
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
  KILN_RETURN_IF_ERROR(database_->Scan(Family::kArtifactIndex, "", visit));
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
  if (!after_row.empty() && after_row.size() != kArtifactRowBytes) {
    return absl::InvalidArgumentError(fmt::format(
        "a row has {} bytes, not {}", kArtifactRowBytes, after_row.size()));
  }
  const size_t page_size = std::clamp<size_t>(limit, 1, limits::kListPageSize);
  ArtifactPage page;
  std::vector<std::string> rows;
  KILN_RETURN_IF_ERROR(database_->Scan(Family::kArtifactIndex, after_row,
                                       [&](std::string_view row) -> ScanStep {
                                         if (row == after_row) {
                                           return {};
                                         }
                                         if (rows.size() == page_size) {
                                           page.next_row = rows.back();
                                           return {ScanStep::Action::kStop, ""};
                                         }
                                         rows.emplace_back(row);
                                         return {};
                                       }));
  for (const std::string& row : rows) {
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
  return {database_->EstimatedRows(Family::kPrograms),
          database_->EstimatedRows(Family::kModules),
          database_->EstimatedRows(Family::kArtifactIndex),
          database_->DiskBytes()};
}

const StoreCounters& VariantStore::counters() const {
  return *counters_;
}

absl::Status VariantStore::Sync() {
  return database_->Sync();
}

absl::Status VariantStore::Close() {
  return database_->Close();
}

}  // namespace kiln::storage
