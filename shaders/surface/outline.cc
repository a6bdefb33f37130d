// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/outline.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "proto/text.h"
#include "shaders/surface/macros.h"

namespace kiln::surface {
namespace {

// Which brackets may enclose what, outside functions.
enum class Content { kBody, kValue, kParentheses, kMembers };

// Words before a type. Others would make a variable part of the shader's
// interface, or change what the shader itself declares.
constexpr std::string_view kQualifiers[] = {
    "const", "static",    "precise",      "highp", "mediump",
    "lowp",  "row_major", "column_major", "inline"};

char ClosingOf(char open) {
  return open == '(' ? ')' : (open == '[' ? ']' : '}');
}

bool IsOpening(const Token& token) {
  return token.Is('(') || token.Is('[') || token.Is('{');
}

bool IsClosing(const Token& token) {
  return token.Is(')') || token.Is(']') || token.Is('}');
}

class OutlineReader {
 public:
  explicit OutlineReader(const TokenizedText& text) : text_(text) {}

  Outline Run() {
    while (Peek() != nullptr) {
      Item();
    }
    if (!outline_.fault && !conditions_.empty()) {
      Fail(text_.LastLine(), fmt::format("the #if of line {} is not closed",
                                         conditions_.back().line));
    }
    return std::move(outline_);
  }

 private:
  struct Open {
    char close;
    uint32_t line;
  };

  struct Condition {
    uint32_t number = 0;
    uint32_t arm = 0;
    uint32_t line = 0;
    size_t depth = 0;  // of brackets, where it begins
    bool is_zero = false;
    bool has_else = false;
  };

  void Fail(uint32_t line, std::string message) {
    if (!outline_.fault) {
      outline_.fault = TextFault{line, std::move(message)};
    }
  }

  // The next token of code; null at the end and after a fault. Directives
  // before it are read first.
  const Token* Peek() {
    const auto& directives = text_.directives;
    while (!outline_.fault && next_directive_ < directives.size() &&
           directives[next_directive_].first <= at_) {
      const Directive& directive = directives[next_directive_++];
      ReadDirective(directive);
      at_ = std::max(at_, directive.last);
    }
    return outline_.fault || at_ >= text_.tokens.size() ? nullptr
                                                        : &text_.tokens[at_];
  }

  bool PeekIs(char c) {
    const Token* const token = Peek();
    return token != nullptr && token->Is(c);
  }

  // Takes the token that Peek gave; keeps account of brackets.
  const Token& Take() {
    const Token& token = text_.tokens[at_];
    if (open_.empty() && token.IsWord()) {
      outline_.exposed.push_back(at_);
    }
    if (IsOpening(token)) {
      open_.push_back({ClosingOf(token.text[0]), token.line});
    } else if (IsClosing(token)) {
      Close(token);
    }
    ++at_;
    return token;
  }

  void Close(const Token& token) {
    if (open_.empty() || open_.back().close != token.text[0]) {
      Fail(token.line, fmt::format("'{}' closes nothing", token.text));
    } else if (!conditions_.empty() &&
               open_.size() <= conditions_.back().depth) {
      Fail(token.line,
           fmt::format("'{}' closes a bracket from before the #if of line {}",
                       token.text, conditions_.back().line));
    } else {
      open_.pop_back();
    }
  }

  void ReadDirective(const Directive& directive) {
    switch (directive.kind) {
      case DirectiveKind::kIf:
      case DirectiveKind::kElif:
      case DirectiveKind::kElse:
      case DirectiveKind::kEndif:
        break;
      default:
        return;
    }
    if (in_declaration_ && open_.empty()) {
      Fail(directive.line,
           fmt::format("#{} inside the declaration that begins in line {}",
                       directive.name, declaration_line_));
    } else if (directive.kind == DirectiveKind::kIf) {
      BeginCondition(directive);
    } else {
      NextArm(directive);
    }
  }

