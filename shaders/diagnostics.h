// SPDX-License-Identifier: Apache-2.0
#pragma once

// libshaderc's messages as Kiln gives them to people: every one begins with a
// virtual path and a line, which some of glslang's lack.

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/program.h"
#include "shaders/compiler_names.h"

namespace kiln::shaders {

// `text`, of compiling `source`, with each line's place made whole: what is
// said of no line is said of the first one of the stage's file (of its
// #version, when that is what is wrong), and so is what is said of no file.
// Files have their own paths, not the `names` that the compiler has for them,
// and lines are never negative. Adds a note where glslang's own words do not
// tell what to write instead, and what it does not look for: which #if it is
// that nobody ends.
std::string TidyDiagnostics(const Program& program, const StageSource& source,
                            const CompilerNames& names, std::string_view text);

// The line, from 1, of the byte at `offset` of a text; \n, \r\n and \r end one.
size_t LineOf(std::string_view text, size_t offset);

// An error about a constant_id of which there are two, at the second place that
// gives it, in any file that the stage includes; of SPIR-V, which has no lines,
// at line 1.
std::string ErrorAtConstantId(const Program& program, const StageSource& source,
                              uint32_t id, std::string_view text);

// "path:line: error: text" and a line end.
std::string ErrorAt(std::string_view path, size_t line, std::string_view text);

}  // namespace kiln::shaders
