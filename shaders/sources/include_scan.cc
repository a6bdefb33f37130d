// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/include_scan.h"

#include <algorithm>
#include <utility>

#include "shaders/sources/directive_reader.h"

namespace kiln::sources {
namespace {

constexpr std::string_view kIdentifier =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

// The identifier that `text` begins with; empty: it begins with none.
std::string_view FirstIdentifier(std::string_view text) {
  return text.substr(
      0, std::min(text.find_first_not_of(kIdentifier), text.size()));
}

// The macro whose absence `directive` asks for; empty: it asks for none.
std::string GuardMacro(const Directive& directive) {
  if (directive.keyword == "ifndef") {
    return std::string(FirstIdentifier(directive.rest));
  }
  if (directive.keyword != "if") {
    return {};
  }
  std::string condition = directive.rest;
  std::erase(condition, ' ');
  std::string_view macro = condition;
  constexpr std::string_view kNotDefined = "!defined";
  if (!macro.starts_with(kNotDefined)) {
    return {};
  }
  macro.remove_prefix(kNotDefined.size());
  if (macro.starts_with('(') && macro.ends_with(')')) {
    macro = macro.substr(1, macro.size() - 2);
  }
  // Anything after the name would be another condition.
  return FirstIdentifier(macro) == macro ? std::string(macro) : std::string();
}

// How deep in #if ... #endif, once `directive` has been passed.
size_t DepthAfter(size_t depth, const Directive& directive) {
  if (directive.keyword == "if" || directive.keyword == "ifdef" ||
      directive.keyword == "ifndef") {
    return depth + 1;
  }
  return directive.keyword == "endif" && depth > 0 ? depth - 1 : depth;
}

}  // namespace

std::vector<IncludeDirective> ScanIncludes(std::string_view text) {
  std::vector<IncludeDirective> includes;
  DirectiveReader reader(text);
  while (std::optional<Directive> directive = reader.Next()) {
    if (directive->keyword != "include") {
      continue;
    }
    const bool named =
        directive->header_name.has_value() && !directive->header_name->empty();
    includes.push_back({named ? *std::move(directive->header_name) : "",
                        named && directive->angled, directive->line, !named});
  }
  return includes;
}

std::optional<TextSpan> FindPragmaOnce(std::string_view text) {
  if (text.find("once") == text.npos && text.find('\\') == text.npos) {
    return std::nullopt;  // nearly every file; a joint may split the word
  }
  const size_t deepest = HasIncludeGuard(text) ? 1 : 0;
  size_t depth = 0;
  DirectiveReader reader(text);
  while (const std::optional<Directive> directive = reader.Next()) {
    if (directive->keyword == "pragma" && depth <= deepest &&
        FirstIdentifier(directive->rest) == "once") {
      return TextSpan{directive->offset, directive->end - directive->offset};
    }
    depth = DepthAfter(depth, *directive);
  }
  return std::nullopt;
}

std::vector<uint32_t> UnendedConditions(std::string_view text) {
  std::vector<uint32_t> open;
  DirectiveReader reader(text);
  while (const std::optional<Directive> directive = reader.Next()) {
    const size_t depth = DepthAfter(open.size(), *directive);
    if (depth > open.size()) {
      open.push_back(directive->line);
    } else {
      open.resize(depth);
    }
  }
  return open;
}

bool HasPragmaOnce(std::string_view text) {
  return FindPragmaOnce(text).has_value();
}

bool HasIncludeGuard(std::string_view text) {
  DirectiveReader reader(text);
  const std::optional<Directive> first = reader.Next();
  const std::optional<Directive> second =
      first.has_value() ? reader.Next() : std::nullopt;
  if (!second.has_value() || second->keyword != "define") {
    return false;
  }
  const std::string macro = GuardMacro(*first);
  return !macro.empty() && FirstIdentifier(second->rest) == macro;
}

}  // namespace kiln::sources
