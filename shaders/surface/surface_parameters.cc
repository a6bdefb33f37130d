// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/surface_parameters.h"

#include <fmt/format.h>

#include "proto/text.h"
#include "shaders/surface/macros.h"
#include "shaders/surface/tokens.h"

namespace kiln::surface {
namespace {

constexpr size_t kShownBytes = 200;

bool Opens(const Token& token) {
  return token.Is('(') || token.Is('[') || token.Is('<');
}

bool Closes(const Token& token) {
  return token.Is(')') || token.Is(']') || token.Is('>');
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParameterNames(
    std::string_view parameters) {
  auto fault = [&](std::string_view why) {
    return absl::InvalidArgumentError(fmt::format(
        "surface.parameters: '{}' {}", Shorten(parameters, kShownBytes), why));
  };
  const TokenizedText text = Tokenize(parameters);
  if (text.fault || !text.directives.empty()) {
    return fault(text.fault ? text.fault->message : "has a directive");
  }
  std::vector<std::string> names;
  if (text.tokens.empty() ||
      (text.tokens.size() == 1 && text.tokens[0].IsWord("void"))) {
    return names;
  }
  size_t depth = 0;
  size_t words = 0;        // of this parameter, up to its name
  bool is_behind = false;  // its name
  std::string name;
  for (size_t i = 0; i <= text.tokens.size(); ++i) {
    const bool is_last = i == text.tokens.size();
    const Token token = is_last ? Token() : text.tokens[i];
    if (is_last || (depth == 0 && token.Is(','))) {
      if (words < 2 || name.starts_with("kiln_")) {
        return fault(fmt::format("gives parameter {} no name of its own",
                                 names.size() + 1));
      }
      names.push_back(std::move(name));
      name.clear();
      words = 0;
      is_behind = false;
    } else if (Opens(token)) {
      ++depth;
    } else if (Closes(token)) {
      if (depth-- == 0) {
        return fault("closes a bracket that is not open");
      }
    } else if (token.Is(';') || token.Is('{') || token.Is('}')) {
      return fault("is not a list of parameters");
    } else if (depth == 0 && (token.Is(':') || token.Is('='))) {
      is_behind = true;  // HLSL: a semantic, a default
    } else if (depth == 0 && token.IsWord() && !is_behind) {
      name = std::string(token.text);
      ++words;
    }
  }
  return depth == 0 ? absl::StatusOr<std::vector<std::string>>(names)
                    : fault("leaves a bracket open");
}

}  // namespace kiln::surface
