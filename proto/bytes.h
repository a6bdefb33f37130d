// SPDX-License-Identifier: Apache-2.0
#pragma once

// Byte buffers as the whole code base passes them: owned `Bytes`, borrowed
// `ByteView`. Conversions to and from text are explicit and copy nothing.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

// A view of `text`'s bytes. Lifetime: that of `text`.
inline ByteView AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// A view of `bytes` as characters; no encoding is implied. Lifetime: `bytes`.
inline std::string_view AsText(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A view of the storage of 32-bit words (SPIR-V). Lifetime: that of `words`.
inline ByteView AsBytes(std::span<const uint32_t> words) {
  return std::as_bytes(words);
}

inline Bytes ToBytes(ByteView view) {
  return {view.begin(), view.end()};
}

}  // namespace kiln
