// SPDX-License-Identifier: Apache-2.0

// SourceWatcher's own folders: missing, replaced, reached through links.

#include <unistd.h>

#include "tests/daemon/source_watcher_fixture.h"

namespace kiln::daemon {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;

class SourceRootTest : public SourceWatcherFixture {};

TEST_F(SourceRootTest, MissingRootIsWatchedOnceItIsThere) {
  const Path missing = dir_ / "not/yet/there";
  Start({missing});
  EXPECT_EQ(watcher_->counters().folders, 0u);
  MakeFolder(dir_ / "not");
  Poll();
  MakeFolder(dir_ / "not/yet");
  Poll();
  Write(dir_ / "not/yet/other");
  MakeFolder(missing / "lib");
  Write(missing / "lib/early");
  EXPECT_THAT(NextChange().paths, ElementsAre(missing));
  EXPECT_THAT(PathsUpTo(missing / "lib/late"),
              ElementsAre(missing / "lib/late"));
}

TEST_F(SourceRootTest, RootMadeWithItsParentsAtOnceIsWatched) {
  const Path missing = dir_ / "not/yet/there";
  Start({missing});
  Write(MakeFolder(missing) / "early");
  EXPECT_THAT(NextChange().paths, ElementsAre(missing));
  EXPECT_THAT(PathsUpTo(missing / "late"), ElementsAre(missing / "late"));
}

TEST_F(SourceRootTest, NewsOfAFolderOnTheWayThatDoNotConcernTheRootAreIgnored) {
  Start({root_, dir_ / "missing"});
  MakeFolder(dir_ / "sibling/deeper");
  Write(dir_ / "sibling/a");
  Write(dir_ / "b");
  EXPECT_THAT(PathsUpTo(root_ / "a"), ElementsAre(root_ / "a"));
}

TEST_F(SourceRootTest, DeletedRootIsReportedAndWatchedAgainWhenItIsMadeAgain) {
  MakeFolder(root_ / "lib");
  Start();
  fs::remove_all(root_);
  EXPECT_THAT(NextChange().paths, Contains(root_));
  EXPECT_EQ(watcher_->counters().folders, 0u);
  MakeFolder(root_ / "lib");
  EXPECT_THAT(NextChange().paths, ElementsAre(root_));
  EXPECT_THAT(PathsUpTo(root_ / "lib/a"), ElementsAre(root_ / "lib/a"));
}

TEST_F(SourceRootTest, RootThatIsReplacedWithinOneBurstIsWatched) {
  Start();
  fs::remove_all(root_);
  MakeFolder(root_ / "lib");
  EXPECT_THAT(NextChange().paths, Contains(root_));
  EXPECT_THAT(PathsUpTo(root_ / "lib/a"), ElementsAre(root_ / "lib/a"));
}

TEST_F(SourceRootTest, RootThatIsMovedAwayIsReportedAndNotWatchedThere) {
  Start();
  fs::rename(root_, dir_ / "away");
  EXPECT_THAT(NextChange().paths, Contains(root_));
  Write(dir_ / "away/a");
  fs::rename(dir_ / "away", root_);
  EXPECT_THAT(NextChange().paths, ElementsAre(root_));
  EXPECT_THAT(PathsUpTo(root_ / "b"), ElementsAre(root_ / "b"));
}

TEST_F(SourceRootTest, ParentOfTheRootThatIsMovedAwayTakesTheRootWithIt) {
  const Path root = MakeFolder(dir_ / "project/shaders");
  Start({root});
  fs::rename(dir_ / "project", dir_ / "away");
  EXPECT_THAT(NextChange().paths, ElementsAre(root));
  EXPECT_EQ(watcher_->counters().folders, 0u);
  fs::rename(dir_ / "away", dir_ / "project");
  EXPECT_THAT(NextChange().paths, ElementsAre(root));
  EXPECT_THAT(PathsUpTo(root / "a"), ElementsAre(root / "a"));
}

class SwitchedRootTest : public SourceWatcherFixture {
 protected:
  SwitchedRootTest() {
    MakeFolder(dir_ / "v1/shaders/lib");
    MakeFolder(dir_ / "v2/shaders/lib");
    fs::create_symlink("v1", current_);
  }

