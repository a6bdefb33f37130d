// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compiler output of a program with surface shaders, as the authors of those
// need it: by the name they gave and their own lines and words. The text of a
// surface reaches the compiler line by line as it is, so lines need no
// arithmetic; what needs thought is an error that the compiler notices only
// behind the text that is at fault.

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/program.h"
#include "shaders/surface/surface_set.h"

namespace kiln::surface {

// `compiler_output` with
//  - what points into a surface named by its author's name and line;
//  - what the compiler notices in the generated file, or at the first word of
//    the next surface, because a text ends too early, at the last line of that
//    text; and at its function, when that does not have the slot's parameters;
//  - names as authors wrote them (RestoreNames).
// Other lines, those of the shader's own files, stay as they are.
// Requires: `applied` is what Apply made of `set`.
std::string MapDiagnostics(std::string_view compiler_output,
                           const SurfaceSet& set, const Program& applied);

// The same for the author of the surface `index`: without what is about other
// authors' surfaces, and about files that only those include.
std::string MapDiagnosticsFor(std::string_view compiler_output,
                              const SurfaceSet& set, const Program& applied,
                              uint32_t index);

// True when any line of `compiler_output` is about the surface `index`, or
// about a file that it includes and the program without surfaces does not.
bool ConcernsSurface(std::string_view compiler_output, const SurfaceSet& set,
                     const Program& applied, uint32_t index);

}  // namespace kiln::surface
