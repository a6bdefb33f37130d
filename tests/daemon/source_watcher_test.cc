// SPDX-License-Identifier: Apache-2.0
#include "daemon/source_watcher.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <thread>

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "daemon/unique_fd.h"
#include "tests/daemon/source_watcher_fixture.h"

namespace kiln::daemon {

int SourceWatcherFixture::InotifyDescriptors(bool inherited_only) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error) !=
        "anon_inode:inotify") {
      continue;
    }
    const int fd = std::stoi(entry.path().filename());
    const bool inherited = (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0;
    count += !inherited_only || inherited ? 1 : 0;
  }
  return count;
}

namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SourceWatcherTest : public SourceWatcherFixture {};

// Bursts.

TEST_F(SourceWatcherTest, WriteToATemporaryFileAndRenameIsOneChange) {
  Write(root_ / "a.frag");
  Start();
  Write(root_ / "a.frag.tmp");
  Poll();
  fs::rename(root_ / "a.frag.tmp", root_ / "a.frag");
  EXPECT_THAT(NextChange().paths,
              ElementsAre(root_ / "a.frag", root_ / "a.frag.tmp"));
  EXPECT_THAT(PathsUpTo(root_ / "b.frag"), ElementsAre(root_ / "b.frag"));
}

TEST_F(SourceWatcherTest, TruncatedFileIsReportedOnceItIsWrittenAndClosed) {
  Write(root_ / "a.frag");
  SourceWatchOptions options;
  options.quiet = milliseconds(1);
  options.longest_wait = hours(1);
  Start({root_}, options);
  std::ofstream file(root_ / "a.frag");  // truncates
  ASSERT_TRUE(RunUntil([&] { return watcher_->counters().events > 0; }));
  io_.restart();
  io_.run_for(20 * options.quiet);
  EXPECT_EQ(changes_.size(), 0u);
  file << "text" << std::flush;
  io_.restart();
  io_.run_for(20 * options.quiet);
  EXPECT_EQ(changes_.size(), 0u);
  file.close();
  EXPECT_THAT(NextChange().paths, ElementsAre(root_ / "a.frag"));
}

TEST_F(SourceWatcherTest, FileThatIsWrittenAndStaysOpenIsReported) {
  std::ofstream file(root_ / "a.frag");
  Start();
  file << "text" << std::flush;
  EXPECT_THAT(NextChange().paths, ElementsAre(root_ / "a.frag"));
  file << "more" << std::flush;
  EXPECT_THAT(NextChange().paths, ElementsAre(root_ / "a.frag"));
}

TEST_F(SourceWatcherTest, BurstThatIsNeverQuietIsReportedAtTheLongestWait) {
  SourceWatchOptions options;
  options.quiet = hours(1);
  options.longest_wait = milliseconds(20);
  Start({root_}, options);
  Write(root_ / "a.frag");
  EXPECT_THAT(NextChange().paths, ElementsAre(root_ / "a.frag"));
}

TEST_F(SourceWatcherTest, ManySavesInARowAreOneChange) {
  Start();
  for (int i = 0; i < 100; ++i) {
    Write(root_ / ("a" + std::to_string(i % 3)));
  }
  EXPECT_THAT(NextChange().paths,
              ElementsAre(root_ / "a0", root_ / "a1", root_ / "a2"));
  EXPECT_EQ(watcher_->counters().bursts, 1u);
}

TEST_F(SourceWatcherTest, MorePathsThanAllowedAreReportedAsEverything) {
  SourceWatchOptions options;
  options.max_paths = 3;
  Start({root_}, options);
  for (int i = 0; i < 4; ++i) {
    Write(root_ / std::to_string(i));
  }
  const SourceChange change = NextChange();
  EXPECT_TRUE(change.everything);
  EXPECT_TRUE(change.paths.empty());
}

TEST_F(SourceWatcherTest, DeletedRenamedAndForbiddenFilesAreReported) {
  Write(root_ / "a");
  Write(root_ / "b");
  Write(root_ / "c");
  Start();
  fs::remove(root_ / "a");
  fs::rename(root_ / "b", root_ / "d");
  fs::permissions(root_ / "c", fs::perms::none);
  EXPECT_THAT(NextChange().paths,
              ElementsAre(root_ / "a", root_ / "b", root_ / "c", root_ / "d"));
}

