// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the compiler calls the files of a program. It writes names into sources,
// `#line 7 "name"`, and reads places from its own messages, "name:7: ...", and
// escapes neither: a quote or a backslash in a file's name would be source
// text, and a colon or a name of digits another place. Such a file goes by
// another name there, and by its own in what is told to people.

#include <map>
#include <string>
#include <string_view>

#include "proto/program.h"

namespace kiln::shaders {

// Thread-compatible. Lifetime: `program` must outlive it.
class CompilerNames {
 public:
  explicit CompilerNames(const Program& program);

  // The name of a file; most have their own path. No two have the same.
  std::string Of(std::string_view path) const;

  // The file of a name.
  std::string PathOf(std::string_view name) const;

  // A line of compiler output that begins with a name, with the path instead.
  std::string WithPath(std::string_view line) const;

 private:
  std::map<std::string, std::string, std::less<>> names_;  // by path
};

// `path` on one line: control characters as '?'.
std::string ShownPath(std::string_view path);

}  // namespace kiln::shaders
