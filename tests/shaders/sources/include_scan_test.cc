// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/include_scan.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::sources {
namespace {

// "a.glsl:1 <b.glsl>:2 computed:3".
std::string Scan(std::string_view text) {
  std::vector<std::string> parts;
  for (const IncludeDirective& include : ScanIncludes(text)) {
    const std::string name = include.computed ? "computed"
                             : include.angled
                                 ? fmt::format("<{}>", include.name)
                                 : include.name;
    parts.push_back(fmt::format("{}:{}", name, include.line));
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

struct ScanCase {
  std::string_view text;
  std::string_view includes;
};

TEST(IncludeScanTest, GoldenTable) {
  const ScanCase cases[] = {
      {"", ""},
      {"#include \"a\"", "a:1"},
      {"#include <a>", "<a>:1"},
      {"\n\n  \t#\tinclude\t\"a\"  \n", "a:3"},
      {"#include\"a\"\n#include<b>\n", "a:1 <b>:2"},
      {"#if 0\n#include \"a\"\n#else\n#include \"b\"\n#endif", "a:2 b:4"},
      {"#include \"a\"\n#include \"a\"\n", "a:1 a:2"},
      // Not directives.
      {"int x; #include \"a\"", ""},
      {"x /* */ #include \"a\"", ""},
      {"x /*\n*/ #include \"a\"", ""},
      {"#includes \"a\"\n#include_next \"b\"\n#define include \"c\"", ""},
      {"\\#include \"a\"", ""},
      {"\f#include \"a\"", ""},
      // Comments.
      {"// #include \"a\"", ""},
      {"//\n#include \"a\"", "a:2"},
      {"/* #include \"a\" */", ""},
      {"/*\n#include \"a\"\n*/\n#include \"b\"", "b:4"},
      {"/* */ #include \"a\"", "a:1"},
      {"/*\n\n*/ #include \"a\"", "a:3"},
      {"#/**/include/**/\"a\"/**/", "a:1"},
      {"# /*\n*/ include \"a\" // x", "a:1"},
      {"/**/#include \"a\"", "a:1"},
      {"/***/#include \"a\"", "a:1"},
      {"/*/\n#include \"a\"\n/*/\n#include \"b\"", "b:4"},
      {"// /*\n#include \"a\"\n// */", "a:2"},
      {"/* // */\n#include \"a\"", "a:2"},
      {"/* unterminated\n#include \"a\"", ""},
      {"a / b\n#include \"a\"", "a:2"},
      {"#include \"a\" /* \n */\n#include \"b\"", "a:1 b:3"},
      // Comment marks in names and strings.
      {"#include \"a//b\"\n#include <c/*d>\n#include \"e\"",
       "a//b:1 <c/*d>:2 e:3"},
      {"debugPrintfEXT(\"/*\");\n#include \"a\"", "a:2"},
      {"s = \"//\\\"/*\";\n#include \"a\"", "a:2"},
      {"#error \"open /*\n#include \"a\"", "a:2"},
      {"#error don't /* \n#include \"a\" */\n#include \"b\"", "b:3"},
      {"c = '\"'; /*\n#include \"a\"\n*/", ""},
      {"c = '\\''; d = '\\\"'; /*\n#include \"a\"\n*/", ""},
      // Continued lines.
      {"#inc\\\nlude \"a\"", "a:1"},
      {"#\\\r\ninclude \"a\"", "a:1"},
      {"\\\n#include \"a\"", "a:2"},
      {"\\\n\\\r\n\\\r#include \"a\"", "a:4"},
      {"int x; \\\n#include \"a\"\n#include \"b\"", "b:3"},
      {"// x \\\n#include \"a\"\n#include \"b\"", "b:3"},
      {"// x \\ \n#include \"a\"", "a:2"},
      {"/\\\n/ #include \"a\"", ""},
      {"/\\\n* #include \"a\" *\\\n/ #include \"b\"", "b:3"},
      {"#define A \\\n#include \"a\"\n", ""},
      {"#include \"a\\\nb\"", "ab:1"},
      {"#include \"a\"\\", "a:1"},
      {"\\", ""},
      // Line ends.
      {"\r\n#include \"a\"\r\n#include \"b\"\r#include \"c\"", "a:2 b:3 c:4"},
      {"\n\r\n\r\r#include \"a\"", "a:5"},
      // Computed, empty and unterminated.
      {"#define F \"a\"\n#include F", "computed:2"},
      {"#include", "computed:1"},
      {"#include \"\"\n#include <>", "computed:1 computed:2"},
      {"#include \"a\n#include \"b\"", "computed:1 b:2"},
      {"#include <a\n#include \"b\"", "computed:1 b:2"},
      {"#include __FILE__ // \"a\"", "computed:1"},
      {"#include h\xF6he", "computed:1"},
      {"#include \"h\xF6he\"", "h\xF6he:1"},
  };
  for (const ScanCase& one : cases) {
    EXPECT_EQ(Scan(one.text), one.includes) << one.text;
  }
}

// `unit` over and over, then one include that nothing before it may hide.
std::string Repeated(std::string_view unit, size_t size) {
  std::string text;
  text.reserve(size + 64);
  while (text.size() < size) {
    text += unit;
  }
  return text + "\n*/\"'\n#include \"last\"\n";
}

TEST(IncludeScanTest, TwentyMegabytesEnd) {
  constexpr size_t kSize = size_t{20} << 20;
  EXPECT_EQ(ScanIncludes(Repeated("float x = 1.0; // text\n", kSize)).size(),
            1u);
  EXPECT_EQ(ScanIncludes(Repeated("/* text\n", kSize)).size(), 1u);
  EXPECT_GT(ScanIncludes(Repeated("#include \"a\"\n", kSize)).size(),
            kSize / 20);
}

TEST(IncludeScanTest, TextThatIsOneConstructOverAndOverIsNoSlower) {
  for (const std::string_view unit :
       {"/", "*", "\"", "'", "\\\n", "#", "#\n", "\n", "x ", "/\\\n", "'\\",
        "#define A \\\n", "#include <", "/**/", "#if 0\n", "#pragma \\\n"}) {
    const std::string text = Repeated(unit, size_t{2} << 20);
    EXPECT_LE(ScanIncludes(text).size(), 2u) << unit;
    EXPECT_FALSE(HasPragmaOnce(text)) << unit;
    EXPECT_FALSE(HasIncludeGuard(text)) << unit;
  }
}

TEST(IncludeScanTest, PragmaOnceIsADirectiveAndNoComment) {
  for (const char* text :
       {"#pragma once", "  #  pragma  once\n", "#pragma /**/ once // x\n",
        "// license\n\n#pragma once\nint x;", "#pra\\\ngma on\\\nce",
        "#ifndef A\n#define A\n#pragma once\n#endif",
        "#pragma once\r\nint x;"}) {
    EXPECT_TRUE(HasPragmaOnce(text)) << text;
  }
  for (const char* text :
       {"", "once", "// #pragma once", "/*\n#pragma once\n*/",
        "#pragma once_more", "#pragma optimize(off) once",
        "#if 0\n#pragma once\n#endif", "x #pragma once", "\"#pragma once\"",
        "#ifdef A\n#define B\n#pragma once\n#endif"}) {
    EXPECT_FALSE(HasPragmaOnce(text)) << text;
  }
}

TEST(IncludeScanTest, PragmaOnceIsFoundWithItsWholeLine) {
  const std::string text = "int a;\n /**/#pragma \\\n once /* x */\nint b;\n";
  const auto span = FindPragmaOnce(text);
  ASSERT_TRUE(span.has_value());
  EXPECT_EQ(text.substr(span->offset, span->size), "#pragma \\\n once /* x */");
}

TEST(IncludeScanTest, IncludeGuardIsTheFirstTwoDirectives) {
  for (const char* text :
       {"#ifndef A\n#define A\n#endif", "/* x */\n# ifndef A\n#define A 1\n",
        "#if !defined(A)\n#define A\n#endif",
        "#if ! defined A // x\n#define A\n#endif",
        "#ifndef A /* guard */\n\n#define A\n"}) {
    EXPECT_TRUE(HasIncludeGuard(text)) << text;
  }
  for (const char* text :
       {"", "#ifndef A\n", "#ifndef A\n#define B\n", "#ifdef A\n#define A\n",
        "#if !defined(A) || 1\n#define A\n", "#define A\n#ifndef A\n",
        "// #ifndef A\n#define A\n", "#ifndef A\n#include \"a\"\n#define A\n",
        "#ifndef\n#define\n", "#ifndef A\n#define AB\n"}) {
    EXPECT_FALSE(HasIncludeGuard(text)) << text;
  }
}

}  // namespace
}  // namespace kiln::sources
