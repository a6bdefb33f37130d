// SPDX-License-Identifier: Apache-2.0
#pragma once

// The content of the demonstration: a small level's surfaces, and the variants
// of the scene program (shaders/scene/) that drawing them needs.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/digest.h"
#include "proto/program.h"
#include "proto/variant_key.h"

namespace kiln::demo {

struct Surface {
  std::string name;  // "terrain", "pond", ...
  VariantKey key;
};

// The level's surfaces, in the order in which a player meets them.
// Errors: InvalidArgument when `program` lacks a kind or feature they use.
absl::StatusOr<std::vector<Surface>> MakeLevel(const Program& program,
                                               const Digest& program_id);

}  // namespace kiln::demo
