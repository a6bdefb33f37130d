// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads a source one preprocessor directive at a time, as glslang's
// preprocessor lexes it, without evaluating anything. Internal to this folder;
// what the directives mean is in include_scan.h.
//
// As in glslang: comments are blanks, also across lines; a backslash before a
// line end joins two lines, also in a // comment (GLSL 4.20 and up; what this
// hides in an older source fails to compile with a message, it is never
// stale); \n, \r\n and \r end a line; quotes keep what is in them from being a
// comment, up to the end of the line; '#' counts only as the first token of a
// line.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::sources {

struct Directive {
  size_t offset = 0;    // of its '#'
  size_t end = 0;       // of its line, before the line end
  uint32_t line = 0;    // of its '#', from 1
  std::string keyword;  // "include"; may be empty
  // Of an include only, when a whole "name" or <name> follows: the name as
  // written; nothing in it is a comment.
  std::optional<std::string> header_name;
  bool angled = false;
  // What follows, trimmed, each run of blanks and comments as one blank.
  std::string rest;
};

// Linear in the size of the text. Thread-compatible.
// Lifetime: the text must outlive it.
class DirectiveReader {
 public:
  explicit DirectiveReader(std::string_view text) : text_(text) { Splice(); }

  // Returns: the next directive; nullopt at the end of the text.
  std::optional<Directive> Next();

 private:
  static constexpr int kEnd = -1;

  // The current character; every line end is '\n'.
  int Peek() const;
  void Advance();
  void Splice();
  bool SkipComment();
  void SkipQuoted();
  void SkipCharacter();
  void SkipBlanks();
  void SkipToken();
  void SkipPlain();
  void ReadHeaderName(Directive& directive);
  void ReadRest(std::string& rest);
  Directive ReadDirective();

  std::string_view text_;
  size_t position_ = 0;
  uint32_t line_ = 1;
};

}  // namespace kiln::sources
