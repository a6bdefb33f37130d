// SPDX-License-Identifier: Apache-2.0

// The sandbox, seen from outside: real drivers compile in it, `kiln status`
// says what holds, and kilnd refuses what lacks a layer when it is told to.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "client/demo/child.h"
#include "daemon/exit_codes.h"
#include "kiln/v1/kiln.pb.h"
#include "tests/daemon/sandbox_runs.h"
#include "tests/support/daemon_process.h"
#include "tests/support/eventually.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"
#include "tests/support/stream_client.h"
#include "tests/support/targets.h"
#include "tests/support/temp_dir.h"

namespace kiln::daemon {
namespace {

using ::testing::AllOf;
using testing::DaemonProcess;
using testing::DaemonProcessOptions;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::StatusIs;

constexpr const char* kLayers[] = {"privileges", "files", "system_calls",
                                   "memory", "limits"};

// Why this machine cannot have a full sandbox; empty: it can.
std::string WhyNotInFull() {
  for (const char* layer : {"privileges", "files", "system_calls"}) {
    if (std::string why = WhyLacking(layer); !why.empty()) {
      return why;
    }
  }
  return "";
}

// Asks for one variant. Returns: its state, or why there is none.
absl::StatusOr<v1::State> Compile(const DaemonProcess& daemon,
                                  const char* target) {
  testing::StreamClient client(daemon.socket());
  if (absl::Status status = client.Attach(target); !status.ok()) {
    return status;
  }
  auto program = daemon.Connect()->RegisterProgram(testing::SmallProgram());
  if (!program.ok()) {
    return program.status();
  }
  auto completion = client.AskOne(testing::MakeRequest(*program, "opaque", 1));
  if (!completion.ok()) {
    return completion.status();
  }
  return completion->state();
}

std::string RunStatus(const DaemonProcess& daemon, bool as_json) {
  std::vector<std::string> arguments = {"status", "--socket", daemon.socket()};
  if (as_json) {
    arguments.emplace_back("--json");
  }
  auto child = demo::Child::Start(KILN_BINARY_DIR "/kiln", {arguments, {}, ""});
  EXPECT_OK(child);
  (*child)->WaitForLine([](const std::string&) { return false; },
                        testing::kLongEnough);
  std::string text;
  for (const std::string& line : (*child)->lines()) {
    text += line + "\n";
  }
  return text;
}

// A worker that the kernel seems to refuse `layer`: a script that takes it away
// before it becomes kiln-worker.
class CrippledWorker {
 public:
  explicit CrippledWorker(const std::string& layer) {
    std::ofstream(path()) << "#!/bin/sh\nexec " << kSandboxProbe << " without "
                          << layer
                          << " " KILN_BINARY_DIR "/kiln-worker \"$@\"\n";
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }

  std::string path() const { return (folder_.path() / "worker").string(); }

 private:
  testing::TempDir folder_;
};

class SandboxedTargetTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SandboxedTargetTest, CompilesWithEveryLayerOn) {
  if (const std::string why = WhyNotInFull(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  DaemonProcess daemon({{"--sandbox", "require"}, {}});
  ASSERT_OK(daemon.Start());
  ASSERT_OK_AND_ASSIGN(const v1::State state, Compile(daemon, GetParam()));
  EXPECT_EQ(state, v1::STATE_READY);
  EXPECT_EQ(daemon.CounterValue("workers_lacking_a_layer"), 0u);
  EXPECT_EQ(daemon.CounterValue("workers_crashed"), 0u);
  EXPECT_THAT(daemon.Log(), HasSubstr("layers=\"privileges, files, "
                                      "system_calls, memory, limits\""));
}

INSTANTIATE_TEST_SUITE_P(Drivers, SandboxedTargetTest,
                         ::testing::Values(testing::kVanGogh,
                                           testing::kLavapipe),
                         [](const auto& test) {
                           return std::string(test.param) == testing::kLavapipe
                                      ? "Lavapipe"
                                      : "Radv";
                         });

TEST(SandboxStatusTest, EachLayerIsInStatusWithWhatHoldsOrWhyNot) {
  DaemonProcess daemon;
  ASSERT_OK(daemon.Start());
  ASSERT_OK(Compile(daemon, testing::kVanGogh));
  const std::string text = RunStatus(daemon, /*as_json=*/false);
  const auto json = nlohmann::json::parse(RunStatus(daemon, /*as_json=*/true));
  ASSERT_FALSE(json["workers"].empty()) << json;
  const auto& sandbox = json["workers"][0]["sandbox"];
  ASSERT_EQ(sandbox.size(), std::size(kLayers)) << json;
  for (size_t i = 0; i < std::size(kLayers); ++i) {
    EXPECT_EQ(sandbox[i]["name"], kLayers[i]);
    EXPECT_TRUE(sandbox[i]["holds"].is_boolean());
    EXPECT_THAT(text, HasSubstr(sandbox[i]["detail"].get<std::string>()));
  }
}

TEST(SandboxStatusTest, OffMeansThatThereAreNoLayers) {
  DaemonProcess daemon({{"--sandbox", "off"}, {}});
  ASSERT_OK(daemon.Start());
  ASSERT_OK_AND_ASSIGN(const v1::State state,
                       Compile(daemon, testing::kVanGogh));
  EXPECT_EQ(state, v1::STATE_READY);
  EXPECT_THAT(RunStatus(daemon, false), Not(HasSubstr("sandbox")));
}

class LackingLayerTest
    : public ::testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  void SetUp() override {
    // A filter is what takes either layer away.
    if (const std::string why = WhyLacking("system_calls"); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }

  CrippledWorker worker_{GetParam().first};
};

TEST_P(LackingLayerTest, IsNamedInStatusAndVariantsCompileAllTheSame) {
  DaemonProcess daemon({{"--worker", worker_.path()}, {}});
  ASSERT_OK(daemon.Start());
  ASSERT_OK_AND_ASSIGN(const v1::State state,
                       Compile(daemon, testing::kVanGogh));
  EXPECT_EQ(state, v1::STATE_READY);
  EXPECT_GE(daemon.CounterValue("workers_lacking_a_layer"), 1u);
  EXPECT_THAT(RunStatus(daemon, false), HasSubstr("LACKING: "));
  EXPECT_THAT(daemon.Log(),
              HasSubstr(std::string("lacking ") + GetParam().second));
}

TEST_P(LackingLayerTest, IsRefusedByRequireNamingIt) {
  DaemonProcess daemon(
      {{"--worker", worker_.path(), "--sandbox", "require"}, {}});
  ASSERT_OK(daemon.Start());
  testing::StreamClient client(daemon.socket());
  const auto session = client.OpenSession(testing::kVanGogh);
  EXPECT_THAT(session, StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(
      std::string(session.status().message()),
      AllOf(HasSubstr("--sandbox=require"), HasSubstr(GetParam().second)));
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, LackingLayerTest,
    ::testing::Values(std::pair("landlock", "files"),
                      std::pair("seccomp", "system_calls")),
    [](const auto& test) { return std::string(test.param.second); });

TEST(SandboxOptionTest, RequireExcludesWorkersWithoutAMemoryLimit) {
  DaemonProcess daemon({{"--sandbox", "require", "--worker-memory", "0"}, {}});
  ASSERT_OK(daemon.Launch());
  ASSERT_OK_AND_ASSIGN(const int code, daemon.Wait());
  EXPECT_EQ(code, kExitUsage);
  EXPECT_THAT(daemon.Log(), HasSubstr("--worker-memory=0 exclude each other"));
}

}  // namespace
}  // namespace kiln::daemon
