// SPDX-License-Identifier: Apache-2.0

// What of a root's folders cannot be read. What is planned of the others is
// tested in precompile_command_test.cc.

#include "client/cli/precompile_plan.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/shaders/sources/unprivileged.h"
#include "tests/support/deep_folder.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class PrecompilePlanTest : public ::testing::Test {
 protected:
  PrecompilePlanTest() {
    fs::create_directories(folder_ / "engine/fx");
    std::ofstream(folder_ / "engine/lit.frag") << "void main() {}\n";
    std::ofstream(folder_ / "engine/fx/fog.frag") << "void main() {}\n";
    EXPECT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  }

  PrecompilePlan Plan(bool wanted = true) const {
    const std::vector<PlannedRoot> roots = {
        {"engine", folder_ / "engine", wanted}};
    return PlanPrecompile(roots);
  }

  static std::vector<std::string> PathsOf(const PrecompilePlan& plan) {
    std::vector<std::string> paths;
    for (const PlannedShader& shader : plan.shaders) {
      paths.push_back(shader.path);
    }
    return paths;
  }

  const testing::TempDir folder_;
};

TEST_F(PrecompilePlanTest, RootThatMayNotBeReadIsAProblem) {
  ASSERT_EQ(chmod((folder_ / "engine").c_str(), 0), 0);
  testing::ExpectUnprivileged([&] {
    const PrecompilePlan plan = Plan();
    ASSERT_THAT(plan.problems, SizeIs(1));
    EXPECT_EQ(plan.problems[0].path, "/engine");
    EXPECT_THAT(
        plan.problems[0].status,
        testing::StatusIs(absl::StatusCode::kPermissionDenied,
                          (folder_ / "engine").string() + "' cannot be read"));
    EXPECT_THAT(Plan(/*wanted=*/false).problems, IsEmpty());
  });
}

TEST_F(PrecompilePlanTest, FolderThatMayNotBeReadIsAProblemAndTheRestIsTried) {
  ASSERT_EQ(chmod((folder_ / "engine/fx").c_str(), 0), 0);
  testing::ExpectUnprivileged([&] {
    const PrecompilePlan plan = Plan();
    EXPECT_THAT(PathsOf(plan), ElementsAre("/engine/lit.frag"));
    ASSERT_THAT(plan.problems, SizeIs(1));
    EXPECT_EQ(plan.problems[0].path, "/engine/fx");
  });
}

TEST_F(PrecompilePlanTest, FolderWhosePathIsTooLongIsAProblem) {
  const std::string deep =
      testing::MakeFolderTooDeepToRead(folder_ / "engine/fx");
  const PrecompilePlan plan = Plan();
  EXPECT_THAT(PathsOf(plan),
              ElementsAre("/engine/fx/fog.frag", "/engine/lit.frag"));
  ASSERT_THAT(plan.problems, SizeIs(1));
  EXPECT_THAT(plan.problems[0].path, StartsWith("/engine/fx/" + deep));
  EXPECT_THAT(std::string(plan.problems[0].status.message()),
              HasSubstr("cannot be read: "));
}

TEST_F(PrecompilePlanTest, HiddenFolderMayBeWhatItLikes) {
  fs::create_directories(folder_ / "engine/.git");
  ASSERT_EQ(chmod((folder_ / "engine/.git").c_str(), 0), 0);
  testing::ExpectUnprivileged([&] {
    EXPECT_THAT(Plan().problems, IsEmpty());
    EXPECT_THAT(PathsOf(Plan()), SizeIs(2));
  });
}

}  // namespace
}  // namespace kiln::cli
