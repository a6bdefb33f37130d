// SPDX-License-Identifier: Apache-2.0
#pragma once

// Living programs over a real store and a real folder, without a daemon.

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/live_programs.h"
#include "daemon/program_registry.h"
#include "daemon/root_registry.h"
#include "storage/variant_store.h"
#include "tests/support/small_program.h"
#include "tests/support/source_folder.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::daemon {

// The store lies in memory where there is such a file system, since nothing
// here is about the disk.
class LiveProgramsFixture : public ::testing::Test {
 protected:
  LiveProgramsFixture()
      : folder_(access("/dev/shm", W_OK) == 0
                    ? std::filesystem::path("/dev/shm")
                    : std::filesystem::temp_directory_path()) {
    auto store = storage::VariantStore::Open(folder_ / "db", {});
    EXPECT_OK(store);
    store_ = *std::move(store);
    registry_ = std::make_unique<ProgramRegistry>(*store_);
    roots_ = std::make_unique<RootRegistry>(*store_);
    EXPECT_OK(roots_->Add("project", source_.path().string(), ""));
    programs_ = std::make_unique<LivePrograms>(*store_, *registry_, *roots_,
                                               /*sealed=*/false);
    for (const SourceFile& file : testing::SmallProgram().files) {
      source_.Write(file.path, file.text);
    }
    recipe_ = testing::SmallProgram();
    recipe_.rooted = true;
    recipe_.files.clear();
  }

  Digest Register(const Program& program) {
    Bytes bytes = EncodeProgram(program);
    const Digest id = Digest::Of(bytes);
    EXPECT_OK(registry_->Register(id, std::move(bytes)));
    return id;
  }

  // The fragment shader, ending in a comment.
  void SaveFragment(const std::string& comment) {
    source_.Save("small.frag",
                 std::string(testing::kSmallFragment) + "// " + comment + "\n");
  }

  testing::SourceFolder source_;
  testing::TempDir folder_;
  std::unique_ptr<storage::VariantStore> store_;
  std::unique_ptr<ProgramRegistry> registry_;
  std::unique_ptr<RootRegistry> roots_;
  std::unique_ptr<LivePrograms> programs_;
  Program recipe_;  // a SmallProgram whose sources lie in the root
};

}  // namespace kiln::daemon
