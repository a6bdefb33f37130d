// SPDX-License-Identifier: Apache-2.0

// `kiln roots` as scripts see it, against a real daemon.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli_fixture.h"
#include "tests/support/deep_folder.h"
#include "tests/support/status_matchers.h"

namespace kiln::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class RootsCommandTest : public CliTest {
 protected:
  using CliTest::CliTest;

  std::string Folder(const std::string& name) const {
    return (folder_ / name).string();
  }

  void Add(const std::string& root, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"roots", "add", root};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }

  // Names of the roots, in order.
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const json& root : RunJson({"roots"}, 0)) {
      names.push_back(root["name"]);
    }
    return names;
  }
};

TEST_F(RootsCommandTest, RootsAreListedInOrderWithWhatTheyShadow) {
  ASSERT_OK(daemon_.Start());
  Write("engine/lit.glsl", "// engine\n");
  Write("engine/fx/fog.glsl", "// engine\n");
  Write("project/lit.glsl", "// project\n");
  Add("engine=" + Folder("engine"));
  Add(Folder("project") + "/", {"--before", "engine"});
  const auto roots = RunJson({"roots"}, 0);
  ASSERT_THAT(roots, SizeIs(2));
  EXPECT_EQ(roots[0], (json{{"order", 1},
                            {"name", "project"},
                            {"folder", Folder("project")},
                            {"exists", true},
                            {"fixed", false},
                            {"precompiled", false},
                            {"files", 1},
                            {"shadowed", json::array()},
                            {"unreadable", json::array()}}));
  EXPECT_EQ(roots[1]["order"], 2);
  EXPECT_EQ(roots[1]["name"], "engine");
  EXPECT_EQ(roots[1]["files"], 2);
  EXPECT_EQ(roots[1]["shadowed"],
            (json{{{"path", "/engine/lit.glsl"}, {"hidden_by", "project"}}}));
  EXPECT_THAT(Run({"roots"}).out,
              ElementsAre(HasSubstr("1  project  " + Folder("project")),
                          AllOf(HasSubstr("2  engine  "),
                                HasSubstr("2 files, 1 shadowed")),
                          "     /engine/lit.glsl (hidden by project)"));
}

TEST_F(RootsCommandTest, OnlyTheFirstShadowedFilesAreNamedUnlessAllAreWanted) {
  ASSERT_OK(daemon_.Start());
  for (const char* root : {"a/", "b/"}) {
    for (const char* file :
         {"1.glsl", "2.glsl", "3.glsl", "4.glsl", "5.glsl"}) {
      Write(std::string(root) + file, "");
    }
  }
  Add(Folder("a"));
  Add(Folder("b"));
  CommandResult result = Run({"roots"});
  EXPECT_THAT(result.out, SizeIs(6));
  EXPECT_THAT(result.out.back(), HasSubstr("and 2 more; --shadowed"));
  result = Run({"roots", "--shadowed"});
  EXPECT_THAT(result.out, SizeIs(7));
  EXPECT_THAT(result.out.back(), HasSubstr("(hidden by a)"));
}

