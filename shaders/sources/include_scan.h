// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a source text says about including, without evaluating it: every file
// that it could include under any set of macros, and whether it may be included
// twice. What a name opens is in include_paths.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::sources {

// One #include directive.
struct IncludeDirective {
  std::string name;  // as written, of any bytes but line ends
  bool angled = false;
  uint32_t line = 0;  // from 1; of the '#'
  // Neither "name" nor <name> follows, but a macro, nothing, or a name that
  // does not end: `name` is empty, and the compiler refuses it.
  bool computed = false;

  friend bool operator==(const IncludeDirective&,
                         const IncludeDirective&) = default;
};

// Returns: every #include of `text` in order, also under an #if that is not
// taken, as nobody here knows the macros; none that is in a comment. Linear.
std::vector<IncludeDirective> ScanIncludes(std::string_view text);

struct TextSpan {
  size_t offset = 0;
  size_t size = 0;
};

// Returns: the first `#pragma once`, to the end of its line. One under an #if
// does not count, since nobody here knows whether it is taken, unless that is
// the file's own include guard.
std::optional<TextSpan> FindPragmaOnce(std::string_view text);

bool HasPragmaOnce(std::string_view text);

// The lines of every #if, #ifdef and #ifndef that is not ended in `text`
// itself. Compilers take one that the including file ends.
std::vector<uint32_t> UnendedConditions(std::string_view text);

// True when the first two directives are `#ifndef X` (or `#if !defined(X)`) and
// `#define X`: then a second inclusion is empty, and a circle of such files
// ends by itself.
bool HasIncludeGuard(std::string_view text);

}  // namespace kiln::sources
