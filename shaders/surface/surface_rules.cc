// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/surface_rules.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/surface/builtins.h"
#include "shaders/surface/outline.h"
#include "shaders/surface/tokens.h"

namespace kiln::surface {
namespace {

constexpr size_t kShownWordBytes = 60;  // of a word in a message

std::string Quoted(std::string_view word) {
  return fmt::format("'{}'", Shorten(word, kShownWordBytes));
}

// The names that no text may define: the compiler's own.
bool IsReservedMacro(std::string_view name) {
  return name.starts_with("gl_") || name.starts_with("GL_") ||
         name == "defined" || name == "__LINE__" || name == "__FILE__" ||
         name == "__VERSION__";
}

// One text against the rules. The first fault found is the answer, so what
// says most comes first.
class Checker {
 public:
  Checker(std::string_view text, const SurfaceContext& context)
      : source_(text), context_(context) {}

  // `slot` is null for an included file.
  std::optional<TextFault> Run(const SurfaceSlot* slot) {
    if (source_.size() > limits::kSurfaceBytes) {
      Fail(1, fmt::format("the text has {} bytes, over the limit of {}",
                          source_.size(), limits::kSurfaceBytes));
      return fault_;
    }
    text_ = Tokenize(source_);
    if (text_.fault) {
      return text_.fault;
    }
    macros_ = ReadMacros(text_);
    facts_ = FactsOf(macros_, context_.macros);
    CheckDirectives(slot);
    CheckWords();
    CheckMacros();
    if (fault_) {
      return fault_;
    }
    outline_ = ReadOutline(text_);
    if (outline_.fault) {
      return outline_.fault;
    }
    for (const Declaration& declaration : outline_.declarations) {
      if (declaration.kind != DeclarationKind::kPrototype) {
        declared_.insert(declaration.name);
      }
    }
    CheckExposedMacros();
    CheckMembers();
    CheckCalls();
    if (slot == nullptr) {
      CheckHiding();
    } else if (!fault_) {
      CheckFunction(*slot);
    }
    CheckDeclarations(slot != nullptr);
    return fault_;
  }

 private:
  void Fail(uint32_t line, std::string message) {
    if (!fault_ || line < fault_->line) {
      fault_ = TextFault{line, std::move(message)};
    }
  }

  // The facts of `word` as a macro, the text's own or the shader's; none: null.
  // What the text declares is renamed, so a macro of that name does not meet
  // it.
  const MacroFacts* Facts(std::string_view word) const {
    if (const auto own = facts_.find(word); own != facts_.end()) {
      return &own->second;
    }
    const auto other = context_.macros.find(word);
    return other == context_.macros.end() || declared_.contains(word)
               ? nullptr
               : &other->second;
  }

  // True when the word at `token` is a macro there: the shader's, or the text's
  // own from its #define on.
  bool IsMacroAt(size_t token) const {
    const std::string_view word = text_.tokens[token].text;
    if (!facts_.contains(word)) {
      return Facts(word) != nullptr;
    }
    return std::ranges::any_of(macros_, [&](const MacroDefinition& macro) {
      return macro.token < token && macro.name == word;
    });
  }

  void CheckDirectives(const SurfaceSlot* slot) {
    for (const Directive& directive : text_.directives) {
      switch (directive.kind) {
        case DirectiveKind::kPragma: {
          const bool is_once = directive.last == directive.first + 1 &&
                               text_.tokens[directive.first].IsWord("once");
          if (slot != nullptr || !is_once) {
            Fail(directive.line, "#pragma is not allowed in a surface");
          }
          break;
        }
        case DirectiveKind::kOther:
          Fail(directive.line,
               fmt::format("{} is not allowed in a surface",
                           Quoted("#" + std::string(directive.name))));
          break;
        case DirectiveKind::kInclude:
          CheckInclude(directive, slot);
          break;
        case DirectiveKind::kDefine:
        case DirectiveKind::kUndef:
          CheckMacroName(directive);
          break;
        default:
          break;
      }
    }
  }

