// SPDX-License-Identifier: Apache-2.0
#include "client/cli/user_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/shaders/sources/unprivileged.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::cli {
namespace {

using testing::kInvalid;
using testing::StatusIs;

class UserFileTest : public ::testing::Test {
 protected:
  UserFileTest() { std::ofstream(folder_ / "file") << "0123456789"; }

  const testing::TempDir folder_;
};

TEST_F(UserFileTest, FileIsReadUpToTheLimit) {
  ASSERT_OK_AND_ASSIGN(const std::string all,
                       ReadUserFile(folder_ / "file", 10));
  EXPECT_EQ(all, "0123456789");
  ASSERT_OK_AND_ASSIGN(const std::string some,
                       ReadUserFile(folder_ / "file", 4));
  EXPECT_EQ(some, "0123");
}

TEST_F(UserFileTest, WhatIsNoRegularFileIsNotOpened) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(ReadUserFile(folder_ / "pipe", 10),
              StatusIs(kInvalid, "pipe' is a pipe"));
  EXPECT_THAT(ReadUserFile("/dev/zero", 10), StatusIs(kInvalid, "is a device"));
  EXPECT_THAT(ReadUserFile(folder_.path(), 10),
              StatusIs(kInvalid, "is a directory"));
  EXPECT_THAT(ReadUserFile(folder_ / "none", 10),
              StatusIs(absl::StatusCode::kNotFound, "none'"));
}

TEST_F(UserFileTest, UnreadableFileIsDenied) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod((folder_ / "file").c_str(), 0), 0);
  testing::ExpectUnprivileged([&] {
    EXPECT_THAT(
        ReadUserFile(folder_ / "file", 10),
        StatusIs(absl::StatusCode::kPermissionDenied, "cannot be read: "));
  });
}

}  // namespace
}  // namespace kiln::cli
