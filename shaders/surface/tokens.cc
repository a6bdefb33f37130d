// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/tokens.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/text.h"

namespace kiln::surface {
namespace {

// Two characters that some preprocessor takes for another one, or that only
// open what a surface may not have (namespaces). No shader text needs them.
constexpr std::string_view kRefusedPairs[] = {"%:", "<:", ":>", "<%",
                                              "%>", "??", "::"};

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsBlank(char c) {
  return c == ' ' || c == '\t';
}

DirectiveKind KindOf(std::string_view name) {
  constexpr std::pair<std::string_view, DirectiveKind> kKinds[] = {
      {"define", DirectiveKind::kDefine},   {"undef", DirectiveKind::kUndef},
      {"if", DirectiveKind::kIf},           {"ifdef", DirectiveKind::kIf},
      {"ifndef", DirectiveKind::kIf},       {"elif", DirectiveKind::kElif},
      {"else", DirectiveKind::kElse},       {"endif", DirectiveKind::kEndif},
      {"include", DirectiveKind::kInclude}, {"error", DirectiveKind::kError},
      {"pragma", DirectiveKind::kPragma},
  };
  for (const auto& [known, kind] : kKinds) {
    if (known == name) {
      return kind;
    }
  }
  return DirectiveKind::kOther;
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  TokenizedText Run() {
    CheckBytes();
    if (text_.starts_with(kByteOrderMark)) {
      at_ = kByteOrderMark.size();
    }
    while (at_ < text_.size()) {
      Step();
    }
    EndDirective();
    return std::move(result_);
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  bool StartsWith(std::string_view prefix) const {
    return text_.substr(at_).starts_with(prefix);
  }

  void Fail(uint32_t line, std::string message) {
    if (!result_.fault || line < result_.fault->line) {
      result_.fault = TextFault{line, std::move(message)};
    }
  }

  // What no text may hold, even in a comment.
  void CheckBytes() {
    uint32_t line = 1;
    for (size_t start = 0; start < text_.size(); ++line) {
      const size_t end = std::min(text_.find('\n', start), text_.size());
      std::string_view content = text_.substr(start, end - start);
      if (end < text_.size() && content.ends_with('\r')) {
        content.remove_suffix(1);
      }
      if (content.find('\r') != content.npos) {
        Fail(line, "a carriage return without a line feed");
      } else if (std::ranges::any_of(content, [](char c) {
                   return static_cast<unsigned char>(c) < 0x20 && c != '\t';
                 })) {
        Fail(line, "a control character");
      } else if (!IsValidUtf8(content)) {
        Fail(line, "the text is not valid UTF-8");
      }
      start = end + 1;
    }
  }

  void Step() {
    const char c = Peek();
    if (c == '\n') {
      EndDirective();
      NextLine();
    } else if (IsBlank(c) || c == '\r') {
      ++at_;
    } else if (c == '\\') {
      Continuation();
    } else if (StartsWith("//")) {
      LineComment();
    } else if (StartsWith("/*")) {
      BlockComment();
    } else if (c == '#' && line_is_empty_) {
      StartDirective();
    } else {
      line_is_empty_ = false;
      AddToken();
    }
  }

  void NextLine() {
    ++at_;
    ++line_;
    line_is_empty_ = true;
  }

  // A backslash before a line end joins the lines, comments apart. With a blank
  // at either side no word or operator can come of it.
  void Continuation() {
    const size_t line_end = at_ + (Peek(1) == '\r' ? 2 : 1);
    if (line_end >= text_.size() || text_[line_end] != '\n') {
      Fail(line_, "a backslash that does not end its line");
      line_is_empty_ = false;
      ++at_;
      return;
    }
    constexpr std::string_view kBlanks = " \t\r\n";
    const size_t next = line_end + 1;
    if (next >= text_.size()) {
      Fail(line_, "the text ends in a backslash");
    } else if (at_ > 0 && kBlanks.find(text_[at_ - 1]) == kBlanks.npos &&
               kBlanks.find(text_[next]) == kBlanks.npos) {
      Fail(line_, "a backslash that joins two lines needs a blank before it");
    }
    at_ = next;
    ++line_;
  }

  // Which version of GLSL it is decides whether a backslash at its end takes
  // the next line into the comment.
  void LineComment() {
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    std::string_view comment = text_.substr(at_, end - at_);
    if (comment.ends_with('\r')) {
      comment.remove_suffix(1);
    }
    if (comment.ends_with('\\')) {
      Fail(line_, "a // comment that ends in a backslash");
    }
    at_ = end;
  }

  void BlockComment() {
    const uint32_t first_line = line_;
    size_t end = text_.find("*/", at_ + 2);
    if (end == text_.npos) {
      Fail(first_line, "a /* comment that is not closed");
      end = text_.size();
    }
    for (; at_ < end; ++at_) {
      // The next line may begin with the slash that ends the comment.
      if (StartsWith("*\\\n") || StartsWith("*\\\r\n")) {
        Fail(line_, "a line of a comment that ends in '*' and a backslash");
      }
      line_ += text_[at_] == '\n' ? 1 : 0;
    }
    at_ = std::min(end + 2, text_.size());
  }

  void StartDirective() {
    line_is_empty_ = false;
    in_directive_ = true;
    is_named_ = false;
    Directive& directive = result_.directives.emplace_back();
    directive.line = line_;
    directive.first = result_.tokens.size();
    ++at_;
  }

  void EndDirective() {
    if (in_directive_) {
      result_.directives.back().last = result_.tokens.size();
      in_directive_ = false;
    }
  }

  void AddToken() {
    const char c = Peek();
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) {
      Number();
    } else if (IsWordCharacter(c)) {
      size_t end = at_ + 1;
      while (end < text_.size() && IsWordCharacter(text_[end])) {
        ++end;
      }
      Add(TokenKind::kWord, end);
    } else if (c == '"') {
      String('"');
    } else {
      Punctuation();
    }
  }

  size_t SkipDigits(size_t at, bool hexadecimal = false) const {
    constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
    const std::string_view digits = kDigits.substr(0, hexadecimal ? 22 : 10);
    return std::min(text_.find_first_not_of(digits, at), text_.size());
  }

  // The compiler ends a number where it no longer is one and reads on; here it
  // must be followed by something else, so that "1layout" hides no word.
  void Number() {
    size_t end = at_;
    bool good = true;
    if (StartsWith("0x") || StartsWith("0X")) {
      end = SkipDigits(at_ + 2, true);
      good = end > at_ + 2;
    } else {
      end = SkipDigits(at_);
      if (end < text_.size() && text_[end] == '.') {
        end = SkipDigits(end + 1);
      }
      if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
        const size_t sign = end + 1;
        const bool is_signed =
            sign < text_.size() && (text_[sign] == '-' || text_[sign] == '+');
        const size_t digits = sign + (is_signed ? 1 : 0);
        end = SkipDigits(std::min(digits, text_.size()));
        good = end > digits;
      }
    }
    for (int i = 0; i < 3 && end < text_.size() &&
                    std::string_view("uUlLsSfFhH").find(text_[end]) !=
                        std::string_view::npos;
         ++i) {
      ++end;
    }
    if (end < text_.size() &&
        (IsWordCharacter(text_[end]) || text_[end] == '.')) {
      good = false;
    }
    if (!good) {
      Fail(line_, fmt::format("'{}' is not a number",
                              Shorten(text_.substr(at_, end + 1 - at_), 40)));
    }
    Add(TokenKind::kNumber, end);
  }

