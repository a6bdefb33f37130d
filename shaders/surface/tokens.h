// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cuts the text of a surface shader, GLSL or HLSL, into words, numbers,
// strings and punctuation, without comments. It reads text of people whom
// nobody trusts, so whatever one compiler might read differently from another,
// or from this file, is a fault and not a guess: a lone carriage return, a
// backslash that joins two words, a comment that ends in one. What tokens may
// say is not decided here (surface_rules.h).
//
// Time and memory are linear in the text.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::surface {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

enum class TokenKind : uint8_t { kWord, kNumber, kString, kPunctuation };

// One token. Thread-compatible value. Lifetime: that of the text.
struct Token {
  TokenKind kind = TokenKind::kPunctuation;
  std::string_view text;   // punctuation is one character each
  size_t offset = 0;       // in the text
  uint32_t line = 0;       // from 1
  uint32_t directive = 0;  // 0: code; n: an argument of directives[n - 1]

  bool Is(char c) const {
    return kind == TokenKind::kPunctuation && text[0] == c;
  }

  bool IsWord() const { return kind == TokenKind::kWord; }

  bool IsWord(std::string_view word) const { return IsWord() && text == word; }
};

enum class DirectiveKind : uint8_t {
  kEmpty,  // a '#' alone
  kDefine,
  kUndef,
  kIf,  // also #ifdef and #ifndef
  kElif,
  kElse,
  kEndif,
  kInclude,  // its argument is one string, with its quotes or <>
  kError,
  kPragma,
  kOther,
};

// Neither '#' nor the name is among the tokens; the arguments are
// tokens[first] to tokens[last - 1]. Code tokens from `last` on follow it.
struct Directive {
  DirectiveKind kind = DirectiveKind::kEmpty;
  std::string_view name;
  uint32_t line = 0;
  size_t first = 0;
  size_t last = 0;
};

// What is wrong with a text, and where.
struct TextFault {
  uint32_t line = 0;
  std::string message;
};

// Thread-compatible value. Lifetime: that of the text.
struct TokenizedText {
  std::vector<Token> tokens;
  std::vector<Directive> directives;
  // The first fault. Reading goes on behind it, so the tokens are complete but
  // what they say of such a text is a guess.
  std::optional<TextFault> fault;

  // The line of the last token, at least 1.
  uint32_t LastLine() const;
};

TokenizedText Tokenize(std::string_view text);

// True for a letter, digit or underscore.
bool IsWordCharacter(char c);

// True for a word that does not begin with a digit.
bool IsIdentifier(std::string_view text);

}  // namespace kiln::surface