TEST_F(SourceWatcherTest, ReadingReportsNothing) {
  Write(root_ / "a");
  Start();
  std::string text;
  std::getline(std::ifstream(root_ / "a"), text);
  for (const auto& entry : fs::directory_iterator(root_)) {
    EXPECT_EQ(entry.path(), root_ / "a");
  }
  EXPECT_THAT(PathsUpTo(root_ / "b"), ElementsAre(root_ / "b"));
}

// What is not watched.

TEST_F(SourceWatcherTest, FilesThatOnlyEditorsCareAboutStartNoBurst) {
  SourceWatchOptions options;
  options.quiet = milliseconds(1);
  options.longest_wait = milliseconds(10);
  Start({root_}, options);
  for (const char* name : {".a.frag.swp", ".a.frag.swx", "4913", "a.frag~",
                           ".#a.frag", "#a.frag#"}) {
    Write(root_ / name);
    fs::remove(root_ / name);
  }
  ASSERT_TRUE(RunUntil([&] { return watcher_->counters().events > 6; }));
  io_.restart();
  io_.run_for(10 * options.longest_wait);
  EXPECT_EQ(watcher_->counters().bursts, 0u);
  EXPECT_THAT(PathsUpTo(root_ / "a.frag"), ElementsAre(root_ / "a.frag"));
}

TEST_F(SourceWatcherTest, HiddenFoldersAndNodeModulesAreNotWatched) {
  MakeFolder(root_ / ".git/refs");
  MakeFolder(root_ / "lib/node_modules/x");
  MakeFolder(root_ / "lib/.cache");
  Start();
  EXPECT_EQ(watcher_->counters().folders, 2u);  // the root and lib
  Write(root_ / ".git/refs/main");
  Write(root_ / "lib/node_modules/x/index.js");
  MakeFolder(root_ / ".idea/deeper");
  fs::remove_all(root_ / "lib/.cache");
  EXPECT_THAT(PathsUpTo(root_ / "a"), ElementsAre(root_ / "a"));
  EXPECT_EQ(watcher_->counters().folders, 2u);
}

TEST_F(SourceWatcherTest, RootMayBeHiddenOrBelowAHiddenFolder) {
  const Path hidden = MakeFolder(root_ / ".local/.shaders");
  MakeFolder(hidden / "lib");
  Start({hidden});
  EXPECT_THAT(PathsUpTo(hidden / "lib/a"), ElementsAre(hidden / "lib/a"));
}

TEST_F(SourceWatcherTest, LinksToFoldersAreNotFollowedRoundAndRound) {
  MakeFolder(root_ / "lib");
  MakeFolder(dir_ / "outside");
  fs::create_symlink("..", root_ / "lib/up");
  fs::create_symlink(root_, root_ / "self");
  fs::create_symlink(dir_ / "outside", root_ / "outside");
  Start();
  EXPECT_EQ(watcher_->counters().folders, 2u);
  Write(dir_ / "outside/a");
  EXPECT_THAT(PathsUpTo(root_ / "self/lib/up/lib/b"),
              ElementsAre(root_ / "lib/b"));
}

TEST_F(SourceWatcherTest, LinkBelowARootThatIsSwitchedIsReported) {
  MakeFolder(root_ / "v1");
  MakeFolder(root_ / "v2");
  fs::create_symlink("v1", root_ / "current");
  Start();
  SwitchLink(root_ / "current", "v2");
  EXPECT_THAT(NextChange().paths, Contains(root_ / "current"));
}

// Folders that come and go.

TEST_F(SourceWatcherTest, NewFolderIsWatchedWithAllThatIsInItAlready) {
  Start();
  MakeFolder(root_ / "a/b/c");
  Write(root_ / "a/b/c/early");
  EXPECT_THAT(NextChange().paths, Contains(root_ / "a"));
  EXPECT_EQ(watcher_->counters().folders, 4u);
  EXPECT_THAT(PathsUpTo(root_ / "a/b/c/late"),
              ElementsAre(root_ / "a/b/c/late"));
}

