// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/surface_names.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>

#include "shaders/surface/macros.h"
#include "shaders/surface/outline.h"
#include "shaders/surface/tokens.h"

namespace kiln::surface {
namespace {

// Two underscores in a row are reserved: a name that begins with one is joined
// to another prefix, without one of its own.
constexpr std::string_view kPrefix = "kiln_s";
constexpr std::string_view kUnderscorePrefix = "kiln_t";

constexpr std::string_view kMemberQualifiers[] = {
    "const",           "highp",  "mediump",       "lowp",     "precise",
    "row_major",       "static", "column_major",  "unsigned", "linear",
    "nointerpolation", "sample", "noperspective", "centroid", "flat"};

enum class NameKind { kOther, kStructure, kMacro, kCallMacro };

// What a word within a structure may be.
enum class Position : uint8_t { kCode, kMember, kArgument };

class Isolator {
 public:
  Isolator(std::string_view source, uint32_t index)
      : source_(source), index_(index), text_(Tokenize(source)) {}

  IsolatedText Run() {
    CollectNames();
    FindMembers();
    size_t copied = source_.starts_with(kByteOrderMark) ? 3 : 0;
    for (size_t i = 0; i < text_.tokens.size(); ++i) {
      const Token& token = text_.tokens[i];
      if (IsRenamed(i)) {
        result_.text += source_.substr(copied, token.offset - copied);
        result_.text += IsolatedName(token.text, index_);
        copied = token.offset + token.text.size();
      }
    }
    result_.text += source_.substr(copied);
    return std::move(result_);
  }

 private:
  void CollectNames() {
    const Outline outline = ReadOutline(text_);
    for (const Declaration& declaration : outline.declarations) {
      const bool is_structure = declaration.kind == DeclarationKind::kStructure;
      if (declaration.kind != DeclarationKind::kPrototype) {
        NameKind& kind = names_[declaration.name];
        kind = is_structure ? NameKind::kStructure : kind;
      }
    }
    std::set<std::string> macros;
    for (const MacroDefinition& macro : ReadMacros(text_)) {
      macros.insert(IsolatedName(macro.name, index_));
      const std::string_view name = text_.tokens[macro.token].text;
      NameKind& kind = names_[name];
      if (!macro.is_call) {
        kind = NameKind::kMacro;
      } else if (kind != NameKind::kMacro) {
        kind = NameKind::kCallMacro;
      }
    }
    result_.macros.assign(macros.begin(), macros.end());
  }

  const Token* At(size_t index) const {
    return index < text_.tokens.size() ? &text_.tokens[index] : nullptr;
  }

  // Finds, within every structure, local ones too, the words that may be names
  // of members: not the type in front, nor what stands in brackets. In the
  // arguments of a macro nobody can tell.
  void FindMembers() {
    places_.resize(text_.tokens.size(), Position::kCode);
    for (size_t i = 0; i < text_.tokens.size(); ++i) {
      if (!text_.tokens[i].IsWord("struct")) {
        continue;
      }
      size_t open = i + 1;
      if (At(open) != nullptr && At(open)->IsWord()) {
        ++open;
      }
      if (At(open) != nullptr && At(open)->Is('{')) {
        i = MarkMembers(open + 1);
      }
    }
  }

  // Returns: the '}', or the end of the tokens.
  size_t MarkMembers(size_t at) {
    std::string open;  // brackets
    bool has_type = false;
    for (; at < text_.tokens.size() && !text_.tokens[at].Is('}'); ++at) {
      const Token& token = text_.tokens[at];
      if (token.Is('[') || token.Is('(') || (token.Is('<') && open.empty())) {
        open += token.text[0];
      } else if (token.Is(']') || token.Is(')') ||
                 (token.Is('>') && open == "<")) {
        open.resize(open.empty() ? 0 : open.size() - 1);
      } else if (token.Is(';')) {
        has_type = false;
      } else if (token.IsWord() && token.directive == 0 && has_type) {
        if (open.empty()) {
          places_[at] = Position::kMember;
        } else if (open.find_first_of("[<") == open.npos) {
          places_[at] = Position::kArgument;
        }
      } else if (token.IsWord() && token.directive == 0) {
        has_type = std::ranges::find(kMemberQualifiers, token.text) ==
                   std::end(kMemberQualifiers);
      }
    }
    return at;
  }