  void BeginCondition(const Directive& directive) {
    Condition condition;
    condition.number = condition_count_++;
    condition.line = directive.line;
    condition.depth = open_.size();
    condition.is_zero = directive.name == "if" &&
                        directive.last == directive.first + 1 &&
                        text_.tokens[directive.first].text == "0";
    conditions_.push_back(condition);
  }

  void NextArm(const Directive& directive) {
    const bool ends = directive.kind == DirectiveKind::kEndif;
    if (conditions_.empty() || (conditions_.back().has_else && !ends)) {
      Fail(directive.line,
           fmt::format("#{} without an #if of this file", directive.name));
      return;
    }
    Condition& condition = conditions_.back();
    if (open_.size() != condition.depth) {
      Fail(directive.line,
           fmt::format("'{}' is missing for a bracket of line {}, in the #if "
                       "of line {}",
                       open_.back().close, open_.back().line, condition.line));
    } else if (ends) {
      conditions_.pop_back();
    } else {
      condition.arm += 1;
      condition.is_zero = false;
      condition.has_else = directive.kind == DirectiveKind::kElse;
    }
  }

  // At the end of the text, inside something.
  void EndsEarly() {
    Fail(text_.LastLine(),
         open_.empty()
             ? fmt::format("the text ends inside the declaration that begins "
                           "in line {}",
                           declaration_line_)
             : fmt::format("the text ends without the '{}' for line {}",
                           open_.back().close, open_.back().line));
  }

  // Anything that is not what a declaration has here.
  void Unexpected(std::string_view wanted) {
    if (const Token* const token = Peek()) {
      Fail(token->line, fmt::format("'{}' where {} is expected",
                                    Shorten(token->text, 40), wanted));
    } else {
      EndsEarly();
    }
  }

  // From an opening bracket to behind its closing one.
  void Brackets(Content content) {
    const size_t depth = open_.size();
    Take();
    while (open_.size() > depth) {
      const Token* const token = Peek();
      if (token == nullptr) {
        EndsEarly();
        return;
      }
      const bool ends_statement =
          token->Is(';') &&
          (content == Content::kValue || content == Content::kParentheses);
      const bool opens_block =
          token->Is('{') &&
          (content == Content::kMembers || content == Content::kParentheses);
      if (ends_statement || opens_block) {
        Fail(token->line, fmt::format("'{}' inside the brackets of line {}",
                                      token->text, open_.back().line));
        return;
      }
      if (content == Content::kMembers && token->IsWord()) {
        outline_.member_words.push_back(at_);
      }
      Take();
    }
  }

  void Subscripts() {
    while (PeekIs('[')) {
      Brackets(Content::kParentheses);
    }
  }

  void Add(DeclarationKind kind, size_t name, Declaration declaration) {
    declaration.kind = kind;
    declaration.token = name;
    declaration.name = text_.tokens[name].text;
    declaration.line = text_.tokens[name].line;
    for (const Condition& condition : conditions_) {
      declaration.is_dead |= condition.is_zero;
      declaration.arms.push_back({condition.number, condition.arm});
    }
    outline_.declarations.push_back(std::move(declaration));
  }

  // One declaration, with its ';' or body.
  void Item() {
    if (PeekIs(';')) {
      Take();
      return;
    }
    in_declaration_ = true;
    declaration_line_ = Peek()->line;
    Declaration declaration;
    const Token* token = Peek();
    while (token != nullptr && token->IsWord() &&
           std::ranges::find(kQualifiers, token->text) !=
               std::end(kQualifiers)) {
      declaration.is_static |= token->text == "static";
      Take();
      token = Peek();
    }
    if (token == nullptr || !token->IsWord()) {
      Unexpected("a declaration");
    } else if (IsInterfaceQualifier(token->text)) {
      Fail(token->line,
           fmt::format("'{}' is not allowed outside functions", token->text));
    } else {
      declaration.type_token = at_;
      if (Take().text == "struct" ? Structure(declaration) : TypeArguments()) {
        Declarators(declaration);
      }
    }
    in_declaration_ = false;
  }

