// SPDX-License-Identifier: Apache-2.0

// Issue 5: exactly one compile a key holds with 8 client processes of 500 keys
// each, that overlap, while processes die at random and ask again.

#include <signal.h>

#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/demo/child.h"
#include "kiln/v1/kiln.pb.h"
#include "tests/support/daemon_process.h"
#include "tests/support/eventually.h"
#include "tests/support/status_matchers.h"
#include "tests/support/targets.h"
#include "tests/support/temp_dir.h"

namespace kiln::daemon {
namespace {

constexpr uint32_t kClients = 8;
// Of each client: every subset of 9 features, 512 keys.
constexpr uint32_t kFeaturesOfAClient = 9;
constexpr uint32_t kFeatureCount = 11;

constexpr char kSharedToml[] = R"(format = 1
name = "shared"
sources = ["shared.vert", "shared.frag"]

[stages]
vertex = "shared.vert"
fragment = "shared.frag"

[[kind]]
name = "opaque"
state = { depth_compare = "greater_or_equal", depth_write = true, cull = "back", color_write = true, blend = false }

[pipeline]
color_formats = ["r8g8b8a8_unorm"]
depth_format = "d32_sfloat"

[features]
constant_id = 2
)";

constexpr char kSharedVertex[] =
    "#version 460\n"
    "void main() { gl_Position = vec4(float(gl_VertexIndex)); }\n";

// Each bit changes the code, a little.
constexpr char kSharedFragment[] =
    "#version 460\n"
    "layout(constant_id = 2) const uint Features = 0x7ffu;\n"
    "layout(location = 0) out vec4 color;\n"
    "void main() { color = vec4(float(Features) * 0.01, gl_FragCoord.xyz); }\n";

// The features of one client: those from its own number on, around.
std::set<uint32_t> FeaturesOf(uint32_t client) {
  std::set<uint32_t> features;
  for (uint32_t i = 0; i < kFeaturesOfAClient; ++i) {
    features.insert((client + i) % kFeatureCount);
  }
  return features;
}

// How many keys all clients together want.
size_t DistinctKeys() {
  size_t keys = 0;
  for (uint32_t mask = 0; mask < (1u << kFeatureCount); ++mask) {
    bool wanted = false;
    for (uint32_t client = 0; client < kClients && !wanted; ++client) {
      uint32_t own = 0;
      for (const uint32_t feature : FeaturesOf(client)) {
        own |= 1u << feature;
      }
      wanted = (mask & ~own) == 0;
    }
    keys += wanted ? 1 : 0;
  }
  return keys;
}

class ExactlyOnceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string toml = kSharedToml;
    for (uint32_t bit = 0; bit < kFeatureCount; ++bit) {
      toml += "[[features.bit]]\nbit = " + std::to_string(bit) +
              "\nname = \"F" + std::to_string(bit) +
              "\"\nowner = \"material\"\n";
    }
    std::ofstream(folder_ / "shared.program.toml") << toml;
    std::ofstream(folder_ / "shared.vert") << kSharedVertex;
    std::ofstream(folder_ / "shared.frag") << kSharedFragment;
    ASSERT_OK(daemon_.Start());
  }

  // Starts a process that warms up one client's keys.
  std::unique_ptr<demo::Child> StartClient(uint32_t client) {
    std::string all_of;
    for (const uint32_t feature : FeaturesOf(client)) {
      all_of += (all_of.empty() ? "F" : ",F") + std::to_string(feature);
    }
    demo::ChildOptions options;
    options.arguments = {"warm",     (folder_ / "shared.program.toml").string(),
                         "--all-of", all_of,
                         "--kind",   "opaque",
                         "--target", testing::kVanGogh,
                         "--socket", daemon_.socket()};
    auto child = demo::Child::Start(KILN_BINARY_DIR "/kiln", options);
    EXPECT_OK(child);
    return child.ok() ? *std::move(child) : nullptr;
  }

  testing::TempDir folder_;
  testing::DaemonProcess daemon_{{{"--workers", "2"}, {}}};
};

TEST_F(ExactlyOnceTest, EightDyingProcessesOf512KeysCompileEachKeyOnce) {
  struct Client {
    std::unique_ptr<demo::Child> process;
    size_t dies_after = 0;  // lines of its output; 0: it lives
    int deaths = 0;
  };

  std::mt19937 random(5);
  std::array<Client, kClients> clients;
  for (uint32_t i = 0; i < kClients; ++i) {
    clients[i] = {StartClient(i), 1 + random() % 200, 0};
    ASSERT_NE(clients[i].process, nullptr);
  }
  uint32_t finished = 0;
  int deaths = 0;
  ASSERT_TRUE(testing::Eventually(
      [&] {
        for (uint32_t i = 0; i < kClients; ++i) {
          Client& client = clients[i];
          if (client.process == nullptr) {
            continue;
          }
          if (client.dies_after > 0 &&
              client.process->lines().size() >= client.dies_after) {
            client.process->Signal(SIGKILL);
            client.process->Wait(testing::kLongEnough).IgnoreError();
            ++deaths;
            ++client.deaths;
            client.process = StartClient(i);
            client.dies_after = client.deaths < 3 ? 1 + random() % 300 : 0;
          } else if (auto code =
                         client.process->Wait(std::chrono::milliseconds(1));
                     code.ok()) {
            EXPECT_EQ(*code, 0) << "client " << i;
            client.process = nullptr;
            ++finished;
          }
        }
        return finished == kClients;
      },
      2 * testing::kLongEnough));
  EXPECT_GE(deaths, static_cast<int>(kClients));
  const size_t keys = DistinctKeys();
  EXPECT_EQ(daemon_.CounterValue("compiles_started"), keys);
  EXPECT_EQ(daemon_.CounterValue("compiles_finished"), keys);
  EXPECT_EQ(daemon_.CounterValue("compiles_failed"), 0u);
  EXPECT_EQ(daemon_.CounterValue("front_end_runs"), 1u);
  EXPECT_EQ(daemon_.CounterValue("requests_rejected"), 0u);
  RecordProperty("distinct_keys", static_cast<int>(keys));
  RecordProperty("deaths", deaths);
}

}  // namespace
}  // namespace kiln::daemon
