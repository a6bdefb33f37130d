// SPDX-License-Identifier: Apache-2.0
#include "proto/text.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "proto/limits.h"

namespace kiln {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The length of the well-formed UTF-8 sequence at the front of `text`, or 0.
// Ranges: The Unicode Standard, table 3-7.
size_t SequenceLength(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  auto continues = [&](size_t i, uint8_t low = 0x80, uint8_t high = 0xBF) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const uint8_t first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return continues(1) ? 2 : 0;
  }
  if (first >= 0xE0 && first <= 0xEF) {
    const uint8_t low = first == 0xE0 ? 0xA0 : 0x80;
    const uint8_t high = first == 0xED ? 0x9F : 0xBF;
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const uint8_t low = first == 0xF0 ? 0x90 : 0x80;
    const uint8_t high = first == 0xF4 ? 0x8F : 0xBF;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

bool IsControl(char c) {
  const auto byte = static_cast<uint8_t>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F;
}

}  // namespace

std::string ToValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0 || IsControl(text[0])) {
      out.append(kReplacement);
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

std::string Shorten(std::string_view text, size_t max_bytes) {
  std::string valid = ToValidUtf8(text);
  if (valid.size() <= max_bytes) {
    return valid;
  }
  constexpr std::string_view kMark = "...";
  size_t end = max_bytes - std::min(max_bytes, kMark.size());
  while (end > 0 && (static_cast<uint8_t>(valid[end]) & 0xC0) == 0x80) {
    --end;
  }
  valid.resize(end);
  return valid.append(kMark.substr(0, std::min(max_bytes, kMark.size())));
}

std::string QuoteName(std::string_view name) {
  return fmt::format("'{}'", Shorten(name, limits::kNameBytes));
}

std::string CapDiagnostics(std::string_view text) {
  size_t lines = 0;
  size_t end = 0;
  while (end < text.size() && lines < limits::kDiagnosticLines) {
    const size_t next = text.find('\n', end);
    const size_t stop = next == text.npos ? text.size() : next + 1;
    if (stop > limits::kDiagnosticBytes) {
      break;
    }
    end = stop;
    ++lines;
  }
  if (end == text.size()) {
    return ToValidUtf8(text);
  }
  std::string_view rest = text.substr(end);
  if (lines == 0) {  // a first line that is itself over the limit
    return Shorten(text, limits::kDiagnosticBytes);
  }
  const auto more = std::ranges::count(rest, '\n') + (rest.back() != '\n');
  return ToValidUtf8(text.substr(0, end)) +
         fmt::format("... and {} more lines\n", more);
}

}  // namespace kiln