// While the watcher reads the queue: every file is below something reported
// after it was made.
TEST_F(SourceWatcherTest, NoFileIsLostInFoldersThatAreMadeMeanwhile) {
  Start();
  constexpr int kChains = 20;
  std::thread maker([&] {
    for (int i = 0; i < kChains; ++i) {
      const Path chain = root_ / std::to_string(i);
      Write(MakeFolder(chain / "x/y/z") / "file");
    }
  });
  std::vector<bool> reported(kChains);
  auto all_reported = [&] {
    for (const SourceChange& change : changes_) {
      EXPECT_FALSE(change.everything);
      for (const Path& path : change.paths) {
        const Path first = *path.lexically_relative(root_).begin();
        reported[static_cast<size_t>(std::stoi(first))] = true;
      }
    }
    changes_.clear();
    return std::find(reported.begin(), reported.end(), false) ==
               reported.end() &&
           watcher_->counters().folders == 1 + 4 * kChains;
  };
  EXPECT_TRUE(RunUntil(all_reported));
  maker.join();
  Write(root_ / "last");
  EXPECT_TRUE(RunUntil([&] {
    return !changes_.empty() &&
           std::ranges::count(changes_.back().paths, root_ / "last") == 1;
  }));
  changes_.clear();
  for (int i = 0; i < kChains; ++i) {
    Write(root_ / std::to_string(i) / "x/y/z/again");
  }
  EXPECT_EQ(NextChange().paths.size(), size_t{kChains});
}

TEST_F(SourceWatcherTest, FolderThatIsMovedInIsWatchedWithItsSubfolders) {
  MakeFolder(dir_ / "elsewhere/sub");
  Write(dir_ / "elsewhere/sub/a");
  Start();
  fs::rename(dir_ / "elsewhere", root_ / "lib");
  EXPECT_THAT(NextChange().paths, ElementsAre(root_ / "lib"));
  EXPECT_THAT(PathsUpTo(root_ / "lib/sub/a"), ElementsAre(root_ / "lib/sub/a"));
}

TEST_F(SourceWatcherTest, FolderThatIsMovedOutIsReportedAndWatchedNoLonger) {
  MakeFolder(root_ / "lib/sub");
  Start();
  fs::rename(root_ / "lib", dir_ / "elsewhere");
  EXPECT_THAT(NextChange().paths, ElementsAre(root_ / "lib"));
  EXPECT_EQ(watcher_->counters().folders, 1u);
  Write(dir_ / "elsewhere/sub/a");
  EXPECT_THAT(PathsUpTo(root_ / "b"), ElementsAre(root_ / "b"));
}

TEST_F(SourceWatcherTest, FolderThatIsRenamedReportsUnderItsNewName) {
  MakeFolder(root_ / "old/sub");
  Start();
  fs::rename(root_ / "old", root_ / "new");
  EXPECT_THAT(NextChange().paths, ElementsAre(root_ / "new", root_ / "old"));
  EXPECT_THAT(PathsUpTo(root_ / "new/sub/a"), ElementsAre(root_ / "new/sub/a"));
}

TEST_F(SourceWatcherTest, FoldersThatChangePlacesReportUnderTheirNewNames) {
  MakeFolder(root_ / "a/of_a");
  MakeFolder(root_ / "b/of_b");
  Start();
  ASSERT_EQ(renameat2(AT_FDCWD, (root_ / "a").c_str(), AT_FDCWD,
                      (root_ / "b").c_str(), RENAME_EXCHANGE),
            0);
  EXPECT_THAT(NextChange().paths, ElementsAre(root_ / "a", root_ / "b"));
  EXPECT_THAT(PathsUpTo(root_ / "a/of_b/x"), ElementsAre(root_ / "a/of_b/x"));
  EXPECT_THAT(PathsUpTo(root_ / "b/of_a/x"), ElementsAre(root_ / "b/of_a/x"));
  EXPECT_EQ(watcher_->counters().folders, 5u);
}

TEST_F(SourceWatcherTest, FolderThatIsDeletedAndMadeAgainIsWatchedAgain) {
  MakeFolder(root_ / "lib/sub");
  Start();
  fs::remove_all(root_ / "lib");
  EXPECT_THAT(NextChange().paths, Contains(root_ / "lib"));
  EXPECT_EQ(watcher_->counters().folders, 1u);
  MakeFolder(root_ / "lib/sub");
  fs::remove_all(root_ / "lib");
  MakeFolder(root_ / "lib/sub");
  EXPECT_THAT(NextChange().paths, Contains(root_ / "lib"));
  EXPECT_THAT(PathsUpTo(root_ / "lib/sub/a"), ElementsAre(root_ / "lib/sub/a"));
}

