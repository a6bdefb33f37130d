// SPDX-License-Identifier: Apache-2.0
#include "shaders/schema_text.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <map>
#include <span>
#include <string_view>

namespace kiln::shaders {
namespace {

struct Token {
  std::string_view text;
  uint32_t line = 0;
};

bool IsWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Cuts GLSL into words, numbers and punctuation.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> Run() {
    while (at_ < text_.size()) {
      Step();
    }
    return std::move(tokens_);
  }

 private:
  bool StartsWith(std::string_view prefix) const {
    return text_.substr(at_).starts_with(prefix);
  }

  void Step() {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
      line_is_empty_ = true;
    } else if (StartsWith("//")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (StartsWith("/*")) {
      SkipTo(std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2);
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at_;
    } else if (c == '#' && line_is_empty_) {
      Directive();
    } else {
      line_is_empty_ = false;
      AddToken();
    }
  }

  // Moves on, counting lines.
  void SkipTo(size_t end) {
    line_ += static_cast<uint32_t>(
        std::count(text_.begin() + static_cast<ptrdiff_t>(at_),
                   text_.begin() + static_cast<ptrdiff_t>(end), '\n'));
    at_ = end;
  }

  void AddToken() {
    size_t end = at_ + 1;
    if (IsWord(text_[at_]) || text_[at_] == '.') {
      while (end < text_.size() &&
             (IsWord(text_[end]) || text_[end] == '.' || IsExponent(end))) {
        ++end;
      }
    } else if (StartsWith("<<") || StartsWith("!=") || StartsWith("==") ||
               StartsWith("&&") || StartsWith("||")) {
      ++end;
    }
    if (skipped_ == 0) {
      tokens_.push_back({text_.substr(at_, end - at_), line_});
    }
    at_ = end;
  }

  // The sign within "1e-3", but not that within "0xe-3" or "e-3".
  bool IsExponent(size_t at) const {
    const char first = text_[at_];
    return (text_[at] == '-' || text_[at] == '+') &&
           (text_[at - 1] == 'e' || text_[at - 1] == 'E') &&
           (std::isdigit(static_cast<unsigned char>(first)) != 0 ||
            first == '.') &&
           !StartsWith("0x") && !StartsWith("0X");
  }

  // Reads a whole preprocessor line; `#if 0` hides what follows.
  void Directive() {
    size_t end = at_;
    do {
      end = std::min(text_.find('\n', end + 1), text_.size());
    } while (end < text_.size() && text_[end - 1] == '\\');
    std::string words;
    for (const char c : text_.substr(at_ + 1, end - at_ - 1)) {
      if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        words += c;
      }
    }
    const std::string_view line(words);
    if (skipped_ > 0 && line.starts_with("if")) {
      ++skipped_;
    } else if (skipped_ > 0 && line.starts_with("endif")) {
      --skipped_;
    } else if (skipped_ == 1 && line.starts_with("el")) {
      skipped_ = 0;
    } else if (line == "if0" || line.starts_with("if0/")) {
      skipped_ = 1;
    }
    SkipTo(end);
  }

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  uint32_t skipped_ = 0;  // depth of #if within an #if 0
  bool line_is_empty_ = true;
  std::vector<Token> tokens_;
};

std::optional<ConstantType> TypeOfWord(std::string_view word) {
  static const auto* const kTypes =
      new std::map<std::string_view, ConstantType>{
          {"bool", ConstantType::kBool},
          {"int8_t", ConstantType::kInt8},
          {"uint8_t", ConstantType::kUint8},
          {"int16_t", ConstantType::kInt16},
          {"uint16_t", ConstantType::kUint16},
          {"int", ConstantType::kInt32},
          {"int32_t", ConstantType::kInt32},
          {"uint", ConstantType::kUint32},
          {"uint32_t", ConstantType::kUint32},
          {"int64_t", ConstantType::kInt64},
          {"uint64_t", ConstantType::kUint64},
          {"float16_t", ConstantType::kFloat16},
          {"float", ConstantType::kFloat32},
          {"float32_t", ConstantType::kFloat32},
          {"double", ConstantType::kFloat64},
          {"float64_t", ConstantType::kFloat64},
      };
  const auto found = kTypes->find(word);
  return found == kTypes->end() ? std::nullopt
                                : std::optional<ConstantType>(found->second);
}

// A GLSL number without its suffix ("u", "ul", "hf").
std::string_view WithoutSuffix(std::string_view number) {
  const bool hex = number.starts_with("0x") || number.starts_with("0X");
  const std::string_view suffixes = hex ? "uUlLsS" : "uUlLsSfFhH";
  const size_t last = number.find_last_not_of(suffixes);
  return number.substr(0, last == number.npos ? 0 : last + 1);
}

std::optional<uint64_t> Integer(std::string_view number) {
  number = WithoutSuffix(number);
  int base = 10;
  if (number.starts_with("0x") || number.starts_with("0X")) {
    base = 16;
    number.remove_prefix(2);
  } else if (number.size() > 1 && number[0] == '0') {
    base = 8;
  }
  uint64_t value = 0;
  const char* const end = number.data() + number.size();
  const auto [rest, error] = std::from_chars(number.data(), end, value, base);
  return error == std::errc() && rest == end ? std::optional<uint64_t>(value)
                                             : std::nullopt;
}

