// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/source_text.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace kiln::sources {
namespace {

using ::kiln::testing::kInvalid;
using ::kiln::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Prepared(const std::string& bytes) {
  const auto text = PrepareSource(bytes, Language::kGlsl);
  EXPECT_OK(text);
  return text.value_or("");
}

// KNOWN_FAULTS 9: glslang takes the mark for a token of the first line.
TEST(SourceTextTest, Utf8MarkIsDroppedOnceAndOnlyAtTheStart) {
  EXPECT_EQ(Prepared("\xEF\xBB\xBF#version 450\n"), "#version 450\n");
  EXPECT_EQ(Prepared("\xEF\xBB\xBF\xEF\xBB\xBFx"), "\xEF\xBB\xBFx");
  EXPECT_EQ(Prepared("x\xEF\xBB\xBF"), "x\xEF\xBB\xBF");
}

TEST(SourceTextTest, LineEndsAndBytesThatAreNotUtf8Stay) {
  for (const std::string text : {"a\r\nb\rc\nd", "// h\xF6he\n", ""}) {
    EXPECT_EQ(Prepared(text), text);
  }
}

TEST(SourceTextTest, NulByteIsRefusedWithItsLine) {
  EXPECT_THAT(PrepareSource(std::string("a\nb\0c", 5), Language::kGlsl),
              StatusIs(kInvalid, "NUL byte in line 2"));
  EXPECT_THAT(PrepareSource(std::string("\0", 1), Language::kHlsl),
              StatusIs(kInvalid, "line 1"));
  EXPECT_THAT(PrepareSource(std::string("a\r\nb\rc\n\0", 8), Language::kGlsl),
              StatusIs(kInvalid, "line 4"));
}

TEST(SourceTextTest, Utf16IsCalledSo) {
  for (const std::string mark : {"\xFF\xFE", "\xFE\xFF"}) {
    EXPECT_THAT(PrepareSource(mark + std::string("h\0u\0n\0t\0e\0r\0", 12),
                              Language::kGlsl),
                StatusIs(kInvalid, ::testing::AllOf(HasSubstr("UTF-16"),
                                                    HasSubstr("line 1"),
                                                    Not(HasSubstr("hunt")))))
        << "without its text";
  }
}

TEST(SourceTextTest, SpirvIsLeftAlone) {
  const std::string words("\x03\x02\x23\x07\0\0\xEF\xBB\xBF", 9);
  for (const std::string& bytes :
       {words, "\xFF\xFE" + words, "\xEF\xBB\xBF" + words}) {
    ASSERT_OK_AND_ASSIGN(const std::string text,
                         PrepareSource(bytes, Language::kSpirv));
    EXPECT_EQ(text, bytes);
  }
}

}  // namespace
}  // namespace kiln::sources
