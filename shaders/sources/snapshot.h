// SPDX-License-Identifier: Apache-2.0
#pragma once

// Makes a whole program of a recipe and the sources that it names now.

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "shaders/sources/source_set.h"

namespace kiln::sources {

// Returns: `recipe` with the files and includes of `set`, each stage naming
// what was found for it. Only what its stages reach is in it, so equal sources
// give an equal program, with an equal id, whatever else the roots hold. It has
// no derivation: that shader is no stage, and not in the set.
// Requires: `set` was resolved from EntriesOf(recipe).
// Errors: InvalidArgument for a program that is no recipe, or whose snapshot
// does not `Validate`; a stage that `set` does not have.
absl::StatusOr<Program> MakeSnapshot(const Program& recipe,
                                     const SourceSet& set);

}  // namespace kiln::sources
