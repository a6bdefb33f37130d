// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/compiler_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "shaders/sources/directive_reader.h"

namespace kiln::sources {
namespace {

bool IsPlainWord(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
  });
}

// True for a number that is no line. Macros are not known here.
bool IsAbsurdLine(std::string_view word) {
  if (word.starts_with('-')) {
    return true;
  }
  if (word.empty() || word[0] < '0' || word[0] > '9') {
    return false;
  }
  int base = 10;
  if (word.starts_with("0x") || word.starts_with("0X")) {
    word.remove_prefix(2);
    base = 16;
  } else if (word.starts_with('0')) {
    base = 8;
  }
  unsigned long long line = 0;
  const auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), line, base);
  return error == std::errc::result_out_of_range || line > kMostLines;
}

// A ':' or '\' in a name would be taken for the end of one.
std::string PlainName(std::string_view quoted) {
  std::string name(quoted);
  for (size_t i = 1; i + 1 < name.size(); ++i) {
    if (name[i] == '\\') {
      name[i] = '/';
    } else if (name[i] == ':' && name[i + 1] != '/' && name[i + 1] != '\\') {
      name[i] = '_';
    }
  }
  return name;
}

// What is to stand in place of a #line; nullopt: what is there.
std::optional<std::string> LineDirective(std::string_view rest) {
  const size_t blank = std::min(rest.find(' '), rest.size());
  const std::string_view line = rest.substr(0, blank);
  if (IsAbsurdLine(line)) {
    return "";
  }
  const std::string_view name = rest.substr(std::min(blank + 1, rest.size()));
  if (IsPlainWord(line) && IsPlainWord(name)) {
    return "#line " + std::string(line);
  }
  if (name.starts_with('"') && PlainName(name) != name) {
    return "#line " + std::string(line) + " " + PlainName(name);
  }
  return std::nullopt;
}

// Puts `replacement` over text[begin, end), which holds no line end within the
// part that it needs; what is left over is blank.
void Overwrite(std::string& text, size_t begin, size_t end,
               std::string_view replacement) {
  const bool fits = end - begin >= replacement.size() &&
                    text.substr(begin, end - begin).find('\n') == text.npos;
  for (size_t i = begin; i < end; ++i) {
    const size_t at = i - begin;
    if (text[i] != '\n' && text[i] != '\r') {
      text[i] = fits && at < replacement.size() ? replacement[at] : ' ';
    }
  }
}

void CorrectLineDirectives(std::string& text) {
  if (text.find("line") == text.npos && text.find('\\') == text.npos) {
    return;  // nearly every file; a joint may split the word
  }
  const std::string read = text;
  DirectiveReader reader(read);
  while (const std::optional<Directive> directive = reader.Next()) {
    if (directive->keyword != "line") {
      continue;
    }
    if (const auto replacement = LineDirective(directive->rest)) {
      Overwrite(text, directive->offset, directive->end, *replacement);
    }
  }
}

}  // namespace

std::string TextForCompiler(std::string_view text) {
  std::string made(text);
  for (size_t at = made.find('\r'); at != made.npos;
       at = made.find('\r', at + 1)) {
    if (at + 1 == made.size() || made[at + 1] != '\n') {
      made[at] = '\n';
    }
  }
  CorrectLineDirectives(made);
  return made;
}

}  // namespace kiln::sources