  const Path current_ = dir_ / "current";
};

TEST_F(SwitchedRootTest, LinkThatIsSwitchedAtOnceIsReportedAsItIsSpelled) {
  Start({current_});
  EXPECT_THAT(PathsUpTo(dir_ / "v1/shaders/lib/a"),
              ElementsAre(current_ / "shaders/lib/a"));
  SwitchLink(current_, "v2");
  EXPECT_THAT(NextChange().paths, ElementsAre(current_));
  Write(dir_ / "v1/shaders/lib/a");
  EXPECT_THAT(PathsUpTo(dir_ / "v2/shaders/lib/b"),
              ElementsAre(current_ / "shaders/lib/b"));
}

TEST_F(SwitchedRootTest, LinkThatIsRemovedAndMadeAnewIsFollowed) {
  Start({current_});
  fs::remove(current_);
  fs::create_symlink(dir_ / "v2", current_);
  EXPECT_THAT(NextChange().paths, ElementsAre(current_));
  EXPECT_THAT(PathsUpTo(dir_ / "v2/a"), ElementsAre(current_ / "a"));
}

TEST_F(SwitchedRootTest, LinkOnTheWayToTheRootIsFollowed) {
  Start({current_ / "shaders"});
  SwitchLink(current_, "v2");
  EXPECT_THAT(NextChange().paths, ElementsAre(current_ / "shaders"));
  Write(dir_ / "v1/shaders/lib/a");
  EXPECT_THAT(PathsUpTo(dir_ / "v2/shaders/lib/b"),
              ElementsAre(current_ / "shaders/lib/b"));
}

TEST_F(SwitchedRootTest, FolderThatTheLinkNamesMayBeReplaced) {
  Start({current_});
  fs::rename(dir_ / "v1", dir_ / "old");
  fs::rename(dir_ / "v2", dir_ / "v1");
  EXPECT_THAT(NextChange().paths, ElementsAre(current_));
  Write(dir_ / "old/a");
  EXPECT_THAT(PathsUpTo(current_ / "b"), ElementsAre(current_ / "b"));
}

TEST_F(SwitchedRootTest, LinkThatDanglesIsFollowedOnceItLeadsSomewhere) {
  SwitchLink(current_, "v3");
  Start({current_});
  EXPECT_EQ(watcher_->counters().folders, 0u);
  MakeFolder(dir_ / "v3");
  EXPECT_THAT(NextChange().paths, ElementsAre(current_));
  EXPECT_THAT(PathsUpTo(dir_ / "v3/a"), ElementsAre(current_ / "a"));
}

TEST_F(SwitchedRootTest, FolderThatBecomesALinkIsFollowed) {
  Start();
  fs::remove_all(root_);
  fs::create_symlink(dir_ / "v2", root_);
  EXPECT_THAT(NextChange().paths, ElementsAre(root_));
  EXPECT_THAT(PathsUpTo(dir_ / "v2/a"), ElementsAre(root_ / "a"));
}

// A folder that may be passed through but not read cannot be watched, so the
// way through it is looked at from time to time.
TEST_F(SwitchedRootTest, LinkInAFolderThatCannotBeReadIsFollowedAfterAWhile) {
  if (geteuid() == 0) {
    GTEST_SKIP() << "root may read everything";
  }
  const Path closed = MakeFolder(dir_ / "closed");
  fs::create_symlink(dir_ / "v1", closed / "current");
  fs::permissions(closed, fs::perms::owner_exec | fs::perms::owner_write);
  SourceWatchOptions options;
  options.poll = std::chrono::milliseconds(20);
  Start({closed / "current"}, options);
  EXPECT_THAT(PathsUpTo(dir_ / "v1/a"), ElementsAre(closed / "current/a"));
  SwitchLink(closed / "current", dir_ / "v2");
  EXPECT_THAT(NextChange().paths, ElementsAre(closed / "current"));
  EXPECT_THAT(PathsUpTo(dir_ / "v2/a"), ElementsAre(closed / "current/a"));
  fs::permissions(closed, fs::perms::owner_all);
}

TEST_F(SourceRootTest, SubfolderThatBecomesReadableIsWatched) {
  if (geteuid() == 0) {
    GTEST_SKIP() << "root may read everything";
  }
  MakeFolder(root_ / "closed/sub");
  fs::permissions(root_ / "closed", fs::perms::none);
  Start();
  EXPECT_EQ(watcher_->counters().folders_refused, 1u);
  fs::permissions(root_ / "closed", fs::perms::owner_all);
  EXPECT_THAT(NextChange().paths, ElementsAre(root_ / "closed"));
  EXPECT_THAT(PathsUpTo(root_ / "closed/sub/a"),
              ElementsAre(root_ / "closed/sub/a"));
}

}  // namespace
}  // namespace kiln::daemon