  // To the closing character, on this line. Escapes are refused: compilers
  // differ in where such a string ends.
  void String(char close) {
    const size_t line_end = std::min(text_.find('\n', at_), text_.size());
    const size_t end = text_.find(close, at_ + 1);
    if (end == text_.npos || end > line_end) {
      Fail(line_, "a string that does not end on its line");
      Add(TokenKind::kString, line_end);
      return;
    }
    if (text_.substr(at_, end - at_).find('\\') != text_.npos) {
      Fail(line_, "a backslash in a string");
    }
    Add(TokenKind::kString, end + 1);
  }

  void Punctuation() {
    constexpr std::string_view kAllowed = "+-*/%<>=!&|^~?:.,;()[]{}";
    if (kAllowed.find(Peek()) == kAllowed.npos) {
      Fail(line_, Peek() == '#'
                      ? std::string("'#' that does not begin its line")
                      : fmt::format("unexpected character '{}'", Character()));
    }
    for (const std::string_view pair : kRefusedPairs) {
      if (StartsWith(pair)) {
        Fail(line_, fmt::format("unexpected '{}'", pair));
      }
    }
    Add(TokenKind::kPunctuation, at_ + 1);
  }

  // The whole character at `at_`, which may have several bytes.
  std::string Character() const {
    size_t size = 1;
    while (size < 4 &&
           (static_cast<unsigned char>(Peek(size)) & 0xC0) == 0x80) {
      ++size;
    }
    return ToValidUtf8(text_.substr(at_, size));
  }

  void Add(TokenKind kind, size_t end) {
    const std::string_view word = text_.substr(at_, end - at_);
    if (word.size() > limits::kNameBytes) {
      Fail(line_, fmt::format("'{}' has over {} characters", Shorten(word, 40),
                              limits::kNameBytes));
    }
    const size_t offset = std::exchange(at_, end);
    if (!in_directive_ || is_named_) {
      const size_t number = in_directive_ ? result_.directives.size() : 0;
      result_.tokens.push_back(
          {kind, word, offset, line_, static_cast<uint32_t>(number)});
      return;
    }
    is_named_ = true;
    Directive& directive = result_.directives.back();
    directive.name = word;
    directive.kind = KindOf(word);
    if (directive.kind == DirectiveKind::kInclude) {
      HeaderName();
    }
  }

  // Where an include is skipped (#if), the compiler reads its name as code: it
  // must not hold what begins a comment or a string.
  void HeaderName() {
    while (IsBlank(Peek())) {
      ++at_;
    }
    if (Peek() != '<' && Peek() != '"') {
      Fail(line_, "#include needs a \"name\" or a <name>");
      return;
    }
    String(Peek() == '<' ? '>' : '"');
    const std::string_view header = result_.tokens.back().text;
    const std::string_view name =
        header.substr(1, std::max<size_t>(header.size(), 2) - 2);
    if (name.find_first_of("<>\"'#") != name.npos ||
        name.find("//") != name.npos || name.find("/*") != name.npos) {
      Fail(line_, fmt::format("{} is not a name to include",
                              Shorten(header, limits::kNameBytes)));
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  bool line_is_empty_ = true;  // so far, comments apart
  bool in_directive_ = false;
  bool is_named_ = false;  // the directive
  TokenizedText result_;
};

}  // namespace

uint32_t TokenizedText::LastLine() const {
  uint32_t line = tokens.empty() ? 1 : tokens.back().line;
  if (!directives.empty()) {
    line = std::max(line, directives.back().line);
  }
  return line;
}

TokenizedText Tokenize(std::string_view text) {
  return Tokenizer(text).Run();
}

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) ||
         c == '_';
}

bool IsIdentifier(std::string_view text) {
  return !text.empty() && !IsDigit(text[0]) &&
         std::ranges::all_of(text, IsWordCharacter);
}

}  // namespace kiln::surface
