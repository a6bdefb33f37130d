// SPDX-License-Identifier: Apache-2.0
#include "proto/digest.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <openssl/sha.h>

#include "absl/strings/escaping.h"

namespace kiln {

Digest Digest::Of(ByteView bytes) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.value_.data()));
  return digest;
}

absl::StatusOr<Digest> Digest::FromRaw(std::string_view raw) {
  if (raw.size() != kBytes) {
    return absl::InvalidArgumentError(
        fmt::format("digest has {} bytes, not {}", raw.size(), kBytes));
  }
  Digest digest;
  std::ranges::copy(AsBytes(raw), digest.value_.begin());
  return digest;
}

absl::StatusOr<Digest> Digest::FromHex(std::string_view hex) {
  auto is_hex = [](unsigned char c) { return std::isxdigit(c) != 0; };
  if (hex.size() != 2 * kBytes || !std::ranges::all_of(hex, is_hex)) {
    return absl::InvalidArgumentError(
        fmt::format("digest is not {} hexadecimal digits", 2 * kBytes));
  }
  return FromRaw(absl::HexStringToBytes({hex.data(), hex.size()}));
}

std::string Digest::Hex() const {
  std::string_view text = raw();
  return absl::BytesToHexString({text.data(), text.size()});
}

std::string Digest::ShortHex() const {
  return Hex().substr(0, 12);
}

}  // namespace kiln
