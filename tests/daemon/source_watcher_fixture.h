// SPDX-License-Identifier: Apache-2.0
#pragma once

// A watcher on real folders, and its io thread, which is the test's own: so
// what a test does between two runs of it is in the kernel's queue together.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/source_watcher.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_dir.h"

namespace kiln::daemon {

class SourceWatcherFixture : public ::testing::Test {
 protected:
  using Path = std::filesystem::path;

  // Watches `root_` unless told otherwise.
  void Start() { Start({root_}); }

  void Start(std::vector<Path> folders, SourceWatchOptions options = {}) {
    watcher_ = std::make_unique<SourceWatcher>(
        io_, options,
        [this](const SourceChange& change) { changes_.push_back(change); });
    watcher_->Watch(std::move(folders));
  }

  // Runs what is ready, no more.
  void Poll() {
    io_.restart();
    io_.poll();
  }

  // Runs until `condition` holds.
  template <typename Condition>
  bool RunUntil(Condition condition) {
    return kiln::testing::Eventually([&] {
      Poll();
      return condition();
    });
  }

  // Runs until the next burst. Returns: it, and nothing that came before.
  SourceChange NextChange() {
    EXPECT_TRUE(RunUntil([this] { return !changes_.empty(); }));
    return TakeOnly();
  }

  // The paths of the next burst, as told by a file that is written now: what
  // has happened before is in it, too, and so is what is still in the queue.
  std::vector<Path> PathsUpTo(const Path& file) {
    Write(file);
    const SourceChange change = NextChange();
    EXPECT_FALSE(change.everything);
    return change.paths;
  }

  SourceChange TakeOnly() {
    EXPECT_EQ(changes_.size(), 1u);
    SourceChange change;
    if (!changes_.empty()) {
      change = changes_.front();
    }
    changes_.clear();
    return change;
  }

  // One open, truncate, write, close.
  static void Write(const Path& file) { std::ofstream(file) << "text\n"; }

  // `current -> to`, all at once.
  static void SwitchLink(const Path& link, const Path& to) {
    const Path temporary = link.string() + ".new";
    std::filesystem::create_symlink(to, temporary);
    std::filesystem::rename(temporary, link);
  }

  // Inotify descriptors that this process has; those that a child would get.
  static int InotifyDescriptors(bool inherited_only = false);

  kiln::testing::TempDir dir_;
  const Path root_ = MakeFolder(dir_ / "root");
  boost::asio::io_context io_{1};
  std::vector<SourceChange> changes_;
  std::unique_ptr<SourceWatcher> watcher_;

  static Path MakeFolder(const Path& folder) {
    std::filesystem::create_directories(folder);
    return folder;
  }
};

}  // namespace kiln::daemon
