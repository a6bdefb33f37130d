// SPDX-License-Identifier: Apache-2.0

// `kiln report` as scripts see it, with a real daemon and RADV's compiler.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ReportCommandTest : public CliTest {
 protected:
  std::vector<std::string> Arguments(std::vector<std::string> more) const {
    more.insert(more.begin(), {"report", program_file_});
    return more;
  }

  // The labels of the rows of a report, without the program's name.
  static std::vector<std::string> Labels(
      const std::vector<nlohmann::json>& objects) {
    std::vector<std::string> labels;
    for (const nlohmann::json& object : objects) {
      if (object.contains("label")) {
        labels.push_back(object["label"].get<std::string>().substr(5));
      }
    }
    return labels;
  }

  std::filesystem::path WriteManifest(const std::string& text) const {
    const auto path = folder_ / "tiny.manifest";
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(ReportCommandTest, EachBitIsComparedWithTheWholeShaderOfItsKind) {
  ASSERT_OK(daemon_.Start());
  const auto objects =
      RunJson(Arguments({"--each-bit", "--kind", "opaque"}), 0);
  EXPECT_THAT(Labels(objects),
              ElementsAre("opaque/none/alpha whole", "opaque/none/alpha none",
                          "opaque/none/alpha Red", "opaque/none/alpha Green",
                          "opaque/none/alpha Blue"));
  const nlohmann::json& whole = objects[0];
  const nlohmann::json& none = objects[1];
  EXPECT_EQ(whole["whole"], true);
  EXPECT_THAT(whole["ratio"], IsEmpty());
  EXPECT_EQ(none["target_spec"], "radv:vangogh");
  EXPECT_THAT(none["driver"], HasSubstr("radv"));
  EXPECT_LT(none["instructions"], whole["instructions"]);
  EXPECT_DOUBLE_EQ(
      none["ratio"]["instructions"].get<double>(),
      none["instructions"].get<double>() / whole["instructions"].get<double>());
  EXPECT_EQ(objects.back()["kinds"]["opaque"]["variants"], 4);
}

TEST_F(ReportCommandTest, ManifestBringsTheWholeShaderOfItsAxes) {
  ASSERT_OK(daemon_.Start());
  const auto manifest = WriteManifest(
      "blended/none/additive Green  # glow\n"
      "opaque/none/alpha Red\n");
  const auto objects =
      RunJson(Arguments({"--manifest", manifest, "--features", "Red,Blue"}), 0);
  EXPECT_THAT(
      Labels(objects),
      ElementsAre("opaque/none/alpha whole", "opaque/none/alpha none",
                  "opaque/none/alpha Red|Blue", "opaque/none/alpha Red",
                  "blended/none/alpha whole", "blended/none/alpha none",
                  "blended/none/alpha Red|Blue", "blended/none/additive whole",
                  "blended/none/additive Green"));
}

TEST_F(ReportCommandTest, WithoutASelectionWhatIsStoredIsShown) {
  ASSERT_OK(daemon_.Start());
  RunJson(RequestArguments("Green", true), 0);
  const auto objects = RunJson(Arguments({}), 0);
  EXPECT_THAT(Labels(objects),
              ElementsAre("opaque/none/alpha whole", "opaque/none/alpha none",
                          "opaque/none/alpha Green", "blended/none/alpha whole",
                          "blended/none/alpha none"));
}

TEST_F(ReportCommandTest, EveryOpenTargetIsReported) {
  ASSERT_OK(daemon_.Start());
  for (const char* target : {"radv:navi21", "lavapipe"}) {
    auto arguments = RequestArguments("Red", true);
    arguments.insert(arguments.end(), {"--target", target});
    RunJson(arguments, 0);
  }
  const auto objects = RunJson(Arguments({"--kind", "opaque"}), 0);
  std::vector<std::string> targets;
  for (const nlohmann::json& object : objects) {
    if (object.contains("kinds")) {
      targets.push_back(object["target_spec"]);
    }
  }
  EXPECT_THAT(targets, ElementsAre("lavapipe", "radv:navi21"));
  // lavapipe has no registers to count, and its text says so.
  EXPECT_FALSE(objects[0].contains("registers"));
  const CommandResult text =
      Run(Arguments({"--kind", "opaque", "--target", "lavapipe"}));
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(::testing::PrintToString(text.out), HasSubstr("n/a"));
}

TEST_F(ReportCommandTest, TextNamesTargetDeviceAndDriverAndCountsTheGains) {
  ASSERT_OK(daemon_.Start());
  const CommandResult result =
      Run(Arguments({"--features", "Red", "--kind", "opaque"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out.front(),
              AllOf(HasSubstr("radv:vangogh: "), HasSubstr("VANGOGH"),
                    HasSubstr("radv Mesa")));
  EXPECT_THAT(::testing::PrintToString(result.out),
              AllOf(HasSubstr("instructions  registers  spills"),
                    HasSubstr("of 2 opaque")));
  EXPECT_THAT(result.err, Not(HasSubstr("\x1b"))) << "no terminal, no bar";
}

TEST_F(ReportCommandTest, PageIsWrittenAndHasTheSameVariants) {
  ASSERT_OK(daemon_.Start());
  const auto path = folder_ / "report.html";
  const CommandResult result =
      Run(Arguments({"--features", "Red,Green", "--html", path}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::ifstream in(path);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(page,
              AllOf(HasSubstr("tiny: register report"), HasSubstr("Red|Green"),
                    HasSubstr("radv:vangogh"), HasSubstr("</html>")));
}

TEST_F(ReportCommandTest, VariantThatDoesNotCompileIsARowAndExitsWithOne) {
  ASSERT_OK(daemon_.Start());
  program_file_ = WriteProgramFile(BrokenProgram(), folder_.path());
  const auto path = folder_ / "report.html";
  const CommandResult result =
      Run(Arguments({"--kind", "opaque", "--html", path}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(::testing::PrintToString(result.out),
              HasSubstr("whole  FAILED: "));
  EXPECT_THAT(result.err, HasSubstr("no_such_variable"));
  EXPECT_TRUE(std::filesystem::exists(path));
  const auto objects = RunJson(Arguments({"--kind", "opaque"}), 1);
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(objects[0]["state"], "failed");
}

TEST_F(ReportCommandTest, TargetThatCannotBeOpenedLeavesTheOthers) {
  ASSERT_OK(daemon_.Start());
  const CommandResult result = Run(Arguments(
      {"--kind", "opaque", "--target", "gpu:63", "--target", "radv:vangogh"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("gpu:63"));
  EXPECT_THAT(::testing::PrintToString(result.out),
              HasSubstr("radv:vangogh: "));
}

TEST_F(ReportCommandTest, BadInputExitsWithTwoAndNoDaemonWithThree) {
  const auto manifest = WriteManifest("glass/none/alpha none\n");
  CommandResult result = Run(Arguments({"--manifest", manifest}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("tiny.manifest: manifest line 1"),
                    HasSubstr("no kind 'glass'; it has opaque, blended")));
  EXPECT_EQ(Run(Arguments({"--kind", "glass"})).exit_code, 2);
  EXPECT_EQ(Run(Arguments({"--features", "Mauve"})).exit_code, 2);
  EXPECT_EQ(Run(Arguments({"--target", "voodoo"})).exit_code, 2);
  result = Run(Arguments({"--html", folder_ / "none" / "report.html"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("is not a folder"));
  EXPECT_EQ(Run({"report", "no.program.toml"}).exit_code, 2);
  EXPECT_EQ(Run(Arguments({})).exit_code, 3);
}

// What a variant is for: in every kind of the scene a realistic one (not the
// empty one) has half the registers or twice the waves of its whole shader.
TEST_F(ReportCommandTest, SceneManifestGainsInEveryKindAndBackdrop) {
  ASSERT_OK(daemon_.Start());
  const std::string scene = KILN_SOURCE_DIR "/shaders/scene/";
  std::set<std::string> gained;
  for (const nlohmann::json& object :
       RunJson({"report", scene + "scene.program.toml", "--target",
                "radv:vangogh", "--manifest", scene + "scene.manifest"},
               0)) {
    if (object.contains("marks") && !object["marks"].empty() &&
        object["features"] != 0) {
      gained.insert(object["kind"].get<std::string>() + "/" +
                    object["backdrop"].get<std::string>());
    }
  }
  EXPECT_THAT(gained, ElementsAre("blended/none", "blended/sky", "depth/none",
                                  "opaque/none", "opaque/sky"));
}

TEST_F(ReportCommandTest, HelpHasExamples) {
  const CommandResult result = Run({"report", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(::testing::PrintToString(result.out), HasSubstr("Examples:"));
}

}  // namespace
}  // namespace kiln::testing