  void CheckInclude(const Directive& directive, const SurfaceSlot* slot) {
    if (directive.last != directive.first + 1) {
      Fail(directive.line, "#include has more than a name");
      return;
    }
    std::string_view name = text_.tokens[directive.first].text;
    name = name.substr(1, name.size() - 2);
    if (name.empty()) {
      Fail(directive.line, "#include has an empty name");
    }
    while (name.starts_with("./")) {
      name.remove_prefix(2);
    }
    const bool is_generated =
        name.find("kiln_surfaces") != name.npos ||
        (slot != nullptr && !slot->include.empty() && name == slot->include);
    if (is_generated) {
      Fail(directive.line,
           fmt::format("{} is generated, from this surface too", Quoted(name)));
    }
  }

  void CheckMacroName(const Directive& directive) {
    const bool is_named = directive.first < directive.last &&
                          text_.tokens[directive.first].IsWord();
    if (!is_named) {
      Fail(directive.line, fmt::format("#{} without a name", directive.name));
      return;
    }
    const std::string_view name = text_.tokens[directive.first].text;
    if (IsReservedMacro(name)) {
      Fail(directive.line, fmt::format("#{} of {}, a name of the compiler",
                                       directive.name, Quoted(name)));
    } else if (!facts_.contains(name)) {
      Fail(directive.line,
           fmt::format("#undef of {}, which this file does not #define",
                       Quoted(name)));
    }
  }

  // Every word, of code and of directives; what #error says is text.
  void CheckWords() {
    for (const Token& token : text_.tokens) {
      if (!token.IsWord() ||
          (token.directive != 0 && text_.directives[token.directive - 1].kind ==
                                       DirectiveKind::kError)) {
        continue;
      }
      if (token.text.starts_with("kiln_")) {
        Fail(token.line, fmt::format("{}: names that begin with kiln_ are "
                                     "Kiln's own",
                                     Quoted(token.text)));
      } else if (IsRefusedWord(token.text)) {
        Fail(token.line,
             fmt::format("{} is not allowed in a surface", Quoted(token.text)));
      } else if (const std::string_view why = EffectOfWord(token.text);
                 !why.empty()) {
        FailForEffect(token, why);
      } else if (!facts_.contains(token.text)) {
        const MacroFacts* const facts = Facts(token.text);
        if (facts != nullptr && !facts->refused.empty()) {
          Fail(token.line,
               fmt::format("{} is a macro of the shader that has {}: not "
                           "allowed in a surface",
                           Quoted(token.text), facts->refused));
        }
      }
    }
  }

  void FailForEffect(const Token& word, std::string_view why) {
    Fail(word.line, fmt::format("{} is not allowed in a surface: {}",
                                Quoted(word.text), why));
  }

  // Calls of the language's functions: what the text declares is its own.
  void CheckCalls() {
    for (size_t i = 0; i + 1 < text_.tokens.size(); ++i) {
      const Token& word = text_.tokens[i];
      if (word.IsWord() && text_.tokens[i + 1].Is('(') &&
          !declared_.contains(word.text) && !IsMacroAt(i)) {
        if (const std::string_view why =
                EffectOfCall(word.text, context_.language);
            !why.empty()) {
          FailForEffect(word, why);
        }
      }
    }
  }

  // In a surface a name is its own; in a file that it includes it is
  // everyone's.
  void CheckHiding() {
    for (const Declaration& declaration : outline_.declarations) {
      if (context_.language == Language::kGlsl &&
          (declaration.kind == DeclarationKind::kFunction ||
           declaration.kind == DeclarationKind::kPrototype) &&
          IsGlslFunction(declaration.name)) {
        Fail(declaration.line,
             fmt::format("{} is a function of GLSL, which this would hide from "
                         "the shader; give it another name",
                         Quoted(declaration.name)));
      }
    }
  }

  void CheckMacros() {
    for (const MacroDefinition& macro : macros_) {
      if (const char bracket = UnpairedBracket(macro)) {
        Fail(macro.line, fmt::format("macro {} has an unpaired '{}'",
                                     Quoted(macro.name), bracket));
      }
    }
  }

  // Outside functions a macro may stand for a type or a value, and not for
  // something that is a declaration of its own.
  void CheckExposedMacros() {
    for (const size_t token : outline_.exposed) {
      const Token& word = text_.tokens[token];
      const MacroFacts* const facts = Facts(word.text);
      if (facts != nullptr && facts->splits && IsMacroAt(token)) {
        Fail(word.line,
             fmt::format("macro {} may not be used outside functions:"
                         " it has a qualifier, a brace, or a comma, "
                         "semicolon or '=' outside parentheses",
                         Quoted(word.text)));
      }
    }
  }

