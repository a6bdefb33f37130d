// SPDX-License-Identifier: Apache-2.0
#include "proto/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/limits.h"

namespace kiln {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(TextTest, ValidTextIsLeftAsItIs) {
  EXPECT_EQ(ToValidUtf8("caf\u00e9 \u4f60\u597d \U0001F525\n\tx"),
            "caf\u00e9 \u4f60\u597d \U0001F525\n\tx");
}

// KNOWN_FAULTS 9: each of these bytes hangs a stream when sent in a `string`.
TEST(TextTest, EveryKindOfBadByteBecomesAReplacementCharacter) {
  for (const std::string bad :
       {"\xFF", "\xE9", "\x80", "\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80",
        "\xE2\x82", "\xF0\x9F\x94", "\x01", "\x7F"}) {
    const std::string valid = ToValidUtf8("a" + bad + "b");
    EXPECT_TRUE(IsValidUtf8(valid));
    EXPECT_THAT(valid, HasSubstr("\uFFFD"));
    EXPECT_EQ(valid.front(), 'a');
    EXPECT_EQ(valid.back(), 'b');
  }
}

TEST(TextTest, EverySingleByteAndPairOfBytesBecomesValid) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const char pair[] = {static_cast<char>(first), static_cast<char>(second)};
      EXPECT_TRUE(IsValidUtf8(ToValidUtf8({pair, 2})));
    }
  }
}

TEST(TextTest, ShortenedTextIsCutBetweenCharacters) {
  EXPECT_EQ(Shorten("short", 10), "short");
  EXPECT_EQ(Shorten("0123456789", 8), "01234...");
  const std::string cut = Shorten("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", 8);
  EXPECT_TRUE(IsValidUtf8(cut));
  EXPECT_LE(cut.size(), 8u);
}

TEST(TextTest, DiagnosticsKeepTheFirstLinesAndCountTheRest) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "x.frag:" + std::to_string(i) + ": error\n";
  }
  const std::string capped = CapDiagnostics(text);
  EXPECT_THAT(capped, HasSubstr("x.frag:199: error\n"));
  EXPECT_THAT(capped, EndsWith("... and 800 more lines\n"));
}

TEST(TextTest, OneEndlessDiagnosticLineIsShortened) {
  const std::string capped = CapDiagnostics(std::string(1u << 20, 'x'));
  EXPECT_LE(capped.size(), limits::kDiagnosticBytes);
  EXPECT_THAT(capped, EndsWith("..."));
}

TEST(TextTest, ShortDiagnosticsAreKeptWhole) {
  EXPECT_EQ(CapDiagnostics("a\nb"), "a\nb");
  EXPECT_EQ(CapDiagnostics(""), "");
}

}  // namespace
}  // namespace kiln
