// SPDX-License-Identifier: Apache-2.0
#pragma once

// The files that surface shaders include, once they are in the program. A file
// that is harmless where the shader includes it, or in an #if that nobody
// takes, may be what smuggles a resource in when a surface includes it.

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "proto/program.h"
#include "shaders/surface/surface_set.h"

namespace kiln::surface {

// `files` and all that they can include, by their edges, or among the program's
// files when it has no edges; nothing that is reached through a generated file.
std::set<std::string> ReachableFiles(const Program& applied,
                                     std::set<std::string> files);

// Checks every file that the surface `index` can include (CheckIncluded), also
// those that the shader has anyway, and its own text once more, now that the
// macros of those files are known.
// Requires: `applied` is what Apply made of `set`, which has the index.
// Errors: InvalidArgument, as CheckSurface and CheckIncluded.
absl::Status CheckIncludes(const Program& applied, const SurfaceSet& set,
                           uint32_t index);

// The same for every surface of the set: whoever puts surfaces that passed once
// into a program whose files have changed since asks again.
absl::Status CheckAllIncludes(const Program& applied, const SurfaceSet& set);

}  // namespace kiln::surface
