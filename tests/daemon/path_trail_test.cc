// SPDX-License-Identifier: Apache-2.0
#include "daemon/path_trail.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace kiln::daemon {
namespace {

namespace fs = std::filesystem;
using ::testing::IsSubsetOf;
using Step = PathTrail::Step;

class PathTrailTest : public ::testing::Test {
 protected:
  PathTrailTest() { fs::create_directories(top_ + "/v1/shaders"); }

  kiln::testing::TempDir dir_;
  // The temporary folder may itself be reached through a link.
  const std::string top_ = fs::canonical(dir_.path());
};

TEST_F(PathTrailTest, TrailHasEveryFolderOnTheWay) {
  const PathTrail trail = FollowPath(top_ + "/v1/shaders");
  EXPECT_EQ(trail.folder, top_ + "/v1/shaders");
  EXPECT_EQ(trail.steps.front().folder, "/");
  EXPECT_EQ(trail.steps.back(), (Step{top_ + "/v1", "shaders"}));
}

TEST_F(PathTrailTest, TrailThroughALinkHasTheLinkAndWhatItNames) {
  fs::create_symlink("v1", top_ + "/current");
  const PathTrail trail = FollowPath(top_ + "/current/shaders/");
  EXPECT_EQ(trail.folder, top_ + "/v1/shaders");
  EXPECT_THAT((std::vector<Step>{{top_, "current"}, {top_, "v1"}}),
              IsSubsetOf(trail.steps));
}

TEST_F(PathTrailTest, ParentOfALinkIsTheParentOfWhatItNames) {
  fs::create_symlink(top_ + "/v1/shaders", top_ + "/current");
  EXPECT_EQ(FollowPath(top_ + "/current/..").folder, top_ + "/v1");
  EXPECT_EQ(FollowPath("/../..").folder, "/");
}

TEST_F(PathTrailTest, TrailOfAMissingFolderEndsWithTheFirstMissingName) {
  const PathTrail trail = FollowPath(top_ + "/v2/shaders");
  EXPECT_EQ(trail.folder, "");
  EXPECT_EQ(trail.steps.back(), (Step{top_, "v2"}));
}

TEST_F(PathTrailTest, FileAndLinkThatGoesRoundLeadToNoFolder) {
  std::ofstream(top_ + "/file") << "text";
  fs::create_symlink("round", top_ + "/round");
  EXPECT_EQ(FollowPath(top_ + "/file").folder, "");
  EXPECT_EQ(FollowPath(top_ + "/round").folder, "");
}

TEST_F(PathTrailTest, FolderWhoseNameOnlyStartsAlikeIsNotInside) {
  EXPECT_TRUE(IsInside("/a/b", "/a"));
  EXPECT_TRUE(IsInside("/a", "/a"));
  EXPECT_TRUE(IsInside("/a", "/"));
  EXPECT_FALSE(IsInside("/ab", "/a"));
  EXPECT_EQ(JoinPath("/", "a"), "/a");
}

}  // namespace
}  // namespace kiln::daemon
