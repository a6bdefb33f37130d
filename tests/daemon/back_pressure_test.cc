// SPDX-License-Identifier: Apache-2.0

// What keeps background work, and clients that ask for much, out of the way:
// back-pressure on their streams, what others do, and what the machine feels.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "proto/limits.h"
#include "tests/daemon/scheduling_fixture.h"
#include "tests/support/temp_dir.h"

namespace kiln::daemon {
namespace {

using testing::Eventually;
using testing::StreamClient;

// Resident memory in KiB.
uint64_t ResidentKib(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("VmRSS:")) {
      return std::stoull(line.substr(6));
    }
  }
  return 0;
}

void SetActivity(StreamClient& client, v1::Activity activity) {
  v1::ClientMessage message;
  message.mutable_set_activity()->set_activity(activity);
  EXPECT_TRUE(client.Send(message));
}

// KNOWN_FAULTS 23, 30.
TEST_F(SchedulingTest, ClientThatAsksForMuchWaitsOnItsOwnStreamAlone) {
  auto greedy = Join();
  ASSERT_TRUE(AskMany(*greedy, 0, 1, v1::URGENCY_WARM_UP));
  ASSERT_OK(greedy->Next());
  const uint64_t before = ResidentKib(daemon_.pid());
  constexpr uint32_t kKeys = 200000;
  constexpr uint32_t kBatch = 1000;
  std::atomic<uint32_t> sent{0};
  // Blocks in Write most of the time, until the stream is cancelled.
  std::thread writer([&] {
    for (uint32_t first = 1; first < kKeys; first += kBatch) {
      if (!AskMany(*greedy, first, kBatch, v1::URGENCY_WARM_UP)) {
        return;
      }
      sent += kBatch;
    }
  });
  ASSERT_TRUE(Eventually([&] { return Status().jobs_queued() > 3 * kBatch; }));
  for (int i = 0; i < 3; ++i) {
    auto other = Join();
    ASSERT_TRUE(
        Ask(*other,
            {Key(210000 + static_cast<uint32_t>(i),
                 i == 0 ? v1::URGENCY_WARM_UP : v1::URGENCY_ON_SCREEN, 1)}));
    EXPECT_EQ(Await(*other, 1).state(), v1::STATE_READY);
    EXPECT_LE(Status().jobs_queued(), limits::kUnanswered + kBatch);
  }
  EXPECT_LT(sent.load(), kKeys / 2);
  EXPECT_EQ(daemon_.CounterValue("requests_rejected"), 0u);
  EXPECT_LT(ResidentKib(daemon_.pid()), before + 100 * 1024);
  greedy->Cancel();
  writer.join();
  greedy.reset();
  EXPECT_TRUE(Eventually([&] { return Status().jobs_queued() == 0; }));
}

// All that was sent is answered in the end, by a client that reads.
TEST_F(SchedulingTest, ClientThatReadsHasEveryAnswer) {
  auto client = Join();
  constexpr uint32_t kRequests = 12000;
  constexpr uint32_t kDistinct = 40;
  std::thread writer([&] {
    for (uint32_t first = 0; first < kRequests; first += 1000) {
      std::vector<v1::VariantRequest> requests;
      for (uint32_t i = first; i < first + 1000; ++i) {
        requests.push_back(Key(i % kDistinct, v1::URGENCY_WARM_UP, i));
      }
      EXPECT_TRUE(Ask(*client, requests));
    }
  });
  std::vector<bool> answered(kRequests);
  for (uint32_t i = 0; i < kRequests; ++i) {
    auto message = client->Next();
    ASSERT_OK(message);
    EXPECT_EQ(message->completion().state(), v1::STATE_READY);
    EXPECT_FALSE(answered[message->completion().request_id()]);
    answered[message->completion().request_id()] = true;
  }
  writer.join();
  EXPECT_EQ(daemon_.CounterValue("compiles_started"), kDistinct);
}

