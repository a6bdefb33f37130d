// SPDX-License-Identifier: Apache-2.0
#pragma once

// From the words on a command line to variant keys. Everything is checked here
// against the program file, so that a typo is answered at once, with the names
// that exist, and without a daemon.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/program.h"
#include "proto/variant_key.h"

namespace kiln::cli {

struct KeyWords {
  std::string kind;
  std::string backdrop;  // empty: the program's first
  std::string blend;     // empty: the program's first
  std::string features;  // comma-separated; "all" and "none" are understood
  std::vector<std::string> overrides;  // NAME=VALUE
};

// Errors: InvalidArgument naming what does not exist and listing what does.
absl::StatusOr<VariantKey> SelectKey(const Program& program,
                                     const Digest& program_id,
                                     const KeyWords& words);

// Every subset of the features `all_of`, for each of `kinds` (all, if empty),
// normalised and without duplicates. Errors: as above, and for more than
// kSubsetFeatures features, whose subsets nobody wants to wait for.
inline constexpr size_t kSubsetFeatures = 12;
absl::StatusOr<std::vector<VariantKey>> SelectSubsets(
    const Program& program, const Digest& program_id, std::string_view all_of,
    const std::vector<std::string>& kinds);

}  // namespace kiln::cli
