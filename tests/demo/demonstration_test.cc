// SPDX-License-Identifier: Apache-2.0

// The demonstration's claims, asserted from what its processes report, and the
// same engines while daemon and workers are killed under them.

#include <signal.h>

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "client/demo/child.h"
#include "client/demo/event_tail.h"
#include "kiln/v1/kiln.pb.h"
#include "tests/support/daemon_process.h"
#include "tests/support/eventually.h"
#include "tests/support/status_matchers.h"

namespace kiln::demo {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;
using testing::DaemonProcess;
using testing::Eventually;

constexpr char kScene[] = KILN_SOURCE_DIR "/shaders/scene/scene.program.toml";

std::vector<Json> Events(const Child& child, const std::string& event) {
  return EventTail::FromStart(child).Of(event);
}

TEST(DemonstrationTest, EveryClaimHolds) {
  // What it says of time depends on what else this machine does.
  ASSERT_OK_AND_ASSIGN(
      auto demo,
      Child::Start(KILN_BINARY_DIR "/kiln-demo",
                   {{"--json", "--any-speed", "--program", kScene}, {}, ""}));
  ASSERT_OK_AND_ASSIGN(const int code, demo->Wait(seconds(400)));
  ASSERT_TRUE(Eventually([&] { return Events(*demo, "verdict").size() == 1; },
                         seconds(5)));
  EXPECT_EQ(code, 0);
  for (const Json& claim : Events(*demo, "claim")) {
    EXPECT_TRUE(claim["ok"] || !claim["decides"]) << claim["claim"];
  }
  // The claims again, from the engines' own lines: two roles, two rounds.
  std::map<std::string, std::multiset<std::string>>
      times_seen;  // key -> origins
  std::set<std::string> roles;
  for (const Json& variant : Events(*demo, "variant")) {
    EXPECT_EQ(variant["feedback"], "cache hit") << variant;
    EXPECT_TRUE(variant.contains("registers") && variant.contains("waves"))
        << variant;
    roles.insert(variant["role"]);
    times_seen[variant["key"]].insert(variant["origin"]);
  }
  EXPECT_EQ(roles.size(), 2u);
  EXPECT_GE(times_seen.size(), 12u);
  for (const auto& [key, origins] : times_seen) {
    EXPECT_EQ(origins.size(), 4u) << key;
    EXPECT_GE(origins.count("store"), 2u) << key;     // the second round
    EXPECT_GE(origins.count("compiled"), 1u) << key;  // the first asker
  }
  // And of the save: each of both swapped every surface and whole shader once.
  std::map<std::string, int> swaps;  // by key
  for (const Json& swap : Events(*demo, "reloaded")) {
    EXPECT_EQ(swap["feedback"], "cache hit") << swap;
    EXPECT_EQ(swap["generation"], 2) << swap;
    ++swaps[swap["key"]];
  }
  EXPECT_GT(swaps.size(), times_seen.size());
  for (const auto& [key, count] : swaps) {
    EXPECT_EQ(count, 2) << key;
  }
  EXPECT_EQ(Events(*demo, "error").size(), 2 * swaps.size());
}

// The engines of one test, on one daemon of its own.
class EnginesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(daemon_.Start()); }

  void StartEngines() {
    for (const std::string role : {"game", "editor"}) {
      ChildOptions options{{"--role", role, "--socket", daemon_.socket(),
                            "--program", kScene, "--frames-per-surface", "2"},
                           {},
                           (daemon_.folder() / role).string()};
      if (role == "editor") {
        options.arguments.emplace_back("--reverse");
      }
      ASSERT_OK_AND_ASSIGN(
          engines_.emplace_back(),
          Child::Start(KILN_BINARY_DIR "/kiln-demo-engine", options));
    }
  }

  // Both engines are in their frame loops and have swapped at least once.
  bool WaitUntilPlaying() {
    return std::ranges::all_of(engines_, [](const auto& engine) {
      return engine->WaitForLine(
          [](const std::string& line) {
            return line.find("\"variant\"") != line.npos;
          },
          seconds(120));
    });
  }

  size_t FramesOf(const Child& engine) {
    const std::vector<Json> frames = Events(engine, "frame");
    return frames.empty() ? 0 : frames.back()["frame"].get<size_t>();
  }

  void ExpectAllSwapped() {
    for (const auto& engine : engines_) {
      ASSERT_OK_AND_ASSIGN(const int code, engine->Wait(seconds(150)));
      EXPECT_EQ(code, 0);
      ASSERT_TRUE(Eventually(
          [&] { return Events(*engine, "done").size() == 1; }, seconds(5)));
      EXPECT_GE(Events(*engine, "variant").size(), 12u);
      for (const Json& variant : Events(*engine, "variant")) {
        EXPECT_EQ(variant["feedback"], "cache hit") << variant;
      }
    }
  }

  DaemonProcess daemon_;
  std::vector<std::unique_ptr<Child>> engines_;
};

TEST_F(EnginesTest,
       Kill9OfTheDaemonLeavesBothDrawingAndAfterARestartEveryVariantEndsReady) {
  StartEngines();
  ASSERT_TRUE(WaitUntilPlaying());
  daemon_.Kill();
  for (const auto& engine : engines_) {
    const size_t frames = FramesOf(*engine);
    EXPECT_TRUE(Eventually([&] { return FramesOf(*engine) >= frames + 30; }))
        << "stopped drawing";
    EXPECT_EQ(Events(*engine, "done").size(), 0u)
        << "was killed too late to show anything";
  }
  ASSERT_OK(daemon_.Start());
  ExpectAllSwapped();
}

TEST_F(EnginesTest,
       FrozenDaemonLeavesBothDrawingAndWhenItGoesOnEveryVariantEndsReady) {
  StartEngines();
  ASSERT_TRUE(WaitUntilPlaying());
  daemon_.Freeze();
  for (const auto& engine : engines_) {
    const size_t frames = FramesOf(*engine);
    EXPECT_TRUE(Eventually([&] { return FramesOf(*engine) >= frames + 30; }))
        << "stopped drawing";
  }
  daemon_.Thaw();
  ExpectAllSwapped();
}

TEST_F(EnginesTest, WorkersKilledAgainAndAgainCostNothingButTime) {
  StartEngines();
  int kills = 0;
  Eventually([&] {
    auto status = daemon_.Connect()->GetStatus();
    for (const v1::WorkerStatus& worker : status->workers()) {
      if (worker.state() != "idle" && kills < 6) {
        kill(static_cast<pid_t>(worker.pid()), SIGKILL);
        ++kills;
      }
    }
    return kills >= 6;
  });
  EXPECT_GE(kills, 1);
  ExpectAllSwapped();
  EXPECT_EQ(daemon_.CounterValue("compiles_failed"), 0u) << daemon_.Log();
}

}  // namespace
}  // namespace kiln::demo