  // Behind "struct". Returns: false when the declaration is at its end.
  bool Structure(const Declaration& declaration) {
    if (const Token* const token = Peek();
        token != nullptr && token->IsWord()) {
      const size_t name = at_;
      Take();
      Add(DeclarationKind::kStructure, name, declaration);
    }
    if (!PeekIs('{')) {
      Unexpected("'{'");
      return false;
    }
    Brackets(Content::kMembers);
    if (PeekIs(';')) {
      Take();
      return false;
    }
    return true;
  }

  // HLSL: vector<float, 3>. Returns: false after a fault.
  bool TypeArguments() {
    if (!PeekIs('<')) {
      return true;
    }
    while (!PeekIs('>')) {
      const Token* const token = Peek();
      if (token == nullptr ||
          (!token->IsWord() && token->kind != TokenKind::kNumber &&
           !token->Is('<') && !token->Is(','))) {
        Unexpected("'>'");
        return false;
      }
      Take();
    }
    Take();
    return true;
  }

  // Behind the type.
  void Declarators(const Declaration& declaration) {
    Subscripts();
    for (bool first = true;; first = false) {
      const Token* const token = Peek();
      if (token == nullptr || !token->IsWord()) {
        Unexpected("a name");
        return;
      }
      const size_t name = at_;
      Take();
      if (first && PeekIs('(')) {
        Function(name, declaration);
        return;
      }
      Add(DeclarationKind::kVariable, name, declaration);
      Subscripts();
      if (PeekIs('=')) {
        Initializer();
      }
      if (PeekIs(',')) {
        Take();
      } else if (PeekIs(';')) {
        Take();
        return;
      } else {
        Unexpected("';'");
        return;
      }
    }
  }

  // At the '(' behind its name.
  void Function(size_t name, const Declaration& declaration) {
    Brackets(Content::kParentheses);
    if (PeekIs(':')) {  // HLSL: a semantic
      Take();
      if (const Token* const token = Peek();
          token == nullptr || !token->IsWord()) {
        Unexpected("a name");
        return;
      }
      Take();
    }
    if (PeekIs(';')) {
      Take();
      Add(DeclarationKind::kPrototype, name, declaration);
    } else if (PeekIs('{')) {
      Add(DeclarationKind::kFunction, name, declaration);
      Brackets(Content::kBody);
    } else {
      Unexpected("'{' or ';'");
    }
  }

  // From '=' to the ',' or ';' behind it.
  void Initializer() {
    Take();
    if (PeekIs('{')) {
      Brackets(Content::kValue);
      return;
    }
    bool after_number = false;
    while (!PeekIs(',') && !PeekIs(';')) {
      const Token* const token = Peek();
      if (token == nullptr || token->Is('{') ||
          (token->IsWord() && after_number)) {
        Unexpected("';'");
        return;
      }
      after_number = token->kind == TokenKind::kNumber;
      if (IsOpening(*token)) {
        Brackets(Content::kParentheses);
      } else {
        Take();
      }
    }
  }

  const TokenizedText& text_;
  Outline outline_;
  size_t at_ = 0;
  size_t next_directive_ = 0;
  std::vector<Open> open_;  // brackets
  std::vector<Condition> conditions_;
  uint32_t condition_count_ = 0;
  bool in_declaration_ = false;
  uint32_t declaration_line_ = 0;
};

}  // namespace

Outline ReadOutline(const TokenizedText& text) {
  return OutlineReader(text).Run();
}

bool AreExclusive(const Declaration& a, const Declaration& b) {
  if (a.is_dead || b.is_dead) {
    return true;
  }
  const size_t shared = std::min(a.arms.size(), b.arms.size());
  for (size_t i = 0; i < shared && a.arms[i].condition == b.arms[i].condition;
       ++i) {
    if (a.arms[i].arm != b.arms[i].arm) {
      return true;
    }
  }
  return false;
}

}  // namespace kiln::surface
