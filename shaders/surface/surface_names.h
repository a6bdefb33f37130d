// SPDX-License-Identifier: Apache-2.0
#pragma once

// Keeps the names of surface shaders apart. All surfaces of a set end up in one
// shader, and every author may call a helper `noise`. So every name that a text
// declares outside functions, and every macro that it defines, is written anew
// wherever the text has it as a word: `noise` of surface 3 is kiln_s3_noise.
// Words are replaced and nothing else, so each line stays the author's.
//
// Not renamed: members, where they are declared and behind a '.', though they
// may be called like a helper; functions that a text declares and does not
// define, which the rules refuse; the names in the files that a text includes,
// which are the program's. A local variable or parameter that hides a name is
// renamed with it and hides it still.
//
// What this cannot do: a text cannot add an overload to a function that the
// shader or the language has, since the others go by the old name; nor give an
// included file a macro, since the file asks for the old name; nor pass a
// member as an argument of a macro when it is called like a helper.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::surface {

struct IsolatedText {
  std::string text;                 // without byte order mark
  std::vector<std::string> macros;  // new names, to #undef; sorted
};

// Requires: a text that CheckSurface accepts; of any other, some names may keep
// their spelling. Never fails. Linear in the text.
IsolatedText IsolateNames(std::string_view text, uint32_t index);

// `name`, an identifier of the surface `index`, in the shader.
std::string IsolatedName(std::string_view name, uint32_t index);

// A name as its author wrote it, and whose it is.
struct OwnedName {
  uint32_t index = 0;
  std::string_view name;  // lifetime: that of the text
};

// The first word of `text` that IsolatedName makes.
std::optional<OwnedName> FindIsolatedName(std::string_view text);

// `text` with every word that IsolatedName makes, of any surface, as the author
// wrote it.
std::string RestoreNames(std::string_view text);

}  // namespace kiln::surface
