// SPDX-License-Identifier: Apache-2.0
#pragma once

// Puts a set of surface shaders into its program:
//
//   surface.frag        #include "surfaces.glsl"     the name is the slot's
//   surfaces.glsl       #include <kiln_surfaces/1/rust>     generated
//                       #include <kiln_surfaces/2/moss>
//                       void kiln_surface(uint kiln_index, inout Surface s) {
//                         switch (kiln_index) { case 1u: ... }
//                       }
//   kiln_surfaces/1/rust    the author's text, line by line, with its names
//                           isolated (surface_names.h)
//
// For an index without a surface, 0 among them, kiln_surface does nothing.
// Includes of a surface open files of the program. The same program and set
// give the same result, byte for byte.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "shaders/surface/surface_rules.h"
#include "shaders/surface/surface_set.h"

namespace kiln::surface {

// Finds the file that an include of a surface opens.
// Returns: its path among the program's files; or why there is none.
using IncludeResolver = std::function<absl::StatusOr<std::string>(
    const Program& program, const SurfaceInclude& include)>;

// The program with the set's files, and with edges for their includes if it has
// any edges. A file that the slot's name already opens, the program's own
// default, is replaced. `resolve`: absent, FindInclude.
// Requires: the program is valid and no recipe.
// Errors: FailedPrecondition when the program takes no surfaces (an empty set
// leaves such a program as it is), or none of its edges is for the slot's name;
// InvalidArgument from CheckSlot; ResourceExhausted for too many files or
// bytes.
absl::StatusOr<Program> Apply(const Program& program, const SurfaceSet& set,
                              const IncludeResolver& resolve = {});

// What an include of the same name opens elsewhere in the program; else the
// first file of that path, whole or behind its root's name.
// Errors: NotFound naming the include.
absl::StatusOr<std::string> FindInclude(const Program& program,
                                        const SurfaceInclude& include);

// Where Apply puts a surface: "kiln_surfaces/<index>/<name>", the name cut down
// to what a path may have.
std::string SurfacePath(uint32_t index, std::string_view name);

// Where Apply puts, or has put, the generated file: as often as the program has
// a default for it. Empty: the program takes no surfaces.
std::vector<std::string> GeneratedPaths(const Program& program);

// The generated file, and which of its lines is about what.
struct GeneratedFile {
  std::string text;
  std::map<uint32_t, uint32_t> include_lines;  // by index
  std::map<uint32_t, uint32_t> call_lines;
  uint32_t function_line = 0;
};

// Errors: those of CheckSlot.
absl::StatusOr<GeneratedFile> Generate(const SurfaceSlot& slot,
                                       const SurfaceSet& set);

}  // namespace kiln::surface
