// SPDX-License-Identifier: Apache-2.0
#pragma once

// The text of a GLSL or HLSL file as a compiler gets it, so that the places in
// its messages are those of the file. Hashes are made of the file as it is.

#include <string>
#include <string_view>

namespace kiln::sources {

// `text`, byte for byte, but for
//  - a '\r' alone, which glslang takes for a line end and does not count: '\n';
//  - `#line 7 2`: the number of a source string says nothing of a file, and is
//    left out;
//  - a `#line` of a line that no file has, negative or past kMostLines, or of a
//    name that a message would be misread for: made blank, or the name plain.
// No line begins at another place than before.
std::string TextForCompiler(std::string_view text);

// Beyond it, glslang's lines become negative.
inline constexpr unsigned long long kMostLines = 1'000'000'000;

}  // namespace kiln::sources
