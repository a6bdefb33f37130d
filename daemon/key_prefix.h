// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a person names a variant: by the first digits of its key id.

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace kiln::daemon {

// Enough to tell one key from several and to name a few.
inline constexpr size_t kMaxKeyMatches = 16;

// `text` in lower case. Errors: InvalidArgument unless it is 4 to 64
// hexadecimal digits.
absl::StatusOr<std::string> ReadKeyPrefix(const std::string& text);

}  // namespace kiln::daemon