std::optional<uint64_t> Literal(ConstantType type,
                                std::span<const Token> tokens) {
  // int8_t(-3), ((5u))
  while (tokens.size() > 2 && tokens.back().text == ")" &&
         (tokens[0].text == "(" ||
          (tokens[1].text == "(" && TypeOfWord(tokens[0].text) == type))) {
    const size_t head = tokens[0].text == "(" ? 1 : 2;
    tokens = tokens.subspan(head, tokens.size() - head - 1);
  }
  const bool negative = !tokens.empty() && tokens[0].text == "-";
  tokens = tokens.subspan(negative ? 1 : 0);
  if (tokens.size() != 1) {
    return std::nullopt;
  }
  std::string text(WithoutSuffix(tokens[0].text));
  if (type == ConstantType::kBool) {
    text = std::string(tokens[0].text);
  } else if (const std::optional<uint64_t> number = Integer(tokens[0].text)) {
    text = std::to_string(*number);
  }
  const absl::StatusOr<uint64_t> value =
      ParseConstant(type, (negative ? "-" : "") + text);
  return value.ok() ? std::optional<uint64_t>(*value) : std::nullopt;
}

// The declarations of one file.
class Reader {
 public:
  Reader(const SourceFile& file, ShaderText& text)
      : file_(file), text_(text), tokens_(Lexer(file.text).Run()) {}

  void Run() {
    int depth = 0;  // of braces
    while (at_ < tokens_.size()) {
      const std::string_view word = tokens_[at_].text;
      depth += word == "{" ? 1 : (word == "}" ? -1 : 0);
      if (depth != 0 || (word != "layout" && word != "const")) {
        ++at_;
      } else if (word == "layout") {
        Layout();
      } else {
        ++at_;
        Boolean();
      }
    }
  }

 private:
  std::string_view Peek(size_t ahead = 0) const {
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead].text
                                        : std::string_view();
  }

  TextPlace Place() const {
    return {file_.path, tokens_[std::min(at_, tokens_.size() - 1)].line};
  }

  // At "layout"; leaves `at_` behind its parentheses, or further.
  void Layout() {
    ++at_;
    std::optional<uint32_t> constant_id;
    while (at_ < tokens_.size() && Peek() != ")" && Peek() != ";") {
      const std::string_view word = Peek();
      if (Peek(1) == "=") {
        const std::optional<uint64_t> id = Integer(Peek(2));
        const bool local =
            word.starts_with("local_size_") && word.ends_with("_id");
        if (id && word == "constant_id") {
          constant_id = static_cast<uint32_t>(*id);
        } else if (id && local) {
          text_.constants.push_back({Place(), static_cast<uint32_t>(*id), "",
                                     ConstantType::kUint32, std::nullopt});
        }
      }
      ++at_;
    }
    ++at_;
    if (constant_id && Peek() == "const") {
      ++at_;
      Constant(*constant_id);
    }
  }

  // Behind "const".
  void Constant(uint32_t id) {
    SkipPrecision();
    TextConstant constant{Place(), id, std::string(Peek(1)), TypeOfWord(Peek()),
                          std::nullopt};
    at_ += 2;
    const std::span<const Token> value = Initializer();
    if (constant.type) {
      constant.default_value = Literal(*constant.type, value);
    }
    text_.constants.push_back(std::move(constant));
  }

  // Behind "const"; takes nothing when it is not one.
  void Boolean() {
    SkipPrecision();
    if (Peek() != "bool" || FeatureOfBoolean(Peek(1)).empty()) {
      return;
    }
    TextBoolean boolean{Place(), std::string(FeatureOfBoolean(Peek(1))),
                        std::nullopt, std::nullopt};
    at_ += 2;
    std::vector<std::string_view> words;
    for (const Token& token : Initializer()) {
      if (token.text != "(" && token.text != ")") {
        words.push_back(token.text);
      }
    }
    ReadTest(words, boolean);
    text_.booleans.push_back(std::move(boolean));
  }

  // Constant & 1u << bit != 0u, or Constant & 16u != 0u.
  static void ReadTest(std::span<const std::string_view> words,
                       TextBoolean& boolean) {
    const bool shifts = words.size() == 7 && words[3] == "<<";
    if ((words.size() != 5 && !shifts) || words[1] != "&" ||
        words[words.size() - 2] != "!=" || Integer(words.back()) != 0) {
      return;
    }
    const std::optional<uint64_t> mask = Integer(words[2]);
    const std::optional<uint64_t> shift =
        shifts ? Integer(words[4]) : std::optional<uint64_t>(0);
    if (!mask || !shift || !std::has_single_bit(*mask) || *shift > 31) {
      return;
    }
    boolean.constant = std::string(words[0]);
    boolean.bit = static_cast<uint32_t>(std::countr_zero(*mask) + *shift);
  }

  void SkipPrecision() {
    while (Peek() == "highp" || Peek() == "mediump" || Peek() == "lowp") {
      ++at_;
    }
  }

  // From "=" to ";"; leaves `at_` at the latter.
  std::span<const Token> Initializer() {
    const size_t start =
        std::min(at_ + (Peek() == "=" ? 1 : 0), tokens_.size());
    at_ = start;
    while (at_ < tokens_.size() && Peek() != ";") {
      ++at_;
    }
    return std::span(tokens_).subspan(start, at_ - start);
  }

  const SourceFile& file_;
  ShaderText& text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace

std::string_view FeatureOfBoolean(std::string_view name) {
  constexpr std::string_view kPrefix = "Uses";
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size() ||
      std::isupper(static_cast<unsigned char>(name[kPrefix.size()])) == 0) {
    return {};
  }
  return name.substr(kPrefix.size());
}

ShaderText ReadShaderText(const Program& program) {
  ShaderText text;
  for (const SourceFile& file : program.files) {
    if (file.path != program.derivation) {
      Reader(file, text).Run();
    }
  }
  return text;
}

}  // namespace kiln::shaders
