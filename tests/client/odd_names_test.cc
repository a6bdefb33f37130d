// SPDX-License-Identifier: Apache-2.0

// Names of files that would break the lines, or the terminal, that they are
// printed on.

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

class OddNamesTest : public CliTest {
 protected:
  void AddRoot(const std::string& name) {
    std::filesystem::create_directories(folder_ / name);
    const CommandResult added =
        Run({"roots", "add", (folder_ / name).string()});
    EXPECT_EQ(added.exit_code, 0) << added.err;
  }
};

TEST_F(OddNamesTest, RootsNamesAShadowedFileOnOneLine) {
  ASSERT_OK(daemon_.Start());
  for (const char* root : {"a", "b"}) {
    Write(std::string(root) + "/two\nlines.glsl", "");
    AddRoot(root);
  }
  EXPECT_THAT(Run({"roots"}).out,
              Contains("     \"/b/two\\nlines.glsl\" (hidden by a)"));
}

TEST_F(OddNamesTest, RootsCountsFilesAndNoLinks) {
  ASSERT_OK(daemon_.Start());
  Write("a/plain.glsl", "");
  std::filesystem::create_symlink("/etc/passwd", folder_ / "a/link.glsl");
  std::filesystem::create_symlink("nowhere", folder_ / "a/dangling.glsl");
  std::filesystem::create_directory_symlink("/etc", folder_ / "a/more");
  Write("a/sub/other.glsl", "");
  AddRoot("a");
  EXPECT_THAT(Run({"roots"}).out, Contains(HasSubstr("2 files")));
}

TEST_F(OddNamesTest, PrecompileNamesAShaderOnOneLine) {
  ASSERT_OK(daemon_.Start());
  Write("a/two\nlines.frag", "broken\n");
  Write("a/red\x1b[31m.frag", "broken\n");
  AddRoot("a");
  const CommandResult result = Run({"precompile", "--target", "radv:vangogh"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out,
              AllOf(Contains(HasSubstr("  \"/a/two\\nlines.frag\": ")),
                    Contains(HasSubstr("  \"/a/red\\x1b[31m.frag\": ")),
                    Each(Not(HasSubstr("\x1b")))));
}

}  // namespace
}  // namespace kiln::testing
