// SPDX-License-Identifier: Apache-2.0

// `kiln why` as scripts see it, with a real daemon and RADV's compiler. How the
// nearest entry is found is tested in tests/daemon/explain_test.cc, what a
// difference is in tests/proto/program_diff_test.cc.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class WhyCommandTest : public CliTest {
 protected:
  std::vector<std::string> WhyArguments(const std::string& features) const {
    return {"why", program_file_, "--kind", "opaque", "--features", features};
  }

  // Compiles the variant. Returns: its key.
  std::string Compile(const std::string& features,
                      std::vector<std::string> more = {}) {
    auto arguments = RequestArguments(features, true);
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto objects = RunJson(std::move(arguments), 0);
    return objects.empty() ? "" : objects.front()["key"].get<std::string>();
  }

  void Edit(const std::string& name, const std::string& from,
            const std::string& to) const {
    const std::filesystem::path path = folder_ / name;
    std::ifstream in(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    in.close();
    const size_t at = text.find(from);
    ASSERT_NE(at, text.npos) << from;
    text.replace(at, from.size(), to);
    std::ofstream(path, std::ios::binary) << text;
  }

  // The one object that `kiln why` prints.
  nlohmann::json Why(std::vector<std::string> arguments) {
    const auto objects = RunJson(std::move(arguments), 0);
    return objects.size() == 1 ? objects.front() : nlohmann::json::object();
  }
};

TEST_F(WhyCommandTest, EditedFileIsNamedBeforeAndAfterItIsCompiled) {
  ASSERT_OK(daemon_.Start());
  const std::string old = Compile("Red");
  Edit("tiny.frag", "sin(", "tan(");
  const nlohmann::json before = Why(WhyArguments("Red"));
  EXPECT_EQ(before["state"], "never asked for");
  EXPECT_EQ(before["nearest"]["key"], old);
  ASSERT_THAT(before["differences"], SizeIs(1)) << before;
  EXPECT_EQ(before["differences"][0]["kind"], "file");
  EXPECT_EQ(before["differences"][0]["name"], "tiny.frag");
  EXPECT_THAT(before["differences"][0]["stored"].get<std::string>(),
              AllOf(HasSubstr("line 7: "), HasSubstr("sin(")));
  EXPECT_THAT(before["differences"][0]["asked"].get<std::string>(),
              HasSubstr("tan("));
  const std::string now = Compile("Red");
  const nlohmann::json after = Why({"why", now.substr(0, 12)});
  EXPECT_EQ(after["key"], now);
  EXPECT_EQ(after["state"], "stored");
  EXPECT_EQ(after["differences"], before["differences"]);
}

TEST_F(WhyCommandTest, EachPartOfAKeyIsNamed) {
  ASSERT_OK(daemon_.Start());
  Compile("Red");
  const nlohmann::json feature = Why(WhyArguments("Red,Green"));
  ASSERT_THAT(feature["differences"], SizeIs(1)) << feature;
  EXPECT_EQ(feature["differences"][0],
            (nlohmann::json{{"kind", "key"},
                            {"name", "feature Green"},
                            {"stored", "off"},
                            {"asked", "on"}}));
  auto arguments = WhyArguments("Red");
  arguments.insert(arguments.end(), {"--override", "GAIN=0.5"});
  const nlohmann::json override = Why(arguments);
  ASSERT_THAT(override["differences"], SizeIs(1)) << override;
  EXPECT_EQ(override["differences"][0],
            (nlohmann::json{{"kind", "key"},
                            {"name", "override GAIN"},
                            {"stored", "0"},
                            {"asked", "0.5"}}));
}

TEST_F(WhyCommandTest, DefineAndPipelineOfTheProgramFileAreNamed) {
  ASSERT_OK(daemon_.Start());
  Compile("Red");
  Edit("tiny.program.toml", "r8g8b8a8_unorm", "r16g16b16a16_sfloat");
  Edit("tiny.program.toml", "[features]",
       "[defines]\nQUALITY = \"3\"\n\n[features]");
  const nlohmann::json answer = Why(WhyArguments("Red"));
  ASSERT_THAT(answer["differences"], SizeIs(2)) << answer;
  EXPECT_EQ(answer["differences"][0]["kind"], "define");
  EXPECT_EQ(answer["differences"][0]["name"], "QUALITY");
  EXPECT_EQ(answer["differences"][0]["asked"], "\"3\"");
  EXPECT_EQ(answer["differences"][1]["kind"], "pipeline");
  EXPECT_EQ(answer["differences"][1]["name"], "color format 0");
}

