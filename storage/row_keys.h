// SPDX-License-Identifier: Apache-2.0
#pragma once

// The keys of rows, and values sealed for them: who lies where in the
// database. Persisted, so described in FORMAT.md. Internal to storage/.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "proto/bytes.h"
#include "proto/digest.h"
#include "storage/database.h"
#include "storage/envelope.h"

namespace kiln::storage {

inline constexpr std::string_view kSchemaRow = "schema";
inline constexpr std::string_view kRootsRow = "search";
inline constexpr size_t kArtifactRowBytes = 2 * Digest::kBytes;

// Every family holds one kind of value.
ValueKind KindOf(Family family);

// The family that has a small row for each row of `family`, under the same key,
// so that lists need not read the large ones.
std::optional<Family> IndexOf(Family family);

// `payload` in its envelope, ready to be written.
RowWrite Sealed(Family family, std::string row, ByteView payload);

// Also the row of the artifact's index entry.
std::string ArtifactRow(const Digest& target, const Digest& key_id);

std::string TuningRow(const Digest& target, const Digest& program);

std::string FrontEndRow(const Digest& program,
                        std::string_view compiler_version);

// The same for what a compiler made of one source set.
std::string ShaderRow(const Digest& source_set,
                      std::string_view compiler_version);

// The first 12 hexadecimal digits of each digest in a row key, or the name that
// the row has, for messages.
std::string RowText(std::string_view row);

// The 32-byte digests that start with a hexadecimal prefix, as first and last.
struct DigestRange {
  std::string first;
  std::string last;

  // Errors: InvalidArgument unless there are 1 to 64 hexadecimal digits.
  static absl::StatusOr<DigestRange> Of(std::string_view hex_prefix);

  bool contains(std::string_view raw) const {
    return raw >= first && raw <= last;
  }
};

// The smallest row above every row of `target`; empty where there is none.
std::string AfterTarget(std::string target);

}  // namespace kiln::storage
