// SPDX-License-Identifier: Apache-2.0
#pragma once

// The outline of a surface shader's text: what it declares outside functions.
// Read from tokens, without a preprocessor: every arm of every #if counts, and
// macros stay what they are called. So that the outline holds whatever macros
// and conditions turn out to be, the text must keep to a form:
//
//   - brackets pair within the file, within each arm of an #if, and (macros.h)
//     within each macro;
//   - outside functions, an #if stands between declarations, not inside one;
//   - every declaration is a function, a structure of data members, or
//     variables of one type, and is written out: no macro call declares.
//
// Anything else is a fault. Linear in the text.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "shaders/surface/tokens.h"

namespace kiln::surface {

// One arm of an #if .. #endif, both counted from 0 in the file.
struct ConditionArm {
  uint32_t condition = 0;
  uint32_t arm = 0;
};

enum class DeclarationKind : uint8_t {
  kFunction,   // with a body
  kPrototype,  // without
  kStructure,
  kVariable,
};

struct Declaration {
  DeclarationKind kind = DeclarationKind::kVariable;
  std::string_view name;
  uint32_t line = 0;       // of the name
  size_t token = 0;        // the name, among the tokens
  size_t type_token = 0;   // the word that is its type; `struct` for one
  bool is_static = false;  // it says `static`
  bool is_dead = false;    // in an `#if 0`
  std::vector<ConditionArm> arms;  // around it, outermost first
};

// Thread-compatible value. Lifetime: that of the text.
struct Outline {
  std::vector<Declaration> declarations;
  // Words outside every bracket: where a macro with a comma, a semicolon or a
  // brace would declare something else than is written there.
  std::vector<size_t> exposed;
  // Words within structures.
  std::vector<size_t> member_words;
  std::optional<TextFault> fault;  // reading stopped there
};

// Requires: nothing; of a text with a fault, the outline is a guess too.
Outline ReadOutline(const TokenizedText& text);

// True when no build has both: they are in different arms of one #if, or one is
// in an `#if 0`.
bool AreExclusive(const Declaration& a, const Declaration& b);

}  // namespace kiln::surface