TEST_F(RootsCommandTest, RootThatIsThereIsSaidToBeThereAndOthersAreRefused) {
  ASSERT_OK(daemon_.Start());
  Write("engine/lit.glsl", "");
  Write("other/lit.glsl", "");
  EXPECT_EQ(RunJson({"roots", "add", Folder("engine")}, 0)[0],
            (json{{"name", "engine"},
                  {"folder", Folder("engine")},
                  {"exists", true},
                  {"already_known", false}}));
  EXPECT_EQ(RunJson({"roots", "add", Folder("engine")}, 0)[0]["already_known"],
            true);
  EXPECT_THAT(Run({"roots", "add", Folder("engine")}).out,
              ElementsAre(HasSubstr("root engine was there already")));
  CommandResult result = Run({"roots", "add", "engine=" + Folder("other")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("engine"));
  result = Run({"roots", "add", "again=" + Folder("engine")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(Names(), ElementsAre("engine"));
}

TEST_F(RootsCommandTest, FolderIsRelativeToTheCommandAndMayBeMissing) {
  ASSERT_OK(daemon_.Start());
  const auto added = RunJson({"roots", "add", "no-such/shaders/"}, 0);
  const std::string folder =
      (std::filesystem::current_path() / "no-such/shaders").string();
  EXPECT_EQ(added[0]["name"], "shaders");
  EXPECT_EQ(added[0]["folder"], folder);
  EXPECT_EQ(added[0]["exists"], false);
  const auto listed = RunJson({"roots"}, 0);
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0]["folder"], folder);
  EXPECT_EQ(listed[0]["exists"], false);
  EXPECT_THAT(Run({"roots"}).out, ElementsAre(HasSubstr("missing")));
}

TEST_F(RootsCommandTest, FileIsRefusedAsAFolder) {
  ASSERT_OK(daemon_.Start());
  const std::string file = Write("file", "");
  const CommandResult result = Run({"roots", "add", "f=" + file});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr(file + "' is a file, not a folder"));
  EXPECT_EQ(Run({"roots", "add", "f=" + file + "/below"}).exit_code, 2);
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(RootsCommandTest, RootThatCannotBeReadIsNotSaidToBeMissing) {
  ASSERT_OK(daemon_.Start());
  std::filesystem::create_symlink("circle", folder_ / "circle");
  CommandResult result = Run({"roots", "add", Folder("circle")});
  EXPECT_EQ(result.exit_code, 0) << "kilnd may be able to";
  EXPECT_THAT(result.out, ElementsAre(AllOf(HasSubstr("cannot be read: "),
                                            Not(HasSubstr("missing")))));
  Add(Folder("file"));
  Write("file", "was no file when it became a root\n");
  result = Run({"roots"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(
      result.out,
      ElementsAre(
          AllOf(HasSubstr("circle  " + Folder("circle")),
                HasSubstr("cannot be read: "), Not(HasSubstr("missing"))),
          AllOf(HasSubstr("file  " + Folder("file")),
                HasSubstr("cannot be read: "), Not(HasSubstr("missing")))));
  const auto listed = RunJson({"roots"}, 1);
  ASSERT_THAT(listed, SizeIs(2));
  ASSERT_THAT(listed[0]["unreadable"], SizeIs(1));
  EXPECT_EQ(listed[0]["unreadable"][0]["path"], "/circle");
}

TEST_F(RootsCommandTest, FolderInARootThatCannotBeReadIsNamed) {
  ASSERT_OK(daemon_.Start());
  Write("engine/lit.glsl", "");
  Add(Folder("engine"));
  const std::string deep = MakeFolderTooDeepToRead(folder_ / "engine");
  const CommandResult result = Run({"roots"});
  EXPECT_EQ(result.exit_code, 1);
  ASSERT_THAT(result.out, SizeIs(2));
  EXPECT_THAT(result.out[0], HasSubstr("1 folder cannot be read"));
  EXPECT_THAT(result.out[1], AllOf(StartsWith("     /engine/" + deep),
                                   HasSubstr(" cannot be read: ")));
}

TEST_F(RootsCommandTest, NameThatIsNotPrintableIsNotChangedButRefused) {
  ASSERT_OK(daemon_.Start());
  for (const std::string name : {"\xff", "a\x01z", "two\nlines"}) {
    const CommandResult result =
        Run({"roots", "add", name + "=" + Folder("a")});
    EXPECT_EQ(result.exit_code, 2) << name;
    EXPECT_THAT(result.err, HasSubstr("printable")) << name;
  }
  Add(Folder("a"));
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{
           {"roots", "remove", "\xff"},
           {"roots", "add", Folder("b"), "--before", "\xff"}}) {
    const CommandResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("printable"));
  }
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(RootsCommandTest, SlashInANameIsRefusedAndEqualsInAFolderIsNot) {
  ASSERT_OK(daemon_.Start());
  const CommandResult result = Run({"roots", "add", "a/b=/tmp"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("'a/b'"), HasSubstr("a '/'")));
  EXPECT_EQ(Run({"roots", "add", "/a/b=/tmp"}).exit_code, 2);
  std::filesystem::create_directories(folder_ / "x=y");
  Add(Folder("x=y"));
  Add("later=" + Folder("later=soon"));
  EXPECT_THAT(Names(), ElementsAre("x=y", "later"));
}

TEST_F(RootsCommandTest, RemovedRootIsGoneAndAnUnknownOneIsNamed) {
  ASSERT_OK(daemon_.Start());
  EXPECT_THAT(Run({"roots"}).out, ElementsAre(HasSubstr("kiln roots add")));
  EXPECT_THAT(RunJson({"roots"}, 0), IsEmpty());
  Add("a=" + Folder("a"));
  Add("b=" + Folder("b"));
  EXPECT_EQ(Run({"roots", "remove", "a"}).exit_code, 0);
  EXPECT_THAT(Names(), ElementsAre("b"));
  const CommandResult result = Run({"roots", "remove", "a"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("'a'"));
}

TEST_F(RootsCommandTest, RootsOutliveTheDaemon) {
  ASSERT_OK(daemon_.Start());
  Add("a=" + Folder("a"));
  Add("b=" + Folder("b"), {"--before", "a"});
  ASSERT_OK(daemon_.Stop());
  ASSERT_OK(daemon_.Start());
  EXPECT_THAT(Names(), ElementsAre("b", "a"));
}

TEST_F(RootsCommandTest, WrongArgumentsExitWithTwo) {
  ASSERT_OK(daemon_.Start());
  EXPECT_EQ(Run({"roots", "add"}).exit_code, 2);
  EXPECT_EQ(Run({"roots", "add", "engine="}).exit_code, 2);
  EXPECT_EQ(Run({"roots", "add", "/"}).exit_code, 2);
  EXPECT_EQ(Run({"roots", "add", "..=" + Folder("a")}).exit_code, 2);
  EXPECT_EQ(Run({"roots", "forget", "a"}).exit_code, 2);
  // Made valid it would be another folder.
  const CommandResult result = Run({"roots", "add", "a=" + Folder("\xff")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("UTF-8"));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(RootsCommandTest, StatusCountsTheRoots) {
  ASSERT_OK(daemon_.Start());
  Add("a=" + Folder("a"));
  const auto status = RunJson({"status"}, 0);
  EXPECT_EQ(status[0]["search_roots"], 1);
  EXPECT_EQ(status[0]["sealed"], false);
  const std::string text = ::testing::PrintToString(Run({"status"}).out);
  EXPECT_THAT(text, AllOf(HasSubstr("roots     1"),
                          Not(HasSubstr("compiles nothing"))));
}

class FixedRootsCommandTest : public RootsCommandTest {
 protected:
  FixedRootsCommandTest()
      : RootsCommandTest({{"--root", "engine=/no/such/engine"}, {}}) {}
};

TEST_F(FixedRootsCommandTest, RootOfTheDaemonsCommandLineCannotBeRemoved) {
  ASSERT_OK(daemon_.Start());
  const auto roots = RunJson({"roots"}, 0);
  ASSERT_THAT(roots, SizeIs(1));
  EXPECT_EQ(roots[0]["fixed"], true);
  const CommandResult result = Run({"roots", "remove", "engine"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("engine"));
  EXPECT_THAT(Names(), ElementsAre("engine"));
}

class SealedRootsCommandTest : public RootsCommandTest {
 protected:
  SealedRootsCommandTest() : RootsCommandTest({{"--sealed"}, {}}) {}
};

TEST_F(SealedRootsCommandTest, SealedDaemonTakesNoRootsAndSaysSo) {
  ASSERT_OK(daemon_.Start());
  const CommandResult result = Run({"roots", "add", Folder("a")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("sealed"));
  EXPECT_EQ(RunJson({"status"}, 0)[0]["sealed"], true);
  EXPECT_THAT(::testing::PrintToString(Run({"status"}).out),
              HasSubstr("sealed: compiles nothing"));
  EXPECT_EQ(Run({"precompile"}).exit_code, 1);
  EXPECT_THAT(Run({"precompile"}).err, HasSubstr("sealed"));
  EXPECT_THAT(
      Run({"roots"}).out,
      ElementsAre(AllOf(HasSubstr("sealed"), Not(HasSubstr("roots add")))));
}

}  // namespace
}  // namespace kiln::testing
