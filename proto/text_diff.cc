// SPDX-License-Identifier: Apache-2.0
#include "proto/text_diff.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "proto/program_facts.h"
#include "proto/text.h"

namespace kiln {
namespace {

// Of a line: what is shown before the first difference, where there is more,
// and in all.
constexpr size_t kLeadBytes = 40;
constexpr size_t kLineBytes = 100;
constexpr size_t kSideBytes = 200;

bool StartsCharacter(char c) {
  return (static_cast<uint8_t>(c) & 0xC0) != 0x80;
}

// The line of `text` that starts at `start` and differs at `at`.
std::string Side(std::string_view text, size_t line, size_t start, size_t at) {
  if (start == text.size()) {
    return line == 1 ? "is empty" : fmt::format("ends after line {}", line - 1);
  }
  const size_t end = std::min(text.find('\n', at), text.size());
  size_t from = at - start > kLeadBytes ? at - kLeadBytes : start;
  while (from < at && !StartsCharacter(text[from])) {
    ++from;
  }
  size_t to = std::min(end, from + kLineBytes);
  while (to < end && to > at && !StartsCharacter(text[to])) {
    --to;
  }
  return Shorten(
      fmt::format("line {}: {}{}{}{}", line, from == start ? "" : "...",
                  Quoted(text.substr(from, to - from)), to == end ? "" : "...",
                  end == text.size() ? " without a newline" : ""),
      kSideBytes);
}

}  // namespace

FirstDifference FindFirstDifference(std::string_view a, std::string_view b) {
  const auto at =
      static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const std::string_view common = a.substr(0, at);
  const auto line = static_cast<size_t>(std::ranges::count(common, '\n')) + 1;
  const size_t newline = common.rfind('\n');
  const size_t start = newline == common.npos ? 0 : newline + 1;
  return {Side(a, line, start, at), Side(b, line, start, at)};
}

}  // namespace kiln
