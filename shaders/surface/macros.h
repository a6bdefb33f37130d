// SPDX-License-Identifier: Apache-2.0
#pragma once

// What macros can hide. A surface's text is checked as it is written, before
// any macro is expanded, so whatever a macro might bring with it is found in
// the macro: in the text's own, and in those of the shader around it, which
// user code may call. Facts of a macro include those of the macros it names.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shaders/surface/tokens.h"

namespace kiln::surface {

// One #define. A name may have several.
struct MacroDefinition {
  std::string name;
  bool is_call = false;  // it has parameters: NAME(x)
  uint32_t line = 0;
  size_t token = 0;  // the name, among the text's tokens
  size_t body = 0;   // the first token behind name and parameters
  size_t end = 0;    // behind the last
  // The words of the body, and its other tokens; "==" and the like are one.
  std::vector<std::string> words;
};

struct MacroFacts {
  // It has what no surface may have, e.g. "'layout'"; empty: nothing.
  std::string refused;
  // Outside functions it could make other declarations of those it stands in.
  bool splits = false;
  // It names a texture, sampler, image or buffer type.
  bool is_opaque = false;
};

using MacroTable = std::map<std::string, MacroFacts, std::less<>>;

// Every #define of a text, in order; one without a name is left out.
std::vector<MacroDefinition> ReadMacros(const TokenizedText& text);

// The facts of each name. `known` are the facts of other macros that the bodies
// may name; a macro that is among `definitions` hides one of that name.
MacroTable FactsOf(const std::vector<MacroDefinition>& definitions,
                   const MacroTable& known);

// The bracket of a macro's body that lacks its other half; none: '\0'.
char UnpairedBracket(const MacroDefinition& definition);

// A word that no surface may use, wherever it stands: what makes interfaces,
// entry points, extensions or other languages' declarations.
bool IsRefusedWord(std::string_view word);

// A qualifier that makes a variable outside functions part of the shader's
// interface, or changes one that the shader declares.
bool IsInterfaceQualifier(std::string_view word);

// A type of which every global variable is a resource.
bool IsOpaqueType(std::string_view word);

}  // namespace kiln::surface
