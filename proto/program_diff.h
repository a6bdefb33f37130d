// SPDX-License-Identifier: Apache-2.0
#pragma once

// What differs between two programs, or two keys, in words: the body of
// `kiln why`. Nothing here decides what is stale, digests do; this says why two
// digests differ. The same for targets is in target_diff.h.

#include <cstddef>
#include <string>
#include <vector>

#include "proto/program.h"
#include "proto/variant_key.h"

namespace kiln {

// One thing that differs. All texts are valid UTF-8 of at most kDifferenceBytes
// and hold no control character; values that are text are in quotes.
struct Difference {
  // "file", "define", "option", "surface", "schema", "pipeline", "key",
  // "driver", "device feature" or "device extension".
  std::string kind;
  std::string name;
  std::string stored{};  // empty: the stored side has none
  std::string asked{};   // empty: the side asked for has none

  friend auto operator<=>(const Difference&, const Difference&) = default;
};

inline constexpr size_t kDifferenceBytes = 300;

// More than anyone reads, and few enough for one message.
inline constexpr size_t kMaxDifferences = 100;

// Files first, each by where its text first differs: "line 12: \"a = 1;\"";
// SPIR-V by its digest; user code as kind "surface". Then includes that open
// another file, then defines, options, schema and pipeline, by name. What
// follows from another difference is left out. Empty when both have the same
// canonical bytes, and only then. Requires: both are valid.
std::vector<Difference> DiffPrograms(const Program& stored,
                                     const Program& asked);

// What was chosen otherwise, by the names that both programs declare; a bit or
// override that only one has is a difference of the programs. Requires: each
// key is normalised for its program.
std::vector<Difference> DiffKeys(const Program& stored_program,
                                 const VariantKey& stored,
                                 const Program& asked_program,
                                 const VariantKey& asked);

// Leaves at most kMaxDifferences, and one that says how many more there were.
void CapDifferences(std::vector<Difference>& differences);

}  // namespace kiln
