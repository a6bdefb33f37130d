// SPDX-License-Identifier: Apache-2.0
#include "storage/failure_records.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/canonical.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "storage/checked_rows.h"

namespace kiln::storage {
namespace {

constexpr size_t kMaxFailureText = 4 * limits::kDiagnosticBytes;

// The name of a cause that there is.
bool IsCause(FailureCause cause) {
  return cause == FailureCause::kRefused || cause == FailureCause::kCrashed;
}

}  // namespace

absl::Status FailureRecords::PutFailure(const FailureRecord& failure) {
  const size_t text = failure.compiler.size() + failure.message.size() +
                      failure.diagnostics.size();
  if (text > kMaxFailureText) {
    return absl::InvalidArgumentError(
        fmt::format("failure: {} bytes of text, over the limit of {}", text,
                    kMaxFailureText));
  }
  CanonicalWriter out;
  out.Blob(EncodeKey(failure.key));
  out.U8(static_cast<uint8_t>(failure.cause));
  out.Text(failure.compiler);
  out.U32(static_cast<uint32_t>(failure.code));
  out.Text(failure.message);
  out.Text(failure.diagnostics);
  out.U64(failure.unix_ms);
  return rows_.Put(Family::kFailures,
                   ArtifactRow(failure.target, KeyId(failure.key)),
                   out.bytes());
}

absl::StatusOr<std::optional<FailureRecord>> FailureRecords::GetFailureAt(
    const std::string& row) {
  struct Stored {
    Bytes key;
    FailureRecord record;
  };

  KILN_ASSIGN_OR_RETURN(
      auto stored,
      rows_.GetRecord<Stored>(
          Family::kFailures, row, [](CanonicalReader& in, Stored& value) {
            value.key = in.Blob();
            FailureRecord& record = value.record;
            record.cause = static_cast<FailureCause>(in.U8());
            record.compiler = in.Text();
            record.code = static_cast<absl::StatusCode>(in.U32());
            record.message = in.Text();
            record.diagnostics = in.Text();
            record.unix_ms = in.U64();
          }));
  if (!stored.has_value()) {
    return std::nullopt;
  }
  FailureRecord record = std::move(stored->record);
  const absl::StatusOr<VariantKey> key = DecodeKey(stored->key);
  absl::StatusOr<Digest> target = Digest::FromRaw(
      std::string_view(row).substr(0, std::min(row.size(), Digest::kBytes)));
  if (!key.ok() || !target.ok() || !IsCause(record.cause) ||
      ArtifactRow(*target, KeyId(*key)) != row) {
    rows_.Drop(Family::kFailures, row, "it is of another key");
    return std::nullopt;
  }
  record.target = *target;
  record.key = *key;
  return record;
}

absl::StatusOr<std::optional<FailureRecord>> FailureRecords::GetFailure(
    const Digest& target, const VariantKey& key) {
  KILN_ASSIGN_OR_RETURN(auto record,
                        GetFailureAt(ArtifactRow(target, KeyId(key))));
  if (record.has_value() && record->key != key) {
    return std::nullopt;
  }
  return record;
}

absl::StatusOr<bool> FailureRecords::RemoveFailure(const Digest& target,
                                                   const Digest& key_id) {
  const std::string row = ArtifactRow(target, key_id);
  KILN_ASSIGN_OR_RETURN(const auto record, GetFailureAt(row));
  KILN_RETURN_IF_ERROR(rows_.Erase(Family::kFailures, row));
  return record.has_value();
}

absl::StatusOr<FailurePage> FailureRecords::ListFailures(
    std::string_view after_row, size_t limit) {
  KILN_ASSIGN_OR_RETURN(RowPage listed, rows_.ListTargetRows(Family::kFailures,
                                                             after_row, limit));
  FailurePage page;
  page.next_row = std::move(listed.next_row);
  for (const std::string& row : listed.rows) {
    KILN_ASSIGN_OR_RETURN(auto record, GetFailureAt(row));
    if (record.has_value()) {
      page.failures.push_back(*std::move(record));
    }
  }
  return page;
}

}  // namespace kiln::storage
