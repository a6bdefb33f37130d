// SPDX-License-Identifier: Apache-2.0
#include "daemon/key_prefix.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "absl/status/status.h"
#include "proto/digest.h"
#include "proto/text.h"

namespace kiln::daemon {
namespace {

constexpr size_t kMinPrefix = 4;

}  // namespace

absl::StatusOr<std::string> ReadKeyPrefix(const std::string& text) {
  const bool is_hex = std::ranges::all_of(
      text, [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (!is_hex || text.size() < kMinPrefix || text.size() > 2 * Digest::kBytes) {
    return absl::InvalidArgumentError(
        fmt::format("key_id '{}' is not {} to {} hexadecimal digits",
                    Shorten(text, 100), kMinPrefix, 2 * Digest::kBytes));
  }
  std::string prefix = text;
  std::ranges::transform(prefix, prefix.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return prefix;
}

}  // namespace kiln::daemon
