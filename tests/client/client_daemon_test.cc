// SPDX-License-Identifier: Apache-2.0

// The client and a real kilnd with a real driver compiler.

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/client.h"
#include "kiln/v1/kiln.pb.h"
#include "tests/client/tiny_program.h"
#include "tests/support/daemon_process.h"
#include "tests/support/eventually.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"

namespace kiln::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::Eventually;
using ::testing::HasSubstr;

class ClientDaemonTest : public ::testing::Test {
 protected:
  std::unique_ptr<Client> Connect(milliseconds heartbeat = milliseconds(2000)) {
    ClientOptions options;
    options.socket = daemon_.socket();
    options.client_name = "test";
    options.heartbeat = heartbeat;
    return Client::Connect(options);
  }

  // Asks for the eight subsets of the tiny program's features.
  std::vector<Digest> AskForAll(Client& client) {
    EXPECT_OK(client.Register(program_));
    std::vector<Digest> keys;
    for (uint32_t features = 0; features < 8; ++features) {
      auto key = client.Request(testing::OpaqueKey(program_, features));
      EXPECT_OK(key);
      keys.push_back(key.value_or(Digest()));
    }
    return keys;
  }

  static size_t CountReady(Client& client, const std::vector<Digest>& keys) {
    client.Poll(nullptr);
    return static_cast<size_t>(std::ranges::count_if(
        keys,
        [&](const Digest& key) { return client.Resolve(key) != nullptr; }));
  }

  static bool AllReady(Client& client, const std::vector<Digest>& keys) {
    return Eventually([&] { return CountReady(client, keys) == keys.size(); });
  }

  static bool Reaches(Client& client, ConnectionState state) {
    return Eventually([&] { return client.connection().state == state; });
  }

  testing::DaemonProcess daemon_;
  const Program program_ = testing::TinyProgram();
};

TEST_F(ClientDaemonTest, RequestedVariantBecomesReadyAfterPoll) {
  ASSERT_OK(daemon_.Start());
  auto client = Connect();
  ASSERT_OK(client->Register(program_));
  ASSERT_OK_AND_ASSIGN(const Digest key,
                       client->Request(testing::OpaqueKey(program_, 5)));
  EXPECT_EQ(client->Resolve(key), nullptr);
  ASSERT_TRUE(AllReady(*client, {key}));
  const auto variant = client->Resolve(key);
  EXPECT_EQ(variant->label, "tiny opaque/none/alpha Red|Blue");
  EXPECT_EQ(KeyId(variant->artifact.key), key);
  EXPECT_EQ(variant->origin, Origin::kCompiled);
  EXPECT_GT(variant->artifact.blob.size(), 32u);
  EXPECT_GT(variant->artifact.compile_us, 0u);
  ASSERT_EQ(variant->modules.size(), 2u);
  EXPECT_EQ(variant->modules[0].spirv->front(), 0x07230203u);
  EXPECT_EQ(variant->target->Id(), variant->artifact.target);
}

TEST_F(ClientDaemonTest, ConnectionNamesTheDaemonAndItsDevice) {
  ASSERT_OK(daemon_.Start());
  auto client = Connect();
  ASSERT_TRUE(Reaches(*client, ConnectionState::kReady));
  const Connection connection = client->connection();
  EXPECT_EQ(connection.daemon_pid, static_cast<uint32_t>(daemon_.pid()));
  EXPECT_FALSE(connection.target.is_none());
  EXPECT_FALSE(connection.device_name.empty());
  EXPECT_TRUE(connection.reason.empty());
}

TEST_F(ClientDaemonTest, WhatAnEngineDoesIsToldToEveryDaemon) {
  ASSERT_OK(daemon_.Start());
  auto client = Connect();
  auto queue = [&] {
    auto status = daemon_.Connect()->GetStatus();
    return status.ok() ? status->queue() : v1::QueueStatus();
  };
  EXPECT_TRUE(Eventually([&] { return queue().playing() == 1; }));
  client->SetActivity(Activity::kIdle);
  EXPECT_TRUE(Eventually([&] { return queue().idle() == 1; }));
  daemon_.Kill();
  ASSERT_OK(daemon_.Start());
  EXPECT_TRUE(Eventually([&] { return queue().idle() == 1; }));
}