  bool IsRenamed(size_t at) const {
    const Token& token = text_.tokens[at];
    if (!token.IsWord()) {
      return false;
    }
    const auto name = names_.find(token.text);
    if (name == names_.end() || IsPlainText(token)) {
      return false;
    }
    const Token* const before = at == 0 ? nullptr : &text_.tokens[at - 1];
    const bool is_access = before != nullptr && before->Is('.') &&
                           before->directive == token.directive;
    switch (name->second) {
      case NameKind::kMacro:
        return true;  // it is expanded wherever it stands
      case NameKind::kCallMacro:
        return (!is_access && places_[at] == Position::kCode) ||
               (At(at + 1) != nullptr && At(at + 1)->Is('('));
      case NameKind::kStructure:
        return !is_access && places_[at] != Position::kMember;
      case NameKind::kOther:
        break;
    }
    return !is_access && places_[at] == Position::kCode;
  }

  // True for what #error says, and what an unknown directive has.
  bool IsPlainText(const Token& token) const {
    if (token.directive == 0) {
      return false;
    }
    const DirectiveKind kind = text_.directives[token.directive - 1].kind;
    return kind == DirectiveKind::kError || kind == DirectiveKind::kPragma ||
           kind == DirectiveKind::kOther;
  }

  std::string_view source_;
  uint32_t index_;
  TokenizedText text_;
  std::map<std::string_view, NameKind> names_;
  std::vector<Position> places_;
  IsolatedText result_;
};

// The length of the prefix that IsolatedName gave the word at the front of
// `text`, without what the author wrote; 0: none.
size_t PrefixLength(std::string_view text) {
  const bool is_underscore = text.starts_with(kUnderscorePrefix);
  if (!is_underscore && !text.starts_with(kPrefix)) {
    return 0;
  }
  const size_t digits = kPrefix.size();
  const size_t end =
      std::min(text.find_first_not_of("0123456789", digits), text.size());
  if (end == digits || end == text.size() || text[end] != '_') {
    return 0;
  }
  return is_underscore ? end : end + 1;
}

}  // namespace

IsolatedText IsolateNames(std::string_view text, uint32_t index) {
  return Isolator(text, index).Run();
}

std::string IsolatedName(std::string_view name, uint32_t index) {
  return name.starts_with('_')
             ? fmt::format("{}{}{}", kUnderscorePrefix, index, name)
             : fmt::format("{}{}_{}", kPrefix, index, name);
}

std::optional<OwnedName> FindIsolatedName(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    const bool is_start = at == 0 || !IsWordCharacter(text[at - 1]);
    const size_t prefix = is_start ? PrefixLength(text.substr(at)) : 0;
    if (prefix == 0) {
      continue;
    }
    OwnedName owned;
    const char* const digits = text.data() + at + kPrefix.size();
    std::from_chars(digits, text.data() + text.size(), owned.index);
    size_t end = at + prefix;
    while (end < text.size() && IsWordCharacter(text[end])) {
      ++end;
    }
    owned.name = text.substr(at + prefix, end - at - prefix);
    return owned;
  }
  return std::nullopt;
}

std::string RestoreNames(std::string_view text) {
  std::string restored;
  bool in_word = false;
  while (!text.empty()) {
    const size_t prefix = in_word ? 0 : PrefixLength(text);
    text.remove_prefix(prefix);
    if (text.empty()) {
      break;
    }
    in_word = IsWordCharacter(text[0]);
    restored += text[0];
    text.remove_prefix(1);
  }
  return restored;
}

}  // namespace kiln::surface
