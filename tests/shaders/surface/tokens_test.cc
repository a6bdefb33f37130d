// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/tokens.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::surface {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Texts(std::string_view text) {
  std::vector<std::string> texts;
  for (const Token& token : Tokenize(text).tokens) {
    texts.emplace_back(token.text);
  }
  return texts;
}

// "line: message" of the fault; empty: none.
std::string FaultOf(std::string_view text) {
  const TokenizedText tokens = Tokenize(text);
  return tokens.fault
             ? std::to_string(tokens.fault->line) + ": " + tokens.fault->message
             : "";
}

TEST(TokensTest, WordsNumbersAndPunctuationComeWithoutComments) {
  EXPECT_THAT(Texts("a1 /* b */ += // c\n .5e-3f-0x1Fu;"),
              ElementsAre("a1", "+", "=", ".5e-3f", "-", "0x1Fu", ";"));
}

TEST(TokensTest, LinesAreCountedThroughCommentsContinuationsAndCrlf) {
  const TokenizedText text =
      Tokenize("a\r\n/* \r\n */ b \\\r\n c // d\r\n#define e \\\n f\ng");
  EXPECT_FALSE(text.fault);
  std::vector<uint32_t> lines;
  for (const Token& token : text.tokens) {
    lines.push_back(token.line);
  }
  EXPECT_THAT(lines, ElementsAre(1, 3, 4, 5, 6, 7));
}

TEST(TokensTest, DirectiveEndsWithItsLineNotWithACommentOrContinuation) {
  const TokenizedText text =
      Tokenize(" # /* 1\n2 */ define A /* 3\n */ b \\\n c\nd");
  EXPECT_FALSE(text.fault);
  ASSERT_EQ(text.directives.size(), 1u);
  EXPECT_EQ(text.directives[0].kind, DirectiveKind::kDefine);
  EXPECT_EQ(text.directives[0].last - text.directives[0].first, 3u);
  EXPECT_EQ(text.tokens.back().text, "d");
  EXPECT_EQ(text.tokens.back().directive, 0u);
}

TEST(TokensTest, StringsHideWhatLooksLikeCodeAndComments) {
  EXPECT_THAT(Texts("a(\"layout // /* x\") b"),
              ElementsAre("a", "(", "\"layout // /* x\"", ")", "b"));
}

TEST(TokensTest, IncludeNameIsOneTokenWithItsDelimiters) {
  EXPECT_THAT(Texts("#include <lib/a-b.glsl>\n#include \"c d\" // e\n"),
              ElementsAre("<lib/a-b.glsl>", "\"c d\""));
}

TEST(TokensTest, ByteOrderMarkIsSkippedAtTheFrontOnly) {
  EXPECT_EQ(FaultOf("\xEF\xBB\xBF"
                    "a"),
            "");
  EXPECT_THAT(FaultOf("a\n \xEF\xBB\xBF"), HasSubstr("2: unexpected"));
}

TEST(TokensTest, MalformedTextIsAFaultWithItsLine) {
  EXPECT_THAT(FaultOf("a\n/* b\nc"), HasSubstr("2: a /* comment"));
  EXPECT_THAT(FaultOf("a\n\\"), HasSubstr("2: a backslash"));
  EXPECT_THAT(FaultOf("a \\ b"), HasSubstr("1: a backslash"));
  EXPECT_THAT(FaultOf("a \\\n"), HasSubstr("1: the text ends"));
  EXPECT_THAT(FaultOf("a\n\"b\nc\""), HasSubstr("2: a string"));
  EXPECT_THAT(FaultOf(std::string_view("a\nb\0c", 5)),
              HasSubstr("2: a control character"));
  EXPECT_THAT(FaultOf("a\n// \xFF\n"), HasSubstr("2: the text is not valid"));
  EXPECT_THAT(FaultOf("\n\xC3\xA4 = 1"),
              HasSubstr("2: unexpected character '\xC3\xA4'"));
  EXPECT_THAT(FaultOf("'"), HasSubstr("1: unexpected"));
  EXPECT_THAT(FaultOf("#include a"), HasSubstr("#include needs"));
  EXPECT_THAT(FaultOf("#include"), HasSubstr("#include needs"));
  EXPECT_THAT(FaultOf(std::string(257, 'x')), HasSubstr("over 256"));
}

// Each would be read in another way by one compiler or another version of it.
TEST(TokensTest, TextThatCompilersReadDifferentlyIsAFault) {
  for (const std::string_view text : {"// a\rlayout\n",
                                      "// a \\\nlayout\n",
                                      "// a \\\r\nlayout\n",
                                      "lay\\\nout",
                                      "/\\\n/ a",
                                      "/\\\n* a *\\\n/ b",
                                      "/* a *\\\n/ b",
                                      "#define F\\\n(x) x",
                                      "a # b",
                                      "a ## b",
                                      "#define A a##b",
                                      "%:define A",
                                      "<% %>",
                                      "a<:1:>",
                                      "vk::binding",
                                      "1layout",
                                      "0x1.layout",
                                      "1.0.x",
                                      "1e",
                                      "0x",
                                      "a\f",
                                      "\"a\\\"b",
                                      "#include <a/*b>",
                                      "#include \"a//b\"",
                                      "#include <a\"b>",
                                      "#include \"a\\b\"",
                                      "$a",
                                      "@a",
                                      "`"}) {
    EXPECT_NE(FaultOf(text), "") << text;
  }
}

TEST(TokensTest, EveryPrefixOfATextIsReadWithoutRunningOff) {
  const std::string text =
      "#include <a>\n/* b */ \"c\" 0x1e+5 .5 1e-3 \\\n d // \xC3\xA4\n#\\\r\n";
  for (size_t size = 0; size <= text.size(); ++size) {
    const std::string prefix = text.substr(0, size);  // ends where it ends
    const TokenizedText tokens = Tokenize(prefix);
    for (const Token& token : tokens.tokens) {
      EXPECT_LE(token.offset + token.text.size(), prefix.size());
    }
    for (const Directive& directive : tokens.directives) {
      EXPECT_LE(directive.first, directive.last);
      EXPECT_LE(directive.last, tokens.tokens.size());
    }
  }
  EXPECT_THAT(Texts(""), IsEmpty());
}

}  // namespace
}  // namespace kiln::surface
