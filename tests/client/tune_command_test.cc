// SPDX-License-Identifier: Apache-2.0

// `kiln tune` and `kiln request --tuned` on lavapipe, with the example program
// and little work. Which size wins is chance here; what is done with it is not.

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kBlur[] =
    KILN_SOURCE_DIR "/shaders/examples/blur/blur.program.toml";

class TuneCommandTest : public CliTest {
 protected:
  static std::vector<std::string> TuneArguments(
      const std::string& widths, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "tune",     kBlur,    "--size", "WIDTH=" + widths, "--size",
        "HEIGHT=4", "--work", "64x32",  "--rounds",        "3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  static std::vector<std::string> TunedRequest(
      std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "request", kBlur,      "--kind",   "compute", "--features",
        "none",    "--target", "lavapipe", "--tuned", "--wait"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(TuneCommandTest, MeasuredSizesAreSortedAndTheBestIsNamedAgain) {
  const auto objects = RunJson(TuneArguments("8,16,32", {"--dry-run"}), 0);
  ASSERT_THAT(objects, SizeIs(4));
  EXPECT_EQ(objects[0]["relative"], 1.0);
  std::vector<double> times;
  json best;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(objects[i]["overrides"]["HEIGHT"], 4);
    EXPECT_EQ(objects[i]["dispatches"], 3);
    times.push_back(objects[i]["median_us"]);
    if (objects[i]["best"].get<bool>()) {
      EXPECT_TRUE(best.is_null()) << "two are the best";
      best = objects[i];
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(times));
  const json& summary = objects[3];
  EXPECT_EQ(summary["overrides"], best["overrides"]);
  EXPECT_EQ(summary["median_us"], best["median_us"]);
  EXPECT_EQ(summary["work"], json({64, 32, 1}));
  EXPECT_EQ(summary["measured"], 3);
  EXPECT_EQ(summary["wrote_output"], true);
  EXPECT_EQ(summary["outputs_agree"], true);
  EXPECT_EQ(summary["remembered"], false);
}

TEST_F(TuneCommandTest, TableHasARowForEverySize) {
  const CommandResult result = Run(TuneArguments("8,16", {"--dry-run"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  ASSERT_THAT(result.out, SizeIs(5));
  EXPECT_THAT(result.out[0], HasSubstr("64x32x1 invocations, 2 sizes"));
  EXPECT_THAT(result.out[1], AllOf(HasSubstr("WIDTH"), HasSubstr("HEIGHT"),
                                   HasSubstr("median us")));
  EXPECT_THAT(result.out, Contains(HasSubstr("  best")).Times(1));
  EXPECT_THAT(result.out[4], HasSubstr("HEIGHT=4"));
}

TEST_F(TuneCommandTest, BestSizeIsRememberedForTheTargetAndOverARestart) {
  ASSERT_OK(daemon_.Start());
  const auto measured = RunJson(TuneArguments("8,16,32"), 0);
  ASSERT_THAT(measured, SizeIs(4));
  EXPECT_EQ(measured[3]["remembered"], true);
  ASSERT_OK(daemon_.Stop());
  ASSERT_OK(daemon_.Start());
  const auto shown = RunJson({"tune", kBlur, "--show"}, 0);
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_EQ(shown[0]["overrides"], measured[3]["overrides"]);
  EXPECT_EQ(shown[0]["target"], measured[3]["target"]);
  EXPECT_EQ(shown[0]["measured"], 3);
  EXPECT_NEAR(shown[0]["median_us"].get<double>(),
              measured[3]["median_us"].get<double>(), 0.001);
  // Another target was not measured.
  const CommandResult other =
      Run({"tune", kBlur, "--show", "--target", "radv:vangogh"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, HasSubstr("not tuned"));
}

TEST_F(TuneCommandTest, SizeAtItsDefaultIsShownThoughItIsNotStored) {
  ASSERT_OK(daemon_.Start());
  RunJson(TuneArguments("8"), 0);
  EXPECT_EQ(RunJson({"tune", kBlur, "--show"}, 0)[0]["overrides"],
            json({{"WIDTH", 8}, {"HEIGHT", 4}}));
}

TEST_F(TuneCommandTest, TunedRequestTakesWhatTheCommandLineDoesNotName) {
  ASSERT_OK(daemon_.Start());
  RunJson(TuneArguments("16"), 0);
  const auto tuned = RunJson(TunedRequest(), 0);
  ASSERT_THAT(tuned, SizeIs(1));
  EXPECT_EQ(tuned[0]["state"], "ready");
  EXPECT_EQ(tuned[0]["overrides"], json({{"WIDTH", 16}, {"HEIGHT", 4}}));
  EXPECT_THAT(tuned[0]["label"], HasSubstr("HEIGHT=4|WIDTH=16"));
  const auto named = RunJson(TunedRequest({"--override", "WIDTH=32"}), 0);
  EXPECT_EQ(named[0]["overrides"], json({{"WIDTH", 32}, {"HEIGHT", 4}}));
  // Named with its default, which a key leaves out.
  const auto usual = RunJson(TunedRequest({"--override", "WIDTH=8"}), 0);
  EXPECT_EQ(usual[0]["overrides"], json({{"HEIGHT", 4}}));
}

TEST_F(TuneCommandTest, TunedRequestOfWhatWasNotTunedSaysHowToTune) {
  ASSERT_OK(daemon_.Start());
  const CommandResult result = Run(TunedRequest());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("lavapipe"), HasSubstr("kiln tune")));
  EXPECT_EQ(Run({"tune", kBlur, "--show"}).exit_code, 1);
}

TEST_F(TuneCommandTest, WithoutADaemonTheResultIsPrintedAndTheExitCodeIsThree) {
  const CommandResult result = Run(TuneArguments("8,16"));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.out, Contains(HasSubstr("  best")));
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("not remembered"), HasSubstr(daemon_.socket())));
  EXPECT_EQ(Run(TuneArguments("8", {"--dry-run"})).exit_code, 0);
  EXPECT_EQ(Run({"tune", kBlur, "--show"}).exit_code, 3);
}

TEST_F(TuneCommandTest, SizeOverTheDevicesLimitExitsWithTwoAndNamesIt) {
  const CommandResult result = Run(TuneArguments("8,1048576", {"--dry-run"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("override WIDTH=1048576: the device's "
                                    "limit is"));
  EXPECT_TRUE(result.out.empty());
}

TEST_F(TuneCommandTest, TargetsAndProgramsThatCannotBeTunedExitWithTwo) {
  CommandResult result = Run(TuneArguments("8", {"--target", "radv:vangogh"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("compiles but cannot run"));
  result = Run({"tune", program_file_, "--dry-run"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("tiny is a graphics program"));
  result = Run({"tune", kBlur, "--size", "DEPTH=8", "--dry-run"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("'DEPTH'; it has WIDTH, HEIGHT"));
  result = Run({"tune", kBlur, "--size", "WIDTH=8,wide", "--dry-run"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("'wide' is not a number"));
  EXPECT_EQ(Run({"tune", kBlur, "--size", "WIDTH"}).exit_code, 2);
  EXPECT_EQ(Run({"tune", kBlur, "--work", "8x8x8x8"}).exit_code, 2);
  EXPECT_EQ(Run({"tune", kBlur, "--work", "0x8"}).exit_code, 2);
}

TEST_F(TuneCommandTest, HelpHasExamples) {
  const CommandResult result = Run({"tune", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(::testing::PrintToString(result.out), HasSubstr("Examples:"));
}

}  // namespace
}  // namespace kiln::testing
