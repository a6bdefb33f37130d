// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/source_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::sources {
namespace {

using ::kiln::testing::StatusIs;

// A folder, and a clock that tests move. `Load` opens the folder anew, as a
// pass over the sources does.
class SourceCacheTest : public ::testing::Test {
 protected:
  SourceCacheOptions Options(size_t capacity_bytes = 1 << 20) {
    SourceCacheOptions options;
    options.capacity_bytes = capacity_bytes;
    options.now = [this] {
      return std::chrono::system_clock::now().time_since_epoch() + ahead_;
    };
    return options;
  }

  void Write(const std::string& path, std::string_view text) {
    std::ofstream(folder_ / path, std::ios::binary) << text;
  }

  void SetTimes(const std::string& path, time_t seconds) {
    const timespec times[] = {{seconds, 5}, {seconds, 5}};
    ASSERT_EQ(utimensat(AT_FDCWD, (folder_ / path).c_str(), times, 0), 0);
  }

  absl::StatusOr<SharedSource> Load(SourceCache& cache, const std::string& path,
                                    Language language = Language::kGlsl) {
    const auto root = RootFolder::Open(folder_.path().string());
    EXPECT_OK(root);
    return cache.Load(*root, path, "root/" + path, language);
  }

  testing::TempDir folder_;
  std::chrono::nanoseconds ahead_ = std::chrono::hours(1);
};

TEST_F(SourceCacheTest, UnchangedFileIsReadOnceAndScanned) {
  SourceCache cache(Options());
  Write("a.glsl", "\xEF\xBB\xBF#include \"b.glsl\"\n");
  ASSERT_OK_AND_ASSIGN(const SharedSource first, Load(cache, "a.glsl"));
  ASSERT_OK_AND_ASSIGN(const SharedSource second, Load(cache, "a.glsl"));
  EXPECT_EQ(first, second);
  EXPECT_EQ(first->text, "#include \"b.glsl\"\n");
  EXPECT_EQ(first->digest, Digest::Of(AsBytes(first->text)));
  ASSERT_EQ(first->includes.size(), 1u);
  EXPECT_EQ(first->includes[0].name, "b.glsl");
  EXPECT_EQ(cache.counters().stats, 2u);
  EXPECT_EQ(cache.counters().reads, 1u);
}

TEST_F(SourceCacheTest, EditedFileIsReadAgain) {
  SourceCache cache(Options());
  Write("a.glsl", "old");
  SetTimes("a.glsl", 1000);
  ASSERT_OK(Load(cache, "a.glsl"));
  Write("a.glsl", "new");  // of the same size
  SetTimes("a.glsl", 2000);
  ASSERT_OK_AND_ASSIGN(const SharedSource source, Load(cache, "a.glsl"));
  EXPECT_EQ(source->text, "new");
}

TEST_F(SourceCacheTest, TouchedFileIsReadOnceAndKeepsItsDigest) {
  SourceCache cache(Options());
  Write("a.glsl", "same");
  ASSERT_OK_AND_ASSIGN(const SharedSource before, Load(cache, "a.glsl"));
  SetTimes("a.glsl", 3000);
  ASSERT_OK_AND_ASSIGN(const SharedSource after, Load(cache, "a.glsl"));
  EXPECT_EQ(before, after);
  ASSERT_OK(Load(cache, "a.glsl"));
  EXPECT_EQ(cache.counters().reads, 2u);
}

// The times of a file put back after an edit do not hide it: ctime shows it.
TEST_F(SourceCacheTest, EditWithTheOldTimeAndSizeIsSeen) {
  SourceCache cache(Options());
  Write("a.glsl", "old");
  SetTimes("a.glsl", 1000);

  struct stat before {};

  ASSERT_EQ(stat((folder_ / "a.glsl").c_str(), &before), 0);
  ASSERT_OK(Load(cache, "a.glsl"));
  struct stat after = before;
  while (after.st_ctim.tv_sec == before.st_ctim.tv_sec &&
         after.st_ctim.tv_nsec == before.st_ctim.tv_nsec) {
    Write("a.glsl", "new");  // until the kernel's clock ticks
    SetTimes("a.glsl", 1000);
    ASSERT_EQ(stat((folder_ / "a.glsl").c_str(), &after), 0);
  }
  ASSERT_OK_AND_ASSIGN(const SharedSource source, Load(cache, "a.glsl"));
  EXPECT_EQ(source->text, "new");
}

TEST_F(SourceCacheTest, FileReadJustAfterItWasWrittenIsReadOnceMore) {
  ahead_ = std::chrono::nanoseconds(0);
  SourceCacheOptions options = Options();
  options.racy_window = std::chrono::minutes(10);
  SourceCache cache(std::move(options));
  Write("a.glsl", "text");
  ASSERT_OK(Load(cache, "a.glsl"));
  ASSERT_OK(Load(cache, "a.glsl"));
  EXPECT_EQ(cache.counters().reads, 2u) << "still too young to be trusted";
  ahead_ = std::chrono::hours(1);
  ASSERT_OK(Load(cache, "a.glsl"));
  EXPECT_EQ(cache.counters().reads, 3u);
  ASSERT_OK(Load(cache, "a.glsl"));
  EXPECT_EQ(cache.counters().reads, 3u) << "old enough when it was read";
}

TEST_F(SourceCacheTest, ModificationTimeInTheFutureIsTrusted) {
  SourceCache cache(Options());
  Write("a.glsl", "text");
  SetTimes("a.glsl", 4'000'000'000);
  ASSERT_OK(Load(cache, "a.glsl"));
  ASSERT_OK(Load(cache, "a.glsl"));
  EXPECT_EQ(cache.counters().reads, 1u);
}

TEST_F(SourceCacheTest, FileReplacedByRenamingIsReadAgain) {
  SourceCache cache(Options());
  Write("a.glsl", "old");
  SetTimes("a.glsl", 1000);
  ASSERT_OK(Load(cache, "a.glsl"));
  Write("a.new", "new");
  SetTimes("a.new", 1000);
  std::filesystem::rename(folder_ / "a.new", folder_ / "a.glsl");
  ASSERT_OK_AND_ASSIGN(const SharedSource source, Load(cache, "a.glsl"));
  EXPECT_EQ(source->text, "new");
}

TEST_F(SourceCacheTest, FileThatIsNoTextIsReadOnceAndRefusedEachTime) {
  SourceCache cache(Options());
  Write("a.glsl", std::string_view("a\0b", 3));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Load(cache, "a.glsl"),
                StatusIs(absl::StatusCode::kInvalidArgument, "NUL"));
  }
  EXPECT_EQ(cache.counters().reads, 1u);
  ASSERT_OK_AND_ASSIGN(const SharedSource module,
                       Load(cache, "a.glsl", Language::kSpirv));
  EXPECT_EQ(module->text.size(), 3u) << "as SPIR-V it is something else";
}

