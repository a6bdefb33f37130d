// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/search_roots.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/limits.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::sources {
namespace {

namespace fs = std::filesystem;
using ::kiln::testing::kInvalid;
using ::kiln::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kExists = absl::StatusCode::kAlreadyExists;

TEST(SearchRootsTest, RootsStandWhereTheyWerePut) {
  SearchRoots roots;
  ASSERT_OK(roots.Add("engine", "/nowhere/engine"));
  ASSERT_OK(roots.Add("project", "/nowhere/project"));
  ASSERT_OK(roots.Add("plugin", "/nowhere/plugin", 1));
  ASSERT_OK(roots.Add("override", "/nowhere/override", 0));
  EXPECT_THAT(roots.Names(),
              ElementsAre("override", "engine", "plugin", "project"));
  EXPECT_EQ(roots.Find("plugin")->folder, "/nowhere/plugin");
  EXPECT_THAT(roots.Add("far", "/nowhere/far", 5),
              StatusIs(kInvalid, "position 5 is past the end of 4 roots"));
}

TEST(SearchRootsTest, RemovedRootIsGoneAndAnUnknownOneIsNamed) {
  SearchRoots roots;
  ASSERT_OK(roots.Add("engine", "/nowhere/engine"));
  ASSERT_OK(roots.Add("project", "/nowhere/project"));
  ASSERT_OK(roots.Remove("engine"));
  EXPECT_THAT(roots.Names(), ElementsAre("project"));
  EXPECT_EQ(roots.Find("engine"), nullptr);
  EXPECT_THAT(roots.Remove("engine"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("'engine'"), HasSubstr("project"))));
}

TEST(SearchRootsTest, NameIsOnePartOfAPath) {
  SearchRoots roots;
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"),
        std::string("a\nb"), std::string("a\tb"), std::string("a\x01"),
        std::string("\xFF"), std::string(65, 'n'), std::string("a\0b", 3)}) {
    EXPECT_THAT(roots.Add(name, "/nowhere"), StatusIs(kInvalid, "root name"));
  }
  EXPECT_OK(roots.Add(std::string(64, 'n'), "/nowhere/long"));
  EXPECT_OK(roots.Add("sch\xC3\xB6n und gut", "/nowhere/nice"));
  EXPECT_OK(roots.Add("...", "/nowhere/dots"));
}

TEST(SearchRootsTest, SecondRootOfANameIsRefused) {
  SearchRoots roots;
  ASSERT_OK(roots.Add("engine", "/nowhere/engine"));
  EXPECT_THAT(roots.Add("engine", "/nowhere/other"),
              StatusIs(kExists, AllOf(HasSubstr("'engine'"),
                                      HasSubstr("/nowhere/engine"))));
}

TEST(SearchRootsTest, SecondRootOfAFolderIsRefusedUnderAnySpelling) {
  const testing::TempDir folder;
  fs::create_directories(folder / "engine");
  fs::create_directory_symlink(folder / "engine", folder / "link");
  SearchRoots roots;
  ASSERT_OK(roots.Add("engine", (folder / "engine").string() + "/"));
  EXPECT_EQ(roots.Find("engine")->folder, (folder / "engine").string());
  for (const char* spelling :
       {"engine", "engine/", "./engine", "engine/../engine", "link"}) {
    EXPECT_THAT(
        roots.Add("again", folder.path().string() + "/" + spelling),
        StatusIs(kExists, AllOf(HasSubstr("'again'"), HasSubstr("'engine'"))))
        << spelling;
  }
  ASSERT_OK(roots.Add("later", (folder / "later").string()));
  EXPECT_THAT(roots.Add("too", (folder / "later").string()),
              StatusIs(kExists, "'later'"));
}

TEST(SearchRootsTest, FolderIsAbsoluteAndNotTheWholeFileSystem) {
  const testing::TempDir folder;
  fs::create_directory_symlink("/", folder / "link");
  SearchRoots roots;
  EXPECT_THAT(roots.Add("a", "shaders"),
              StatusIs(kInvalid, "'shaders' is not an absolute path"));
  EXPECT_THAT(roots.Add("a", ""), StatusIs(kInvalid, "absolute"));
  EXPECT_THAT(roots.Add("a", std::string("/tmp\0/x", 7)),
              StatusIs(kInvalid, "absolute"));
  EXPECT_THAT(roots.Add("a", "/"), StatusIs(kInvalid, "whole file system"));
  EXPECT_THAT(roots.Add("a", "/tmp/.."),
              StatusIs(kInvalid, "whole file system"));
  EXPECT_THAT(roots.Add("a", (folder / "link").string()),
              StatusIs(kInvalid, "whole file system"));
}

TEST(SearchRootsTest, RootsAreLimited) {
  SearchRoots roots;
  for (size_t i = 0; i < limits::kSearchRoots; ++i) {
    ASSERT_OK(roots.Add(std::to_string(i), "/nowhere/" + std::to_string(i)));
  }
  EXPECT_THAT(roots.Add("more", "/nowhere/more"),
              StatusIs(absl::StatusCode::kResourceExhausted, "64 roots"));
}

}  // namespace
}  // namespace kiln::sources