TEST_F(ClientDaemonTest, WithdrawnKeyIsForgottenAndCanBeAskedForAgain) {
  ASSERT_OK(daemon_.Start());
  auto client = Connect();
  ASSERT_OK(client->Register(program_));
  ASSERT_OK_AND_ASSIGN(
      const Digest key,
      client->Request(testing::OpaqueKey(program_, 5), Urgency::kSpeculative));
  EXPECT_TRUE(client->HasPending());
  client->Withdraw(key);
  EXPECT_FALSE(client->HasPending());
  EXPECT_EQ(client->StateOf(key).state, VariantState::kUnknown);
  ASSERT_OK(client->Request(testing::OpaqueKey(program_, 5)));
  ASSERT_TRUE(AllReady(*client, {key}));
  client->Withdraw(key);
  EXPECT_NE(client->Resolve(key), nullptr) << "what is ready stays";
}

TEST_F(ClientDaemonTest, VariantAskedForAgainAndAgainIsSentOnce) {
  ASSERT_OK(daemon_.Start());
  auto client = Connect();
  ASSERT_OK(client->Register(program_));
  Digest key;
  for (int i = 0; i < 1000; ++i) {
    VariantKey asked = testing::OpaqueKey(program_, 1);
    asked.blend = i % 2 == 0 ? "alpha" : "additive";  // opaque ignores blend
    ASSERT_OK_AND_ASSIGN(key, client->Request(asked));
  }
  ASSERT_TRUE(AllReady(*client, {key}));
  EXPECT_EQ(daemon_.CounterValue("requests"), 1u);
}

TEST_F(ClientDaemonTest, SecondClientGetsTheSameVariantsFromTheStore) {
  ASSERT_OK(daemon_.Start());
  auto game = Connect();
  ASSERT_TRUE(AllReady(*game, AskForAll(*game)));
  auto editor = Connect();
  const std::vector<Digest> keys = AskForAll(*editor);
  ASSERT_TRUE(AllReady(*editor, keys));
  for (const Digest& key : keys) {
    EXPECT_EQ(editor->Resolve(key)->origin, Origin::kStore);
    EXPECT_EQ(editor->Resolve(key)->artifact.blob,
              game->Resolve(key)->artifact.blob);
  }
}

TEST_F(ClientDaemonTest, DaemonThatStartsAfterTheClientIsFound) {
  auto client = Connect();
  const std::vector<Digest> keys = AskForAll(*client);
  ASSERT_TRUE(Eventually([&] { return !client->connection().reason.empty(); }));
  EXPECT_EQ(CountReady(*client, keys), 0u);
  ASSERT_OK(daemon_.Start());
  EXPECT_TRUE(AllReady(*client, keys));
}

// KNOWN_FAULTS 21; issue 2 "Done when".
TEST_F(ClientDaemonTest,
       DaemonKilledMidStreamLeavesResolveWorkingAndPendingKeysBecomeReady) {
  ASSERT_OK(daemon_.Start());
  auto client = Connect();
  const std::vector<Digest> keys = AskForAll(*client);
  ASSERT_TRUE(Eventually([&] { return CountReady(*client, keys) > 0; }));
  daemon_.Kill();
  ASSERT_TRUE(Reaches(*client, ConnectionState::kConnecting));
  const size_t ready = CountReady(*client, keys);
  EXPECT_GT(ready, 0u);
  for (const Digest& key : keys) {
    EXPECT_NE(client->StateOf(key).state, VariantState::kFailed);
  }
  ASSERT_OK(daemon_.Start());
  EXPECT_TRUE(AllReady(*client, keys));
  EXPECT_EQ(client->connection().daemon_pid,
            static_cast<uint32_t>(daemon_.pid()));
}

TEST_F(ClientDaemonTest, KeysAskedForWhileTheDaemonIsDownAreAskedOnItsReturn) {
  ASSERT_OK(daemon_.Start());
  auto client = Connect();
  ASSERT_TRUE(Reaches(*client, ConnectionState::kReady));
  daemon_.Kill();
  const std::vector<Digest> keys = AskForAll(*client);
  ASSERT_OK(daemon_.Start());
  EXPECT_TRUE(AllReady(*client, keys));
}

// KNOWN_FAULTS 22.
TEST_F(ClientDaemonTest, DaemonStopsWhileAClientHoldsItsStream) {
  ASSERT_OK(daemon_.Start());
  auto client = Connect();
  ASSERT_TRUE(Reaches(*client, ConnectionState::kReady));
  const auto start = steady_clock::now();
  EXPECT_EQ(daemon_.Stop().value_or(-1), 0);
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_TRUE(Reaches(*client, ConnectionState::kConnecting));
}

