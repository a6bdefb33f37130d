// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/include_paths.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace kiln::sources {
namespace {

using ::kiln::testing::kInvalid;
using ::kiln::testing::StatusIs;
using ::testing::ElementsAre;

SearchRoots TwoRoots() {
  SearchRoots roots;
  EXPECT_OK(roots.Add("engine", "/nowhere/engine"));
  EXPECT_OK(roots.Add("project", "/nowhere/project"));
  return roots;
}

std::vector<std::string> Entry(std::string_view name) {
  const auto ids = EntryCandidates(TwoRoots(), name);
  EXPECT_OK(ids) << name;
  return ids.value_or(std::vector<std::string>());
}

std::vector<std::string> Quoted(std::string_view from, std::string_view name) {
  const auto ids =
      IncludeCandidates(TwoRoots(), from, name, IncludeForm::kQuoted);
  EXPECT_OK(ids) << name;
  return ids.value_or(std::vector<std::string>());
}

TEST(IncludePathsTest, PlainNameIsSearchedInEveryRootInOrder) {
  EXPECT_THAT(Entry("lit/a.frag"),
              ElementsAre("engine/lit/a.frag", "project/lit/a.frag"));
}

TEST(IncludePathsTest, FullPathMeansOneFileOnly) {
  EXPECT_THAT(Entry("/project/lit/a.frag"), ElementsAre("project/lit/a.frag"));
  EXPECT_THAT(Quoted("engine/x/y.glsl", "/project/a.glsl"),
              ElementsAre("project/a.glsl"));
}

TEST(IncludePathsTest, QuotedNameIsLookedUpBesideItsIncluderFirst) {
  EXPECT_THAT(
      Quoted("project/lit/a.frag", "b.glsl"),
      ElementsAre("project/lit/b.glsl", "engine/b.glsl", "project/b.glsl"));
  EXPECT_THAT(Quoted("project/a.frag", "b.glsl"),
              ElementsAre("project/b.glsl", "engine/b.glsl"));
}

TEST(IncludePathsTest, AngledNameIsNotLookedUpBesideItsIncluder) {
  EXPECT_THAT(*IncludeCandidates(TwoRoots(), "project/lit/a.frag", "b.glsl",
                                 IncludeForm::kAngled),
              ElementsAre("engine/b.glsl", "project/b.glsl"));
}

TEST(IncludePathsTest, SpellingsOfOneFileAreOneId) {
  for (const char* spelling :
       {"b/c.glsl", "./b/c.glsl", "b//c.glsl", "a/../b/./c.glsl", "b/c.glsl/",
        "a/b/../../b/c.glsl"}) {
    EXPECT_THAT(Entry(spelling),
                ElementsAre("engine/b/c.glsl", "project/b/c.glsl"));
  }
  for (const char* spelling :
       {"/engine/b", "//engine//b", "/engine/./b", "/engine/x/../b"}) {
    EXPECT_THAT(Entry(spelling), ElementsAre("engine/b"));
  }
}

TEST(IncludePathsTest, ParentFoldersEndAtTheRoot) {
  EXPECT_THAT(Quoted("project/lit/a.frag", "../b.glsl"),
              ElementsAre("project/b.glsl"));
  for (const char* name : {"../../b", "../../engine/b", "x/../../../b"}) {
    EXPECT_THAT(IncludeCandidates(TwoRoots(), "project/lit/a.frag", name,
                                  IncludeForm::kQuoted),
                StatusIs(kInvalid, "leaves its search root"))
        << name;
  }
  for (const char* name :
       {"../b", "/engine/../project/b", "/engine/a/../../b", ".."}) {
    EXPECT_THAT(EntryCandidates(TwoRoots(), name),
                StatusIs(kInvalid, "leaves its search root"))
        << name;
  }
}

TEST(IncludePathsTest, NameThatCanMeanNoFileSaysWhy) {
  const SearchRoots roots = TwoRoots();
  EXPECT_THAT(EntryCandidates(roots, ""), StatusIs(kInvalid, "empty"));
  EXPECT_THAT(EntryCandidates(roots, "/etc/passwd"),
              StatusIs(kInvalid, "no search root is named 'etc'"));
  EXPECT_THAT(EntryCandidates(roots, "/"), StatusIs(kInvalid, "named ''"));
  EXPECT_THAT(EntryCandidates(roots, "/engine"),
              StatusIs(kInvalid, "that of a folder"));
  EXPECT_THAT(EntryCandidates(roots, "a/.."),
              StatusIs(kInvalid, "that of a folder"));
  EXPECT_THAT(EntryCandidates(roots, "h\xF6he"), StatusIs(kInvalid, "UTF-8"));
  EXPECT_THAT(EntryCandidates(roots, std::string_view("a\0b", 3)),
              StatusIs(kInvalid, "UTF-8"));
  EXPECT_THAT(EntryCandidates(roots, std::string(257, 'n')),
              StatusIs(kInvalid, "over 256 bytes"));
  EXPECT_THAT(EntryCandidates(roots, std::string(249, 'n')),
              StatusIs(kInvalid, "in root 'project' is over 256 bytes"));
}

TEST(IncludePathsTest, WithoutRootsNothingIsSearched) {
  ASSERT_OK_AND_ASSIGN(const auto ids, EntryCandidates(SearchRoots(), "a"));
  EXPECT_TRUE(ids.empty());
}

TEST(IncludePathsTest, WholeProgramHasOneNamelessRoot) {
  EXPECT_THAT(*ProgramCandidates("a/x.glsl", "b.glsl", IncludeForm::kQuoted),
              ElementsAre("a/b.glsl", "b.glsl"));
  EXPECT_THAT(*ProgramCandidates("a/x.glsl", "b.glsl", IncludeForm::kAngled),
              ElementsAre("b.glsl"));
  EXPECT_THAT(ProgramCandidates("a/x.glsl", "../../b", IncludeForm::kQuoted),
              StatusIs(kInvalid, "leaves the program"));
}

}  // namespace
}  // namespace kiln::sources