TEST_F(SchedulingTest, OneWorkerStaysFreeWhileSomebodyPlays) {
  auto warm = Join();
  SetActivity(*warm, v1::ACTIVITY_LOADING);
  auto game = Join();
  SetActivity(*game, v1::ACTIVITY_PLAYING);
  Barrier(*game);
  ASSERT_TRUE(AskMany(*warm, 0, 1000, v1::URGENCY_WARM_UP));
  ASSERT_OK(warm->Next());  // the front end has run
  Freeze(1);
  Barrier(*warm);
  v1::QueueStatus queue = Status().queue();
  EXPECT_EQ(queue.playing(), 1u);
  EXPECT_EQ(queue.loading(), 1u);
  EXPECT_EQ(queue.background_limit(), 1u);
  EXPECT_EQ(queue.background_running(), 1u);
  // The warm-up stands still, and the game is served.
  ASSERT_TRUE(Ask(*game, {Key(9000, v1::URGENCY_ON_SCREEN, 1)}));
  EXPECT_EQ(Await(*game, 1).state(), v1::STATE_READY);
  EXPECT_GE(daemon_.CounterValue("background_held"), 1u);
  // On a loading screen it needs no worker of its own.
  SetActivity(*game, v1::ACTIVITY_LOADING);
  ASSERT_TRUE(
      Eventually([&] { return Status().queue().background_running() == 2; }));
  EXPECT_EQ(Status().queue().background_limit(), 2u);
  SetActivity(*game, v1::ACTIVITY_IDLE);
  Barrier(*game);
  EXPECT_EQ(Status().queue().idle(), 1u);
  EXPECT_EQ(Status().queue().background_limit(), 2u);
  Thaw();
}

class PressuredDaemonTest : public SchedulingTest {
 protected:
  PressuredDaemonTest()
      : SchedulingTest({{"--workers", "2"},
                        {"KILN_PRESSURE=folder=" + Folder().path().string()}}) {
    Write("memory", "0.00");
    Write("cpu", "0.00");
  }

  static testing::TempDir& Folder() {
    static testing::TempDir folder;
    return folder;
  }

  static void Write(const std::string& file, const std::string& avg10) {
    // At once, as the kernel does.
    const std::filesystem::path path = Folder().path() / file;
    const std::filesystem::path fresh = path.string() + ".new";
    std::ofstream(fresh) << "some avg10=" << avg10
                         << " avg60=0.00 avg300=0.00 total=0\n";
    std::filesystem::rename(fresh, path);
  }
};

TEST_F(PressuredDaemonTest, MemoryPressureHoldsBackgroundAndNothingElse) {
  auto client = Join();
  SetActivity(*client, v1::ACTIVITY_LOADING);
  Write("memory", "60.00");
  ASSERT_TRUE(
      Eventually([&] { return Status().pressure().background() == "held"; }));
  ASSERT_TRUE(AskMany(*client, 0, 20, v1::URGENCY_WARM_UP));
  Barrier(*client);
  auto game = Join();
  ASSERT_TRUE(Ask(*game, {Key(1000, v1::URGENCY_ON_SCREEN, 1)}));
  EXPECT_EQ(Await(*game, 1).state(), v1::STATE_READY);
  EXPECT_EQ(daemon_.CounterValue("compiles_started"), 1u);
  EXPECT_EQ(Status().queue().warm_up(), 20u);
  EXPECT_EQ(Status().pressure().memory(), 60.0);
  EXPECT_GE(daemon_.CounterValue("background_held"), 1u);
  Write("memory", "0.00");
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(client->Next());
  }
}

TEST_F(PressuredDaemonTest, CpuPressureLeavesBackgroundOneWorker) {
  auto client = Join();
  SetActivity(*client, v1::ACTIVITY_LOADING);
  Barrier(*client);
  EXPECT_EQ(Status().queue().background_limit(), 2u);
  Write("cpu", "90.00");
  ASSERT_TRUE(Eventually(
      [&] { return Status().pressure().background() == "one at a time"; }));
  EXPECT_EQ(Status().queue().background_limit(), 1u);
  ASSERT_TRUE(AskMany(*client, 0, 1000, v1::URGENCY_WARM_UP));
  ASSERT_OK(client->Next());  // the front end has run
  Freeze(1);
  EXPECT_EQ(Status().queue().background_running(), 1u);
  Write("cpu", "10.00");
  EXPECT_TRUE(
      Eventually([&] { return Status().queue().background_running() == 2; }));
  Thaw();
}

}  // namespace
}  // namespace kiln::daemon
