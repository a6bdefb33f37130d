// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/source_text.h"

#include <string_view>

#include <fmt/format.h>

namespace kiln::sources {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
constexpr std::string_view kUtf16Little = "\xFF\xFE";
constexpr std::string_view kUtf16Big = "\xFE\xFF";

// The line on which `text` ends; \n, \r\n and \r end one.
size_t LineAfter(std::string_view text) {
  size_t line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool counted_with_next =
        text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if ((text[i] == '\n' || text[i] == '\r') && !counted_with_next) {
      ++line;
    }
  }
  return line;
}

}  // namespace

absl::StatusOr<std::string> PrepareSource(std::string bytes,
                                          Language language) {
  if (language == Language::kSpirv) {
    return bytes;
  }
  if (bytes.starts_with(kUtf16Little) || bytes.starts_with(kUtf16Big)) {
    return absl::InvalidArgumentError(
        "is UTF-16 (byte order mark in line 1); save it as UTF-8");
  }
  if (bytes.starts_with(kUtf8Mark)) {
    bytes.erase(0, kUtf8Mark.size());
  }
  if (const size_t nul = bytes.find('\0'); nul != bytes.npos) {
    return absl::InvalidArgumentError(
        fmt::format("has a NUL byte in line {}; it is no UTF-8 text",
                    LineAfter(std::string_view(bytes).substr(0, nul))));
  }
  return bytes;
}

}  // namespace kiln::sources
