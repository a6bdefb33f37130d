// SPDX-License-Identifier: Apache-2.0
#pragma once

// SHA-256 digests: the identity of programs, modules, targets and keys. Same
// bytes, same id, on every machine (DESIGN D8). The hash itself is OpenSSL's.

#include <array>
#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "proto/bytes.h"

namespace kiln {

// A SHA-256 value. Thread-compatible.
class Digest {
 public:
  static constexpr size_t kBytes = 32;

  // All zero: never the digest of anything, used as "none".
  constexpr Digest() = default;

  static Digest Of(ByteView bytes);

  // Errors: InvalidArgument unless `raw` has exactly 32 bytes.
  static absl::StatusOr<Digest> FromRaw(std::string_view raw);

  // Errors: InvalidArgument unless `hex` is 64 hexadecimal digits.
  static absl::StatusOr<Digest> FromHex(std::string_view hex);

  ByteView bytes() const { return value_; }

  std::string_view raw() const { return AsText(value_); }

  bool is_none() const { return *this == Digest(); }

  // 64 lower-case hexadecimal digits.
  std::string Hex() const;

  // The first 12 digits, for log lines and tables.
  std::string ShortHex() const;

  friend auto operator<=>(const Digest&, const Digest&) = default;

  template <typename H>
  friend H AbslHashValue(H h, const Digest& digest) {
    return H::combine(std::move(h), digest.value_);
  }

 private:
  std::array<std::byte, kBytes> value_{};
};

}  // namespace kiln
