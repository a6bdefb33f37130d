// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/macros.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "shaders/surface/builtins.h"

namespace kiln::surface {
namespace {

constexpr std::string_view kRefusedWords[] = {
    // GLSL and HLSL: resources, interfaces and entry points
    "layout", "uniform", "buffer", "shared", "groupshared", "subroutine",
    "attribute", "varying", "main", "cbuffer", "tbuffer", "register",
    "packoffset", "ConstantBuffer", "TextureBuffer", "numthreads",
    // what hides names, or makes others for the same thing
    "typedef", "template", "class", "interface", "namespace", "using", "extern",
    "export", "asm",
    // pragmas as words
    "_Pragma", "__pragma"};

constexpr std::string_view kInterfaceQualifiers[] = {"in",
                                                     "out",
                                                     "inout",
                                                     "flat",
                                                     "smooth",
                                                     "centroid",
                                                     "noperspective",
                                                     "sample",
                                                     "patch",
                                                     "invariant",
                                                     "precision",
                                                     "coherent",
                                                     "volatile",
                                                     "restrict",
                                                     "readonly",
                                                     "writeonly",
                                                     "linear",
                                                     "nointerpolation",
                                                     "globallycoherent"};

// What extensions add ends in the name of who made them: rayQueryEXT. The one
// exception declares nothing, and descriptor indexing needs it.
constexpr std::string_view kVendors[] = {
    "EXT", "KHR",  "NV",    "NVX", "AMD",    "ARB",   "OES",
    "ARM", "QCOM", "INTEL", "IMG", "HUAWEI", "GOOGLE"};

bool IsExtensionWord(std::string_view word) {
  if (word == "nonuniformEXT") {
    return false;
  }
  return std::ranges::any_of(kVendors, [&](std::string_view vendor) {
    if (!word.ends_with(vendor) || word.size() == vendor.size()) {
      return false;
    }
    const char before = word[word.size() - vendor.size() - 1];
    return (before >= 'a' && before <= 'z') ||
           (before >= '0' && before <= '9') || word.starts_with("gl_");
  });
}

template <size_t N>
bool Contains(const std::string_view (&list)[N], std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

bool IsGlslOpaque(std::string_view word) {
  for (const std::string_view prefix : {"f16", "i64", "u64", "i", "u"}) {
    if (word.starts_with(prefix) && !word.starts_with("image")) {
      word.remove_prefix(prefix.size());
      break;
    }
  }
  for (const std::string_view kind :
       {"sampler", "texture", "image", "subpassInput", "attachment"}) {
    if (!word.starts_with(kind)) {
      continue;
    }
    const std::string_view rest = word.substr(kind.size());
    return rest.empty() || (rest[0] >= '0' && rest[0] <= '9') ||
           rest.starts_with("Buffer") || rest.starts_with("Cube") ||
           rest.starts_with("Shadow") || rest.starts_with("MS") ||
           rest.starts_with("External") || rest == "_state";
  }
  return false;
}

bool IsHlslOpaque(std::string_view word) {
  for (const std::string_view prefix : {"RasterizerOrdered", "RW"}) {
    if (word.starts_with(prefix)) {
      word.remove_prefix(prefix.size());
    }
  }
  constexpr std::string_view kTypes[] = {"Buffer",
                                         "StructuredBuffer",
                                         "ByteAddressBuffer",
                                         "SamplerState",
                                         "SamplerComparisonState",
                                         "AppendStructuredBuffer",
                                         "ConsumeStructuredBuffer",
                                         "SubpassInput",
                                         "SubpassInputMS",
                                         "RaytracingAccelerationStructure",
                                         "RayQuery"};
  return Contains(kTypes, word) || word.starts_with("Texture1D") ||
         word.starts_with("Texture2D") || word.starts_with("Texture3D") ||
         word.starts_with("TextureCube") || word.starts_with("FeedbackTexture");
}

// The parts of "#define NAME(a, b) body" at tokens [first, last).
MacroDefinition ReadDefinition(const TokenizedText& text, size_t first,
                               size_t last) {
  const Token& name = text.tokens[first];
  MacroDefinition macro;
  macro.name = std::string(name.text);
  macro.line = name.line;
  macro.token = first;
  size_t at = first + 1;
  if (at < last && text.tokens[at].Is('(') &&
      text.tokens[at].offset == name.offset + name.text.size()) {
    macro.is_call = true;
    while (at < last && !text.tokens[at].Is(')')) {
      ++at;
    }
    at = std::min(at + 1, last);
  }
  macro.body = at;
  macro.end = last;
  for (; at < last; ++at) {
    const Token& token = text.tokens[at];
    const bool continues_operator =
        token.Is('=') && at > macro.body &&
        text.tokens[at - 1].offset + 1 == token.offset &&
        std::string_view("=<>!").find(text.tokens[at - 1].text[0]) !=
            std::string_view::npos;
    if (continues_operator) {
      macro.words.back() += '=';
    } else {
      macro.words.emplace_back(token.text);
    }
  }
  return macro;
}

// What the body itself shows, and what it has of `known` macros.
MacroFacts DirectFacts(const MacroDefinition& macro, const MacroTable& known) {
  MacroFacts facts;
  int depth = 0;
  for (size_t i = 0; i < macro.words.size(); ++i) {
    const std::string_view word = macro.words[i];
    if (word == "(" || word == "[") {
      ++depth;
    } else if (word == ")" || word == "]") {
      --depth;
    }
    facts.splits |= word == "{" || word == "}" || IsInterfaceQualifier(word) ||
                    (depth == 0 && (word == "," || word == ";" || word == "="));
    const bool is_called =
        i + 1 < macro.words.size() && macro.words[i + 1] == "(";
    const bool reaches_out =
        !EffectOfWord(word).empty() ||
        (is_called && (!EffectOfCall(word, Language::kGlsl).empty() ||
                       word.starts_with("Interlocked")));
    if (facts.refused.empty() && (IsRefusedWord(word) || reaches_out ||
                                  word == "#")) {  // "##" makes words
      facts.refused = fmt::format("'{}'", word);
    }
    facts.is_opaque |= IsOpaqueType(word) && !is_called;
    if (const auto other = known.find(word); other != known.end()) {
      facts.splits |= other->second.splits;
      facts.is_opaque |= other->second.is_opaque;
      if (facts.refused.empty()) {
        facts.refused = other->second.refused;
      }
    }
  }
  if (const char bracket = UnpairedBracket(macro)) {
    facts.refused = fmt::format("an unpaired '{}'", bracket);
  }
  return facts;
}

bool Merge(const MacroFacts& from, MacroFacts& into) {
  const bool is_new = (into.refused.empty() && !from.refused.empty()) ||
                      (from.splits && !into.splits) ||
                      (from.is_opaque && !into.is_opaque);
  if (into.refused.empty()) {
    into.refused = from.refused;
  }
  into.splits |= from.splits;
  into.is_opaque |= from.is_opaque;
  return is_new;
}

}  // namespace

std::vector<MacroDefinition> ReadMacros(const TokenizedText& text) {
  std::vector<MacroDefinition> macros;
  for (const Directive& directive : text.directives) {
    if (directive.kind == DirectiveKind::kDefine &&
        directive.first < directive.last &&
        text.tokens[directive.first].IsWord()) {
      macros.push_back(ReadDefinition(text, directive.first, directive.last));
    }
  }
  return macros;
}

MacroTable FactsOf(const std::vector<MacroDefinition>& definitions,
                   const MacroTable& known) {
  MacroTable own;
  for (const MacroDefinition& macro : definitions) {
    own.try_emplace(macro.name);
  }
  MacroTable others;
  for (const auto& [name, facts] : known) {
    if (!own.contains(name)) {
      others.emplace_hint(others.end(), name, facts);
    }
  }
  // From each macro that shows something to those that name it, and on.
  std::map<std::string_view, std::vector<std::string_view>> users;
  std::vector<std::string_view> pending;
  for (const MacroDefinition& macro : definitions) {
    for (const std::string& word : macro.words) {
      if (own.contains(word)) {
        users[word].push_back(macro.name);
      }
    }
    if (Merge(DirectFacts(macro, others), own[macro.name])) {
      pending.push_back(macro.name);
    }
  }
  while (!pending.empty()) {
    const std::string_view name = pending.back();
    pending.pop_back();
    const MacroFacts& facts = own.find(name)->second;
    for (const std::string_view user : users[name]) {
      if (Merge(facts, own.find(user)->second)) {
        pending.push_back(user);
      }
    }
  }
  return own;
}

char UnpairedBracket(const MacroDefinition& definition) {
  std::string open;
  for (const std::string& word : definition.words) {
    const char c = word.size() == 1 ? word[0] : '\0';
    if (c == '(' || c == '[' || c == '{') {
      open += c;
    } else if (c == ')' || c == ']' || c == '}') {
      const char wanted = c == ')' ? '(' : (c == ']' ? '[' : '{');
      if (open.empty() || open.back() != wanted) {
        return c;
      }
      open.pop_back();
    }
  }
  return open.empty() ? '\0' : open.back();
}

bool IsRefusedWord(std::string_view word) {
  return Contains(kRefusedWords, word) || word.starts_with("kiln_") ||
         IsExtensionWord(word);
}

bool IsInterfaceQualifier(std::string_view word) {
  return Contains(kInterfaceQualifiers, word);
}

bool IsOpaqueType(std::string_view word) {
  return IsGlslOpaque(word) || IsHlslOpaque(word);
}

}  // namespace kiln::surface
