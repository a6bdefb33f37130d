// SPDX-License-Identifier: Apache-2.0
#pragma once

// libshaderc's messages as Kiln gives them to people: every one begins with a
// virtual path and a line, which some of glslang's lack.

#include <string>
#include <string_view>

#include "proto/program.h"

namespace kiln::shaders {

// `text`, of compiling `source`, with each line's place made whole: what is
// said of no line is said of the first one of the stage's file (of its
// #version, when that is what is wrong), and so is what is said of no file.
// Adds a note where glslang's own words do not tell what to write instead.
std::string TidyDiagnostics(const Program& program, const StageSource& source,
                            std::string_view text);

// The line, from 1, of the byte at `offset` of a text.
size_t LineOf(std::string_view text, size_t offset);

// "path:line: error: text" and a line end.
std::string ErrorAt(std::string_view path, size_t line, std::string_view text);

}  // namespace kiln::shaders