TEST_F(WhyCommandTest, OtherDeviceIsNamedByItsFields) {
  ASSERT_OK(daemon_.Start());
  const std::string key = Compile("Red");
  const nlohmann::json answer = Why({"why", key, "--target", "radv:navi21"});
  EXPECT_EQ(answer["state"], "never asked for");
  EXPECT_EQ(answer["nearest"]["key"], key);
  std::vector<std::string> names;
  for (const nlohmann::json& difference : answer["differences"]) {
    EXPECT_EQ(difference["kind"], "driver") << difference;
    names.push_back(difference["name"]);
  }
  EXPECT_THAT(names, ::testing::Contains("device_name"));
}

TEST_F(WhyCommandTest, FailedKeySaysWhyItFailed) {
  ASSERT_OK(daemon_.Start());
  Compile("Red");
  Edit("tiny.frag", "sin(", "no_such_function(");
  const auto failed = RunJson(RequestArguments("Red", true), 1);
  ASSERT_THAT(failed, SizeIs(1));
  const nlohmann::json answer =
      Why({"why", failed[0]["key"].get<std::string>()});
  EXPECT_EQ(answer["state"], "failed");
  EXPECT_NE(answer["message"], "");
  EXPECT_EQ(answer["differences"][0]["name"], "tiny.frag");
}

TEST_F(WhyCommandTest, TextHasALineForTheKeyTheEntryAndEachDifference) {
  ASSERT_OK(daemon_.Start());
  Compile("Red");
  const CommandResult result = Run(WhyArguments("none"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  ASSERT_THAT(result.out, SizeIs(3));
  EXPECT_THAT(result.out[0],
              AllOf(HasSubstr("tiny opaque/none/alpha none  key "),
                    HasSubstr(" (radv:vangogh)  (never asked for)")));
  EXPECT_THAT(result.out[1], HasSubstr("nearest stored entry: key "));
  EXPECT_EQ(result.out[2], "  key  feature Red  on -> off");
}

TEST_F(WhyCommandTest, ProgramFileThatIsNotThereIsSaidToBeMissing) {
  for (const char* file : {"nosuch.program.toml", "no/such.program.toml"}) {
    const CommandResult result = Run({"why", file});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, AllOf(HasSubstr(file), HasSubstr("no such file"),
                                  Not(HasSubstr("--kind"))));
  }
  EXPECT_THAT(Run({"why", program_file_}).err, HasSubstr("--kind"));
}

TEST_F(WhyCommandTest, UnknownKeyIsAFailureAndBadWordsAreUsage) {
  ASSERT_OK(daemon_.Start());
  const auto unknown = RunJson({"why", "0123456789"}, 1);
  ASSERT_THAT(unknown, SizeIs(1));
  EXPECT_THAT(unknown[0]["error"].get<std::string>(), HasSubstr("0123456789"));
  EXPECT_EQ(Run({"why", "xyz"}).exit_code, 2);
  EXPECT_EQ(Run({"why", "abc"}).exit_code, 2);
  EXPECT_EQ(Run({"why", "abcd", "--kind", "opaque"}).exit_code, 2);
  EXPECT_EQ(Run({"why", program_file_}).exit_code, 2);
  EXPECT_EQ(Run({"why", "abcd", "--target", "nowhere"}).exit_code, 2);
}

TEST_F(WhyCommandTest, FirstVariantOfAProgramHasNothingToCompareWith) {
  ASSERT_OK(daemon_.Start());
  const nlohmann::json answer = Why(WhyArguments("Red"));
  EXPECT_TRUE(answer["nearest"].is_null());
  EXPECT_THAT(answer["differences"], SizeIs(0));
  EXPECT_EQ(answer["label"], "tiny opaque/none/alpha Red");
}

}  // namespace
}  // namespace kiln::testing
