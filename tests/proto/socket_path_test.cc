// SPDX-License-Identifier: Apache-2.0
#include "proto/socket_path.h"

#include <stdlib.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "proto/limits.h"
#include "tests/support/status_matchers.h"

namespace kiln {
namespace {

using testing::StatusIs;

TEST(SocketPathTest, PathOfExactlyTheLimitIsFineAndOneMoreIsNot) {
  EXPECT_OK(CheckSocketPath("/" + std::string(106, 's')));
  EXPECT_THAT(CheckSocketPath("/" + std::string(107, 's')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "108 bytes; the limit of a Unix socket is 107"));
  EXPECT_THAT(CheckSocketPath(""),
              StatusIs(absl::StatusCode::kInvalidArgument, "empty"));
}

TEST(SocketPathTest, DefaultIsInTheRuntimeFolder) {
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  EXPECT_EQ(DefaultSocketPath(), "/run/user/7/kiln/kilnd.sock");
}

TEST(SocketPathTest, DefaultWithoutARuntimeFolderIsPrivateToTheUser) {
  unsetenv("XDG_RUNTIME_DIR");
  setenv("TMPDIR", "/var/tmp", 1);
  EXPECT_EQ(DefaultSocketPath(),
            "/var/tmp/kiln-" + std::to_string(getuid()) + "/kilnd.sock");
  setenv("XDG_RUNTIME_DIR", "relative", 1);  // does not count, says XDG
  EXPECT_EQ(DefaultSocketPath(),
            "/var/tmp/kiln-" + std::to_string(getuid()) + "/kilnd.sock");
  unsetenv("TMPDIR");
}

// KNOWN_FAULTS 46: a long runtime folder falls back to a short name, the same
// in every process and another for another folder.
TEST(SocketPathTest, DefaultThatWouldBeTooLongGetsAShortNameOfItsOwn) {
  setenv("XDG_RUNTIME_DIR", ("/" + std::string(150, 'a')).c_str(), 1);
  const std::string first = DefaultSocketPath();
  EXPECT_OK(CheckSocketPath(first));
  EXPECT_EQ(DefaultSocketPath(), first);
  setenv("XDG_RUNTIME_DIR", ("/" + std::string(150, 'b')).c_str(), 1);
  EXPECT_NE(DefaultSocketPath(), first);
}

TEST(SocketPathTest, StateFolderFollowsTheXdgRules) {
  setenv("XDG_STATE_HOME", "/s", 1);
  EXPECT_EQ(DefaultStateFolder(), "/s/kiln");
  unsetenv("XDG_STATE_HOME");
  setenv("HOME", "/home/u", 1);
  EXPECT_EQ(DefaultStateFolder(), "/home/u/.local/state/kiln");
  unsetenv("HOME");
  EXPECT_EQ(DefaultStateFolder(),
            "/tmp/kiln-" + std::to_string(getuid()) + "/state");
}

}  // namespace
}  // namespace kiln