TEST_F(SourceWatcherTest, LargeTreeIsReadInSlicesAndThenReportedAsChanged) {
  constexpr int kFolders = 50;
  for (int i = 0; i < kFolders; ++i) {
    MakeFolder(root_ / std::to_string(i));
  }
  SourceWatchOptions options;
  options.slice = milliseconds(0);
  Start({root_}, options);
  EXPECT_LT(watcher_->counters().folders, size_t{kFolders});
  EXPECT_TRUE(NextChange().everything);
  EXPECT_EQ(watcher_->counters().folders, size_t{kFolders + 1});
  for (int i = 0; i < kFolders; ++i) {
    Write(root_ / std::to_string(i) / "a");
  }
  EXPECT_EQ(NextChange().paths.size(), size_t{kFolders});
}

// Limits.

TEST_F(SourceWatcherTest, LostEventsAreReportedAsEverything) {
  size_t queue = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> queue;
  if (queue > 100000) {
    GTEST_SKIP() << "a queue of " << queue << " events takes long to fill";
  }
  Start();
  for (size_t i = 0; i < queue / 3 + 10; ++i) {
    // Three events that differ from those before and after.
    UniqueFd(open((root_ / "a").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600))
        .reset();
    unlink((root_ / "a").c_str());
  }
  MakeFolder(root_ / "unheard/of");
  EXPECT_TRUE(NextChange().everything);
  EXPECT_EQ(watcher_->counters().overflows, 1u);
  EXPECT_THAT(PathsUpTo(root_ / "unheard/of/a"),
              ElementsAre(root_ / "unheard/of/a"));
  EXPECT_EQ(InotifyDescriptors(), 1);
}

// Keeps what is logged, and out of the test's own output.
class LogCapture {
 public:
  LogCapture() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_st>(text_)));
  }

  ~LogCapture() { spdlog::set_default_logger(before_); }

  std::string text() const { return text_.str(); }

 private:
  const std::shared_ptr<spdlog::logger> before_;
  std::ostringstream text_;
};

// While it lives, no descriptor can be opened.
class NoDescriptorLeft {
 public:
  NoDescriptorLeft() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const UniqueFd lowest(open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(lowest.get());
    setrlimit(RLIMIT_NOFILE, &now);
  }

