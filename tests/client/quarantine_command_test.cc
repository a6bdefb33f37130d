// SPDX-License-Identifier: Apache-2.0

// Failures that outlive the daemon, and `kiln quarantine`.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli_fixture.h"
#include "tests/client/tiny_program.h"
#include "tests/support/status_matchers.h"

namespace kiln::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class QuarantineCommandTest : public CliTest {
 protected:
  void SetUp() override {
    ASSERT_OK(daemon_.Start());
    program_file_ = WriteProgramFile(BrokenProgram(), folder_.path());
  }

  // Asks for the broken variant. Returns: what the command printed.
  std::string Ask(const std::string& features = "none") {
    const CommandResult result = Run(RequestArguments(features, true));
    EXPECT_EQ(result.exit_code, 1) << result.err;
    return ::testing::PrintToString(result.out) + result.err;
  }

  void Restart() {
    ASSERT_OK_AND_ASSIGN(const int exit_code, daemon_.Stop());
    EXPECT_EQ(exit_code, 0);
    ASSERT_OK(daemon_.Start());
  }
};

TEST_F(QuarantineCommandTest, FailureIsAnsweredWithoutACompileAfterARestart) {
  const std::string before = Ask();
  Restart();
  EXPECT_EQ(Ask(), before);
  EXPECT_EQ(daemon_.CounterValue("failures_remembered"), 1u);
  EXPECT_EQ(daemon_.CounterValue("workers_started"), 1u);  // opened the device
  EXPECT_EQ(daemon_.CounterValue("front_end_runs"), 0u);
}

TEST_F(QuarantineCommandTest, WhatIsLiftedIsCompiledOnceMore) {
  EXPECT_THAT(RunJson({"quarantine", "list"}, 0), IsEmpty());
  Ask();
  const std::vector<json> listed = RunJson({"quarantine", "list"}, 0);
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0]["cause"], "refused");
  EXPECT_EQ(listed[0]["code"], "INVALID_ARGUMENT");
  EXPECT_THAT(listed[0]["label"].get<std::string>(), HasSubstr("opaque"));
  EXPECT_THAT(listed[0]["diagnostics"].get<std::string>(), HasSubstr("error"));
  EXPECT_THAT(RunJson({"quarantine", "list", "--crashed"}, 0), IsEmpty());
  const std::string key = listed[0]["key_id"].get<std::string>().substr(0, 8);
  const uint64_t runs = daemon_.CounterValue("front_end_runs");
  EXPECT_EQ(RunJson({"quarantine", "lift", key}, 0)[0]["lifted"], 1);
  EXPECT_THAT(RunJson({"quarantine", "list"}, 0), IsEmpty());
  Ask();
  EXPECT_EQ(daemon_.CounterValue("failures_remembered"), 0u);
  EXPECT_THAT(RunJson({"quarantine", "list"}, 0), SizeIs(1));
  EXPECT_GE(daemon_.CounterValue("front_end_runs"), runs);
}

TEST_F(QuarantineCommandTest, AllAreLiftedAtOnceAndAWrongKeyIsSaid) {
  Ask("Red");
  Ask("Green");
  EXPECT_EQ(Run({"quarantine", "lift"}).exit_code, 2);
  EXPECT_EQ(Run({"quarantine", "lift", "abc"}).exit_code, 2);
  const CommandResult none = Run({"quarantine", "lift", "00000000"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("no key that failed starts with '00000000'"));
  EXPECT_EQ(RunJson({"quarantine", "lift", "--all"}, 0)[0]["lifted"], 2);
  EXPECT_EQ(RunJson({"quarantine", "lift", "--all"}, 0)[0]["lifted"], 0);
}

}  // namespace
}  // namespace kiln::testing
