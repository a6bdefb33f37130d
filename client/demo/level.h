// SPDX-License-Identifier: Apache-2.0
#pragma once

// The content of the demonstration: a small level's surfaces, and the variants
// of the scene program (shaders/scene/) that drawing them needs. An engine that
// is given another program plays a level that shows each of its features.

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

// The level's surfaces, in the order in which a player meets them. For a
// program that is not named "scene": in each kind one surface with no feature
// and one with each, as far as those are different keys. Errors:
// InvalidArgument when the scene lacks a kind or feature they use.
absl::StatusOr<std::vector<Surface>> MakeLevel(const Program& program,
                                               const Digest& program_id);

}  // namespace kiln::demo
