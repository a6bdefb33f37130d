// SPDX-License-Identifier: Apache-2.0
#include "storage/checked_rows.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/text.h"
#include "storage/envelope.h"

namespace kiln::storage {
namespace {

constexpr size_t kMaxKnown = 65536;  // some 4 MB; then it starts anew

}  // namespace

absl::StatusOr<RowPage> CheckedRows::ListTargetRows(Family family,
                                                    std::string_view after_row,
                                                    size_t limit) const {
  if (!after_row.empty() && after_row.size() != kArtifactRowBytes) {
    return absl::InvalidArgumentError(fmt::format(
        "a row has {} bytes, not {}", kArtifactRowBytes, after_row.size()));
  }
  const size_t page_size = std::clamp<size_t>(limit, 1, limits::kListPageSize);
  RowPage page;
  KILN_RETURN_IF_ERROR(
      database_->Scan(family, after_row, [&](std::string_view row) -> ScanStep {
        if (row == after_row) {
          return {};
        }
        if (page.rows.size() == page_size) {
          page.next_row = page.rows.back();
          return {ScanStep::Action::kStop, ""};
        }
        page.rows.emplace_back(row);
        return {};
      }));
  return page;
}

absl::StatusOr<std::optional<Bytes>> CheckedRows::Get(Family family,
                                                      const std::string& row) {
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

absl::Status CheckedRows::Put(Family family, std::string row,
                              ByteView payload) {
  const RowWrite write = Sealed(family, std::move(row), payload);
  return database_->Write({&write, 1});
}

absl::Status CheckedRows::Erase(Family family, std::string row) {
  const RowWrite erase{family, std::move(row), std::nullopt};
  return database_->Erase({&erase, 1});
}

void CheckedRows::Drop(Family family, const std::string& row,
                       std::string_view why) {
  ++counters_->damaged_entries;
  std::vector<RowWrite> rows = {{family, row, std::nullopt}};
  if (const std::optional<Family> index = IndexOf(family)) {
    rows.push_back({*index, row, std::nullopt});
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

absl::Status CheckedRows::CheckContent(Family family, const Digest& id,
                                       ByteView content) {
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

absl::Status CheckedRows::PutContent(Family family, const Digest& id,
                                     ByteView content) {
  KILN_RETURN_IF_ERROR(CheckContent(family, id, content));
  if (IsKnown(family, id)) {
    return absl::OkStatus();
  }
  KILN_ASSIGN_OR_RETURN(auto stored, GetContent(family, id));
  if (stored.has_value()) {
    return absl::OkStatus();
  }
  std::vector<RowWrite> rows = {Sealed(family, std::string(id.raw()), content)};
  if (const std::optional<Family> index = IndexOf(family)) {
    CanonicalWriter size;
    size.U64(content.size());
    rows.push_back(Sealed(*index, std::string(id.raw()), size.bytes()));
  }
  KILN_RETURN_IF_ERROR(database_->Write(rows));
  SetKnown(family, id, true);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Bytes>> CheckedRows::GetContent(Family family,
                                                             const Digest& id) {
  const std::string row(id.raw());
  KILN_ASSIGN_OR_RETURN(auto content, Get(family, row));
  if (content.has_value() && Digest::Of(*content) != id) {
    Drop(family, row, "the content has another digest");
    content.reset();
  }
  SetKnown(family, id, content.has_value());
  return content;
}

absl::Status CheckedRows::RequireModule(const StageModule& stage) {
  if (IsKnown(Family::kModules, stage.module)) {
    return absl::OkStatus();
  }
  KILN_ASSIGN_OR_RETURN(auto stored,
                        GetContent(Family::kModules, stage.module));
  if (!stored.has_value()) {
    return absl::FailedPreconditionError(
        fmt::format("{} module {} is not stored", StageName(stage.stage),
                    stage.module.ShortHex()));
  }
  return absl::OkStatus();
}

bool CheckedRows::IsKnown(Family family, const Digest& id) {
  absl::MutexLock lock(&mutex_);
  return known_.contains({family, id});
}

void CheckedRows::SetKnown(Family family, const Digest& id, bool known) {
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

}  // namespace kiln::storage
