// SPDX-License-Identifier: Apache-2.0

// The `kiln` command as scripts see it: exit codes, JSON, files. What it does
// on a terminal is in cli_terminal_test.cc.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/status_matchers.h"

namespace kiln::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(CliTest, HelpOfEverySubcommandHasAnExampleAndExitCodesAreDocumented) {
  EXPECT_THAT(Run({"--help"}).exit_code, 0);
  const CommandResult help = Run({"--help"});
  EXPECT_THAT(::testing::PrintToString(help.out), HasSubstr("Exit codes"));
  const std::vector<std::vector<std::string>> commands = {
      {"status"},
      {"request"},
      {"list"},
      {"get"},
      {"warm"},
      {"roots"},
      {"roots", "add"},
      {"roots", "remove"},
      {"precompile"},
      {"compile"},
      {"surface"},
      {"surface", "add"},
      {"surface", "list"},
      {"surface", "remove"}};
  for (std::vector<std::string> command : commands) {
    command.emplace_back("--help");
    const CommandResult result = Run(command);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(::testing::PrintToString(result.out), HasSubstr("Examples:"));
  }
}

TEST_F(CliTest, CommandWithoutADaemonExitsWithThreeAndNamesTheSocket) {
  const CommandResult result = Run({"status"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(result.out.empty());
  EXPECT_THAT(result.err, AllOf(StartsWith("kiln: no kilnd at"),
                                HasSubstr(daemon_.socket())));
  const auto objects = RunJson({"status"}, 3);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_THAT(objects[0]["error"], HasSubstr(daemon_.socket()));
}

TEST_F(CliTest, UnknownArgumentExitsWithTwo) {
  const CommandResult result = Run({"status", "--colour"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(StartsWith("kiln: "), HasSubstr("--colour")));
  EXPECT_EQ(Run({"explode"}).exit_code, 2);
  EXPECT_EQ(RunJson({"request"}, 2).size(), 1u);
}

TEST_F(CliTest, SocketPathOverTheLimitExitsWithTwo) {
  const CommandResult result =
      Run({"status", "--socket", "/tmp/" + std::string(110, 'x')});
  EXPECT_EQ(result.exit_code, 2);
}

TEST_F(CliTest, UnknownNamesAreAnsweredWithTheNamesThatExist) {
  CommandResult result =
      Run({"request", program_file_, "--kind", "glass", "--features", "Red"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("no kind 'glass'; it has opaque, blended"));
  result = Run(RequestArguments("Red,Mauve", false));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              HasSubstr("no feature 'Mauve'; it has Red, Green, Blue"));
  result = Run({"request", program_file_, "--kind", "opaque", "--features",
                "Red", "--override", "GLOW=1"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("no override 'GLOW'; it has GAIN"));
  result = Run({"request", program_file_, "--kind", "opaque", "--features",
                "Red", "--override", "GAIN=much"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("'much'"));
  result = Run({"warm", program_file_, "--all-of", "Red", "--kind", "glass"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("opaque, blended"));
}

TEST_F(CliTest, MissingProgramFileAndBadTargetExitWithTwo) {
  CommandResult result = Run(
      {"request", "no.program.toml", "--kind", "opaque", "--features", "none"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("no.program.toml"));
  result = Run({"request", program_file_, "--kind", "opaque", "--features",
                "none", "--target", "voodoo"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("voodoo"));
}

TEST_F(CliTest, RequestWithWaitPrintsTheVariantAndItsCosts) {
  ASSERT_OK(daemon_.Start());
  const auto objects = RunJson(RequestArguments("Red,Blue", true), 0);
  ASSERT_EQ(objects.size(), 1u);
  const nlohmann::json& variant = objects[0];
  EXPECT_EQ(variant["state"], "ready");
  EXPECT_EQ(variant["origin"], "compiled");
  EXPECT_EQ(variant["label"], "tiny opaque/none/alpha Red|Blue");
  EXPECT_EQ(variant["key"].get<std::string>().size(), 64u);
  EXPECT_EQ(variant["target"].get<std::string>().size(), 64u);
  EXPECT_GT(variant["compile_ms"], 0.0);
  EXPECT_GT(variant["blob_bytes"], 32);
  EXPECT_GT(variant["registers"], 0);
  EXPECT_GT(variant["waves"], 0);
  EXPECT_EQ(variant["proof"], "proven");
}

TEST_F(CliTest, RequestWithoutWaitSaysPendingAndTheDaemonGoesOn) {
  ASSERT_OK(daemon_.Start());
  const auto first = RunJson(RequestArguments("Red", false), 0);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0]["state"], "pending");
  EXPECT_TRUE(Eventually(
      [&] { return daemon_.CounterValue("compiles_finished") == 1; }));
  const auto second = RunJson(RequestArguments("Red", true), 0);
  EXPECT_EQ(second[0]["state"], "ready");
  EXPECT_EQ(second[0]["origin"], "store");
  EXPECT_EQ(second[0]["key"], first[0]["key"]);
}

TEST_F(CliTest, VariantThatDoesNotCompileExitsWithOneAndItsDiagnostics) {
  ASSERT_OK(daemon_.Start());
  program_file_ = WriteProgramFile(BrokenProgram(), folder_.path());
  const auto objects = RunJson(RequestArguments("Red", true), 1);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0]["state"], "failed");
  EXPECT_FALSE(objects[0]["error"].get<std::string>().empty());
  EXPECT_THAT(objects[0]["diagnostics"], HasSubstr("no_such_variable"));
  EXPECT_THAT(Run(RequestArguments("Red", true)).err,
              HasSubstr("no_such_variable"));
}

TEST_F(CliTest, OverridesArePartOfTheKey) {
  ASSERT_OK(daemon_.Start());
  auto arguments = RequestArguments("Red", true);
  arguments.insert(arguments.end(), {"--override", "GAIN=0.5"});
  const auto objects = RunJson(arguments, 0);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0]["overrides"]["GAIN"], 0.5);
}

// The printed key is the one the store has, also where an override that no
// code reads was left out of it.
TEST_F(CliTest, VariantIsShownAsItIsStored) {
  ASSERT_OK(daemon_.Start());
  const auto file = folder_ / "unread.program.toml";
  std::ofstream(file) << R"(format = 1
name = "unread"
sources = ["unread.comp"]
[stages]
compute = "unread.comp"
[[override]]
name = "NEVER_READ"
type = "int"
default = -7
)";
  std::ofstream(folder_ / "unread.comp") << R"(#version 460
layout(local_size_x = 1) in;
layout(constant_id = 0) const int NEVER_READ = -7;
void main() {}
)";
  const auto result =
      Run({"request", file.string(), "--kind", "compute", "--features", "none",
           "--override", "NEVER_READ=9", "--wait"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string out = ::testing::PrintToString(result.out);
  const auto listed = RunJson({"list"}, 0);
  ASSERT_FALSE(listed.empty());
  EXPECT_THAT(out,
              HasSubstr(listed[0]["key"].get<std::string>().substr(0, 12)));
  EXPECT_THAT(out, HasSubstr("no code reads"));
}

TEST_F(CliTest, TargetThatCannotBeOpenedExitsWithOne) {
  ASSERT_OK(daemon_.Start());
  auto arguments = RequestArguments("Red", true);
  arguments.insert(arguments.end(), {"--target", "gpu:63"});
  EXPECT_THAT(RunJson(arguments, 1)[0]["error"], HasSubstr("gpu:63"));
}

TEST_F(CliTest, ListShowsWhatWasStored) {
  ASSERT_OK(daemon_.Start());
  EXPECT_TRUE(RunJson({"list"}, 0).empty());
  const auto requested = RunJson(RequestArguments("Green", true), 0);
  const auto listed = RunJson({"list"}, 0);
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["key"], requested[0]["key"]);
  EXPECT_EQ(listed[0]["label"], requested[0]["label"]);
  EXPECT_EQ(listed[0]["blob_bytes"], requested[0]["blob_bytes"]);
}

TEST_F(CliTest, GetWritesBlobModulesAndDescription) {
  ASSERT_OK(daemon_.Start());
  const auto requested = RunJson(RequestArguments("Green", true), 0);
  const std::string key = requested[0]["key"];
  const std::filesystem::path out = folder_ / "out" / "variant";
  RunJson({"get", key.substr(0, 8), "--out", out}, 0);
  EXPECT_EQ(std::filesystem::file_size(out / "pipeline_cache.bin"),
            requested[0]["blob_bytes"]);
  EXPECT_GT(std::filesystem::file_size(out / "vertex.spv"), 20u);
  EXPECT_GT(std::filesystem::file_size(out / "fragment.spv"), 20u);
  std::ifstream file(out / "artifact.json");
  const auto description = nlohmann::json::parse(file, nullptr, false);
  ASSERT_TRUE(description.is_object());
  EXPECT_EQ(description["key"], key);
  EXPECT_EQ(description["label"], "tiny opaque/none/alpha Green");
  EXPECT_FALSE(description["constants"].empty());
  EXPECT_FALSE(description["statistics"].empty());
}

TEST_F(CliTest, GetOfAKeyNobodyHasExitsWithOneAndOfNonsenseWithTwo) {
  ASSERT_OK(daemon_.Start());
  const CommandResult result = Run({"get", "abcd1234", "--out", folder_ / "o"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("abcd1234"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "o"));
  EXPECT_EQ(Run({"get", "xyz", "--out", folder_ / "o"}).exit_code, 2);
  EXPECT_EQ(Run({"get", "abcd", "--out", folder_ / "o", "--target", "radv"})
                .exit_code,
            2);
}

TEST_F(CliTest, WarmMakesEverySubsetReadyAndTheNextOneFindsThemWarm) {
  ASSERT_OK(daemon_.Start());
  // Four subsets, for opaque and blended; all three bits are never asked for.
  auto objects = RunJson({"warm", program_file_, "--all-of", "Red,Green"}, 0);
  ASSERT_EQ(objects.size(), 9u);
  EXPECT_EQ(objects.back()["total"], 8);
  EXPECT_EQ(objects.back()["compiled"], 8);
  EXPECT_EQ(objects.back()["failed"], 0);
  objects = RunJson(
      {"warm", program_file_, "--all-of", "Red,Green", "--kind", "opaque"}, 0);
  EXPECT_EQ(objects.back()["total"], 4);
  EXPECT_EQ(objects.back()["warm"], 4);
  const CommandResult text =
      Run({"warm", program_file_, "--all-of", "Red,Green"});
  EXPECT_EQ(text.out.size(), 9u) << "one line a variant and a summary";
  EXPECT_THAT(text.out.back(), HasSubstr("8 warm, 0 compiled, 0 failed"));
  EXPECT_THAT(text.err, Not(HasSubstr("\x1b"))) << "no terminal, no bar";
}

TEST_F(CliTest, WarmReportsFailuresAndGoesOn) {
  ASSERT_OK(daemon_.Start());
  program_file_ = WriteProgramFile(BrokenProgram(), folder_.path());
  const auto objects = RunJson(
      {"warm", program_file_, "--all-of", "Red", "--kind", "opaque"}, 1);
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(objects.back()["failed"], 2);
}

TEST_F(CliTest, StatusPrintsCountersAndWorkers) {
  ASSERT_OK(daemon_.Start());
  RunJson(RequestArguments("Red", true), 0);
  const auto objects = RunJson({"status"}, 0);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0]["pid"], daemon_.pid());
  EXPECT_EQ(objects[0]["socket"], daemon_.socket());
  EXPECT_EQ(objects[0]["counters"]["compiles_finished"], 1);
  EXPECT_FALSE(objects[0]["workers"].empty());
  EXPECT_THAT(::testing::PrintToString(Run({"status"}).out),
              AllOf(HasSubstr("kilnd "), HasSubstr("compiles_finished = 1")));
}

}  // namespace
}  // namespace kiln::testing