TEST_F(SourceCacheTest, MissingFileIsNotRead) {
  SourceCache cache(Options());
  EXPECT_THAT(Load(cache, "a.glsl"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(cache.counters().reads, 0u);
  Write("a.glsl", "now");
  EXPECT_OK(Load(cache, "a.glsl"));
}

TEST_F(SourceCacheTest, LeastRecentlyUsedFilesGoFirst) {
  SourceCache cache(Options(10'000));
  for (const char* path : {"a", "b", "c"}) {
    Write(path, std::string(3000, path[0]));
  }
  ASSERT_OK_AND_ASSIGN(const SharedSource kept, Load(cache, "a"));
  ASSERT_OK(Load(cache, "b"));
  ASSERT_OK(Load(cache, "a"));
  ASSERT_OK(Load(cache, "c"));
  ASSERT_EQ(cache.counters().reads, 3u);
  ASSERT_OK(Load(cache, "c"));
  Write("d", std::string(3000, 'd'));
  ASSERT_OK(Load(cache, "d"));  // pushes b out
  ASSERT_OK(Load(cache, "a"));
  ASSERT_OK(Load(cache, "c"));
  EXPECT_EQ(cache.counters().reads, 4u);
  ASSERT_OK(Load(cache, "b"));
  EXPECT_EQ(cache.counters().reads, 5u);
  EXPECT_LE(cache.size_bytes(), 10'000u);
  EXPECT_EQ(kept->text, std::string(3000, 'a')) << "held by whoever uses it";
}

TEST_F(SourceCacheTest, FileLargerThanTheCacheIsServedAndNotKept) {
  SourceCache cache(Options(1000));
  Write("a", std::string(3000, 'a'));
  ASSERT_OK_AND_ASSIGN(const SharedSource source, Load(cache, "a"));
  EXPECT_EQ(source->text.size(), 3000u);
  EXPECT_EQ(cache.size_bytes(), 0u);
}

TEST_F(SourceCacheTest, ThreadsSeeOnlyWholeFiles) {
  SourceCache cache(Options(20'000));
  auto replace = [&](int i, char c) {
    const std::string path = std::to_string(i);
    Write(path + ".new", std::string(4000 + static_cast<size_t>(c), c));
    std::filesystem::rename(folder_ / (path + ".new"), folder_ / path);
  };
  for (int i = 0; i < 8; ++i) {
    replace(i, 'a');
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 4; ++reader) {
    readers.emplace_back([&] {
      for (int i = 0; i < 400; ++i) {
        const auto source = Load(cache, std::to_string(i % 8));
        if (source.ok()) {
          const std::string& text = (*source)->text;
          wrong +=
              text == std::string(4000 + static_cast<size_t>(text[0]), text[0])
                  ? 0
                  : 1;
        } else {
          wrong += absl::IsUnavailable(source.status()) ? 0 : 1;
        }
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    replace(i % 8, static_cast<char>('a' + i % 26));
  }
  for (std::thread& reader : readers) {
    reader.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(cache.size_bytes(), 20'000u);
}

}  // namespace
}  // namespace kiln::sources