  bool IsOpaqueAt(size_t token) const {
    const std::string_view word = text_.tokens[token].text;
    const MacroFacts* const facts = Facts(word);
    return IsOpaqueType(word) || (facts != nullptr && facts->is_opaque);
  }

  // An undefined function of two surfaces could not be told apart.
  void CheckDeclarations(bool is_surface) {
    for (const Declaration& declaration : outline_.declarations) {
      const std::string name = Quoted(declaration.name);
      if (declaration.name.starts_with("gl_")) {
        Fail(declaration.line,
             fmt::format("{}: names that begin with gl_ are GLSL's own", name));
      } else if (IsMacroAt(declaration.token)) {
        Fail(declaration.line,
             fmt::format("{} is a macro and cannot name a declaration", name));
      } else if (declaration.kind == DeclarationKind::kVariable) {
        CheckVariable(declaration);
      } else if (declaration.kind == DeclarationKind::kPrototype &&
                 is_surface && !declared_.contains(declaration.name)) {
        Fail(declaration.line,
             fmt::format("{} is declared here and not defined; what the shader "
                         "offers needs no declaration",
                         name));
      }
    }
  }

  void CheckVariable(const Declaration& variable) {
    if (IsOpaqueAt(variable.type_token)) {
      Fail(variable.line,
           fmt::format("{} would be a resource; a surface may not declare any",
                       Quoted(variable.name)));
    } else if (context_.language == Language::kHlsl && !variable.is_static) {
      Fail(variable.line,
           fmt::format("{} would be a uniform, since it is not static; a "
                       "surface may not declare any",
                       Quoted(variable.name)));
    }
  }

  void CheckMembers() {
    for (const size_t token : outline_.member_words) {
      const Token& word = text_.tokens[token];
      const bool is_name =
          token + 1 < text_.tokens.size() &&
          (text_.tokens[token + 1].Is(';') || text_.tokens[token + 1].Is(','));
      if (!is_name && IsOpaqueAt(token)) {
        Fail(word.line, fmt::format("{} in a structure would be a resource; a "
                                    "surface may not declare any",
                                    Quoted(word.text)));
      }
    }
  }

  void CheckFunction(const SurfaceSlot& slot) {
    const Declaration* found = nullptr;
    bool has_prototype = false;
    for (const Declaration& declaration : outline_.declarations) {
      if (declaration.name != slot.function || declaration.is_dead) {
        continue;
      }
      has_prototype |= declaration.kind == DeclarationKind::kPrototype;
      if (declaration.kind != DeclarationKind::kFunction) {
        continue;
      }
      if (found != nullptr && !AreExclusive(*found, declaration)) {
        Fail(declaration.line,
             fmt::format("{} is defined in line {} already; a surface has one "
                         "function of that name, with ({})",
                         Quoted(slot.function), found->line,
                         Shorten(slot.parameters, kShownWordBytes)));
      }
      found = &declaration;
    }
    if (found == nullptr) {
      Fail(text_.LastLine(),
           fmt::format("the surface does not define its function, {}({}){}",
                       slot.function, slot.parameters,
                       has_prototype ? ": it only declares it" : ""));
    }
  }

  std::string_view source_;
  const SurfaceContext& context_;
  TokenizedText text_;
  std::vector<MacroDefinition> macros_;
  MacroTable facts_;
  Outline outline_;
  std::set<std::string_view> declared_;  // what IsolateNames renames
  std::optional<TextFault> fault_;
};

absl::Status Check(const SurfaceSlot* slot, std::string_view text,
                   std::string_view name, const SurfaceContext& context) {
  KILN_RETURN_IF_ERROR(CheckSurfaceName(name));
  const std::optional<TextFault> fault = Checker(text, context).Run(slot);
  if (!fault) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      Shorten(fmt::format("{}:{}: {}", name, fault->line, fault->message),
              limits::kStatusTextBytes));
}

}  // namespace

absl::Status CheckSurface(const SurfaceSlot& slot, std::string_view text,
                          std::string_view name,
                          const SurfaceContext& context) {
  return Check(&slot, text, name, context);
}

absl::Status CheckIncluded(std::string_view text, std::string_view path,
                           const SurfaceContext& context) {
  return Check(nullptr, text, path, context);
}

}  // namespace kiln::surface