  ~NoDescriptorLeft() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

SourceWatchOptions PollsOften() {
  SourceWatchOptions options;
  options.quiet = milliseconds(1);
  options.poll = milliseconds(5);
  options.slice = hours(1);  // so that a limit is met at once
  return options;
}

TEST_F(SourceWatcherTest, MoreFoldersThanMayBeWatchedArePolled) {
  const LogCapture log;
  MakeFolder(root_ / "a/b");
  SourceWatchOptions options = PollsOften();
  options.watch_limit = 2;
  Start({root_}, options);
  EXPECT_TRUE(watcher_->counters().polling);
  EXPECT_TRUE(RunUntil([&] { return watcher_->counters().polls >= 3; }));
  EXPECT_GE(changes_.size(), 3u);
  for (const SourceChange& change : changes_) {
    EXPECT_TRUE(change.everything);
  }
  EXPECT_EQ(InotifyDescriptors(), 0);
  const std::string warning = "/proc/sys/fs/inotify/max_user_watches";
  EXPECT_THAT(log.text(), HasSubstr(warning));
  EXPECT_EQ(log.text().find(warning), log.text().rfind(warning));
}

TEST_F(SourceWatcherTest, TreeThatOutgrowsTheLimitIsPolledFromThenOn) {
  const LogCapture log;
  SourceWatchOptions options = PollsOften();
  options.watch_limit = 40;
  Start({root_}, options);
  EXPECT_FALSE(watcher_->counters().polling);
  for (int i = 0; i < 40; ++i) {
    MakeFolder(root_ / std::to_string(i));
  }
  EXPECT_TRUE(RunUntil([&] { return watcher_->counters().polls > 0; }));
  EXPECT_TRUE(changes_.front().everything);
}

TEST_F(SourceWatcherTest, FewerFoldersAreWatchedInsteadOfPolledAgain) {
  const LogCapture log;
  for (int i = 0; i < 40; ++i) {
    MakeFolder(root_ / std::to_string(i));
  }
  SourceWatchOptions options = PollsOften();
  options.watch_limit = 40;
  Start({root_}, options);
  ASSERT_TRUE(watcher_->counters().polling);
  watcher_->Watch({root_ / "1"});
  EXPECT_FALSE(watcher_->counters().polling);
  EXPECT_TRUE(NextChange().everything);  // what changed until now
  EXPECT_THAT(PathsUpTo(root_ / "1/a"), ElementsAre(root_ / "1/a"));
}

TEST_F(SourceWatcherTest, NoDescriptorLeftMeansPolling) {
  const LogCapture log;
  Start({}, PollsOften());
  {
    const NoDescriptorLeft none;
    watcher_->Watch({root_});
  }
  EXPECT_TRUE(watcher_->counters().polling);
  EXPECT_TRUE(RunUntil([&] { return watcher_->counters().polls > 0; }));
  EXPECT_THAT(log.text(), HasSubstr("/proc/sys/fs/inotify/max_user_watches"));
}

TEST_F(SourceWatcherTest, NothingRunsWhileNothingHappens) {
  MakeFolder(root_ / "lib");
  Start({root_, root_ / "missing"});
  PathsUpTo(root_ / "lib/a");
  // Others may be at work in the temporary folder, on the way to the root: no
  // handler runs but for an event of theirs.
  const uint64_t events_before = watcher_->counters().events;
  io_.restart();
  const size_t handlers = io_.run_for(milliseconds(200));
  EXPECT_LE(handlers, watcher_->counters().events - events_before);
}

// Beginning and end.

TEST_F(SourceWatcherTest, FoldersThatStayAreNotReadAgain) {
  MakeFolder(root_ / "a/x");
  MakeFolder(root_ / "b/x");
  MakeFolder(root_ / "c/x");
  Start({root_ / "a", root_ / "b"});
  EXPECT_EQ(watcher_->counters().folders_listed, 4u);
  watcher_->Watch({root_ / "c", root_ / "b"});
  EXPECT_EQ(watcher_->counters().folders_listed, 6u);
  EXPECT_EQ(watcher_->counters().folders, 4u);
  Write(root_ / "a/x/file");
  Write(root_ / "b/x/file");
  EXPECT_THAT(PathsUpTo(root_ / "c/x/file"),
              ElementsAre(root_ / "b/x/file", root_ / "c/x/file"));
}

TEST_F(SourceWatcherTest, FolderInsideAnotherIsReportedForBothAndOutlivesIt) {
  MakeFolder(root_ / "a/b");
  const Path spelled = root_ / "a" / ".." / "a";
  Start({root_, spelled});
  EXPECT_EQ(watcher_->counters().folders, 3u);
  EXPECT_THAT(PathsUpTo(root_ / "a/b/x"),
              ElementsAre(spelled / "b/x", root_ / "a/b/x"));
  watcher_->Watch({spelled});
  EXPECT_EQ(watcher_->counters().folders, 2u);
  Write(root_ / "y");
  EXPECT_THAT(PathsUpTo(root_ / "a/b/x"), ElementsAre(spelled / "b/x"));
}

TEST_F(SourceWatcherTest, NoFoldersAtAllReportNothing) {
  Start();
  watcher_->Watch({});
  EXPECT_EQ(InotifyDescriptors(), 0);
  Write(root_ / "a");
  watcher_->Watch({root_});
  EXPECT_THAT(PathsUpTo(root_ / "b"), ElementsAre(root_ / "b"));
}

TEST_F(SourceWatcherTest, DescriptorIsNotInheritedAndClosesWithStop) {
  Start();
  EXPECT_EQ(InotifyDescriptors(), 1);
  EXPECT_EQ(InotifyDescriptors(/*inherited_only=*/true), 0);
  Write(root_ / "a");
  ASSERT_TRUE(RunUntil([&] { return watcher_->counters().events > 0; }));
  watcher_->Stop();
  EXPECT_EQ(InotifyDescriptors(), 0);
  io_.restart();
  io_.run();  // nothing is left that it waits for
  EXPECT_EQ(changes_.size(), 0u);
  watcher_->Watch({root_});
  EXPECT_EQ(InotifyDescriptors(), 0);
}

TEST_F(SourceWatcherTest, WatcherMayBeDestroyedWhileItsHandlersAreReady) {
  Start();
  Write(root_ / "a");
  watcher_.reset();
  io_.restart();
  io_.run();
  EXPECT_EQ(changes_.size(), 0u);
}

TEST_F(SourceWatcherTest, WatcherMayBeDestroyedByWhatItCalls) {
  int calls = 0;
  watcher_ = std::make_unique<SourceWatcher>(
      io_, SourceWatchOptions(), [&](const SourceChange& change) {
        calls += change.paths.empty() ? 0 : 1;
        watcher_.reset();
      });
  watcher_->Watch({root_});
  Write(root_ / "a");
  io_.run();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(InotifyDescriptors(), 0);
}

}  // namespace
}  // namespace kiln::daemon
