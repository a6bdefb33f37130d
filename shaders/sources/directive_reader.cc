// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/directive_reader.h"

#include <tuple>
#include <utility>

namespace kiln::sources {
namespace {

bool IsLineEnd(char c) {
  return c == '\n' || c == '\r';
}

bool IsSpecial(char c) {
  return IsLineEnd(c) || c == '/' || c == '"' || c == '\'' || c == '\\';
}

// glslang knows no other blanks: a form feed is a token.
bool IsBlank(int c) {
  return c == ' ' || c == '\t';
}

bool IsIdentifier(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

int DirectiveReader::Peek() const {
  if (position_ >= text_.size()) {
    return kEnd;
  }
  const char c = text_[position_];
  return c == '\r' ? '\n' : static_cast<unsigned char>(c);
}

void DirectiveReader::Advance() {
  const char c = text_[position_++];
  if (IsLineEnd(c)) {
    if (c == '\r' && position_ < text_.size() && text_[position_] == '\n') {
      ++position_;
    }
    ++line_;
  }
  if (position_ < text_.size() && text_[position_] == '\\') {
    Splice();
  }
}

// Moves past the joints of continued lines.
void DirectiveReader::Splice() {
  while (position_ + 1 < text_.size() && text_[position_] == '\\' &&
         IsLineEnd(text_[position_ + 1])) {
    const bool two = text_[position_ + 1] == '\r' &&
                     position_ + 2 < text_.size() &&
                     text_[position_ + 2] == '\n';
    position_ += two ? 3 : 2;
    ++line_;
  }
}

// At '/': moves past a comment, but not past the line end after //.
// Returns: false, with nothing moved, when it is none.
bool DirectiveReader::SkipComment() {
  const auto start = std::pair(position_, line_);
  Advance();
  if (Peek() == '/') {
    while (Peek() != kEnd && Peek() != '\n') {
      Advance();
    }
    return true;
  }
  if (Peek() != '*') {
    std::tie(position_, line_) = start;
    return false;
  }
  Advance();
  for (int previous = 0; Peek() != kEnd;) {
    const int c = Peek();
    Advance();
    if (previous == '*' && c == '/') {
      break;
    }
    previous = c;
  }
  return true;
}

// At '"': moves past the string, which ends with its line at the latest.
void DirectiveReader::SkipQuoted() {
  Advance();
  while (Peek() != kEnd && Peek() != '\n') {
    const int c = Peek();
    Advance();
    if (c == '"') {
      return;
    }
    if (c == '\\' && Peek() != kEnd && Peek() != '\n') {
      Advance();
    }
  }
}

// At '\'': moves past 'c' or '\c', which HLSL knows and which may hold a
// quote; past the apostrophe alone when it is neither.
void DirectiveReader::SkipCharacter() {
  Advance();
  const auto start = std::pair(position_, line_);
  if (Peek() == '\\') {
    Advance();
  }
  if (Peek() != kEnd && Peek() != '\n' && Peek() != '\'') {
    Advance();
  }
  if (Peek() == '\'') {
    Advance();
  } else {
    std::tie(position_, line_) = start;
  }
}

void DirectiveReader::SkipBlanks() {
  while (IsBlank(Peek()) || (Peek() == '/' && SkipComment())) {
    while (IsBlank(Peek())) {
      Advance();
    }
  }
}

std::optional<Directive> DirectiveReader::Next() {
  // The text begins a line, and a directive that was read ended one.
  bool line_start = true;
  for (int c = Peek(); c != kEnd; c = Peek()) {
    if (c == '\n') {
      line_start = true;
      Advance();
    } else if (IsBlank(c)) {
      Advance();
    } else if (c == '/' && SkipComment()) {
      continue;  // one that spans lines neither begins nor ends one
    } else if (c == '#' && line_start) {
      return ReadDirective();
    } else {
      line_start = false;
      SkipToken();
      SkipPlain();
    }
  }
  return std::nullopt;
}

// Moves past what neither ends a line nor begins anything: most of a text.
void DirectiveReader::SkipPlain() {
  while (position_ < text_.size() && !IsSpecial(text_[position_])) {
    ++position_;
  }
  Splice();
}

void DirectiveReader::SkipToken() {
  if (Peek() == '"') {
    SkipQuoted();
  } else if (Peek() == '\'') {
    SkipCharacter();
  } else {
    Advance();
  }
}

Directive DirectiveReader::ReadDirective() {
  Directive directive;
  directive.offset = position_;
  directive.line = line_;
  Advance();
  SkipBlanks();
  while (IsIdentifier(Peek())) {
    directive.keyword += static_cast<char>(Peek());
    Advance();
  }
  SkipBlanks();
  if (directive.keyword == "include") {
    ReadHeaderName(directive);
  }
  ReadRest(directive.rest);
  directive.end = position_;
  return directive;
}

// Moves nothing when there is no whole name before the line ends.
void DirectiveReader::ReadHeaderName(Directive& directive) {
  if (Peek() != '"' && Peek() != '<') {
    return;
  }
  const auto start = std::pair(position_, line_);
  const char close = Peek() == '<' ? '>' : '"';
  std::string name;
  for (Advance(); Peek() != kEnd && Peek() != '\n'; Advance()) {
    if (Peek() == close) {
      Advance();
      directive.header_name = std::move(name);
      directive.angled = close == '>';
      return;
    }
    name += static_cast<char>(Peek());
  }
  std::tie(position_, line_) = start;
}

void DirectiveReader::ReadRest(std::string& rest) {
  while (Peek() != kEnd && Peek() != '\n') {
    const size_t before = position_;
    SkipBlanks();
    if (position_ != before) {
      rest += rest.empty() ? "" : " ";
      continue;
    }
    const auto c = static_cast<char>(Peek());
    SkipToken();
    if (c == '"' || c == '\'') {
      rest += text_.substr(before, position_ - before);
    } else {
      rest += c;  // without a joint behind it
    }
  }
  while (!rest.empty() && rest.back() == ' ') {
    rest.pop_back();
  }
}

}  // namespace kiln::sources