TEST_F(ClientDaemonTest, FrozenDaemonIsReportedStalledAndDestructorReturns) {
  ASSERT_OK(daemon_.Start());
  auto client = Connect(milliseconds(200));
  ASSERT_TRUE(Reaches(*client, ConnectionState::kReady));
  daemon_.Freeze();
  ASSERT_TRUE(Reaches(*client, ConnectionState::kStalled));
  EXPECT_THAT(client->connection().reason, HasSubstr(daemon_.socket()));
  const std::vector<Digest> keys = AskForAll(*client);
  EXPECT_EQ(CountReady(*client, keys), 0u);
  const auto start = steady_clock::now();
  client.reset();
  EXPECT_LT(steady_clock::now() - start, milliseconds(1000));
}

// gRPC's own shutdown may sleep for ten seconds after a write that filled the
// connection's buffer; an engine must not wait for that when it quits.
TEST_F(ClientDaemonTest, DestructorReturnsAfterALargeProgramWasUploaded) {
  ASSERT_OK(daemon_.Start());
  auto client = Connect(milliseconds(200));
  ASSERT_OK(client->Register(testing::LargeProgram()));
  ASSERT_TRUE(Eventually(
      [&] { return daemon_.CounterValue("programs_registered") == 1; }));
  auto gone = std::async(std::launch::async, [&] { client.reset(); });
  EXPECT_EQ(gone.wait_for(std::chrono::seconds(3)), std::future_status::ready);
}

TEST_F(ClientDaemonTest, DaemonThatThawsAnswersWhatWasAskedMeanwhile) {
  ASSERT_OK(daemon_.Start());
  auto client = Connect(milliseconds(200));
  ASSERT_TRUE(Reaches(*client, ConnectionState::kReady));
  daemon_.Freeze();
  ASSERT_TRUE(Reaches(*client, ConnectionState::kStalled));
  const std::vector<Digest> keys = AskForAll(*client);
  daemon_.Thaw();
  EXPECT_TRUE(AllReady(*client, keys));
  EXPECT_TRUE(Reaches(*client, ConnectionState::kReady));
}

TEST_F(ClientDaemonTest, SourceThatDoesNotCompileFailsWithItsDiagnostics) {
  ASSERT_OK(daemon_.Start());
  auto client = Connect();
  const Program broken = testing::BrokenProgram();
  ASSERT_OK(client->Register(broken));
  ASSERT_OK_AND_ASSIGN(const Digest key,
                       client->Request(testing::OpaqueKey(broken, 1)));
  std::vector<Event> events;
  ASSERT_TRUE(Eventually([&] {
    client->Poll(&events);
    return client->StateOf(key).state != VariantState::kPending;
  }));
  const VariantStatus status = client->StateOf(key);
  EXPECT_EQ(status.state, VariantState::kFailed);
  EXPECT_THAT(status.message, HasSubstr("tiny opaque/none/alpha Red"));
  EXPECT_THAT(status.diagnostics, HasSubstr("no_such_variable"));
  EXPECT_EQ(client->Resolve(key), nullptr);
}

TEST_F(ClientDaemonTest, ReportedFeedbackIsCountedByTheDaemon) {
  ASSERT_OK(daemon_.Start());
  auto client = Connect();
  ASSERT_OK(client->Register(program_));
  ASSERT_OK_AND_ASSIGN(const Digest key,
                       client->Request(testing::OpaqueKey(program_, 1)));
  ASSERT_TRUE(AllReady(*client, {key}));
  client->ReportFeedback(key, HitFeedback::kCacheHit,
                         std::chrono::microseconds(30));
  client->ReportFeedback(key, HitFeedback::kCompileRequired,
                         std::chrono::microseconds(0));
  EXPECT_TRUE(Eventually([&] {
    return daemon_.CounterValue("feedback_hits") == 1 &&
           daemon_.CounterValue("feedback_misses") == 1;
  }));
}

TEST_F(ClientDaemonTest, TargetThatCannotBeOpenedIsRefusedWithTheReason) {
  ASSERT_OK(daemon_.Start());
  ClientOptions options;
  options.socket = daemon_.socket();
  options.target = "gpu:63";
  auto client = Client::Connect(options);
  ASSERT_TRUE(Reaches(*client, ConnectionState::kRefused));
  EXPECT_THAT(client->connection().reason, HasSubstr("gpu:63"));
}

}  // namespace
}  // namespace kiln::client
