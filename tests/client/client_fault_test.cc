// SPDX-License-Identifier: Apache-2.0

// The client and daemons that are absent, of another version, silent, or that
// deliver what they should not.

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/client.h"
#include "tests/client/fake_kiln.h"
#include "tests/client/tiny_program.h"
#include "tests/support/eventually.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using testing::Eventually;
using testing::FakeBehaviour;
using testing::FakeKiln;
using ::testing::HasSubstr;
using Damage = FakeBehaviour::Damage;

class ClientFaultTest : public ::testing::Test {
 protected:
  std::unique_ptr<Client> Connect(milliseconds heartbeat = milliseconds(2000)) {
    ClientOptions options;
    options.socket = socket_;
    options.heartbeat = heartbeat;
    options.refused_retry = milliseconds(100);
    return Client::Connect(options);
  }

  // Asks for one variant of the tiny program.
  Digest AskForOne(Client& client) {
    const Program program = testing::TinyProgram();
    EXPECT_OK(client.Register(program));
    auto key = client.Request(testing::OpaqueKey(program, 3));
    EXPECT_OK(key);
    return key.value_or(Digest());
  }

  // Polls until the key has left the pending state.
  VariantStatus Settle(Client& client, const Digest& key) {
    EXPECT_TRUE(Eventually([&] {
      client.Poll(&events_);
      return client.StateOf(key).state != VariantState::kPending;
    }));
    return client.StateOf(key);
  }

  int EventsOf(Event::Kind kind) const {
    return static_cast<int>(std::ranges::count(events_, kind, &Event::kind));
  }

  const testing::TempDir folder_;
  std::string socket_ = (folder_ / "kilnd.sock").string();
  std::vector<Event> events_;
};

// Runs the destructor. Returns: how long it took.
milliseconds TimeToDestroy(std::unique_ptr<Client> client) {
  const auto start = steady_clock::now();
  client.reset();
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
}

TEST_F(ClientFaultTest, ConnectReturnsAtOnceWithoutADaemon) {
  const auto start = steady_clock::now();
  auto client = Connect();
  const Digest key = AskForOne(*client);
  EXPECT_LT(steady_clock::now() - start, milliseconds(500));
  EXPECT_EQ(client->Resolve(key), nullptr);
  EXPECT_EQ(client->StateOf(key).state, VariantState::kPending);
  EXPECT_TRUE(Eventually([&] { return !client->connection().reason.empty(); }));
  EXPECT_EQ(client->connection().state, ConnectionState::kConnecting);
  EXPECT_THAT(client->connection().reason,
              AllOf(HasSubstr(socket_), HasSubstr("no such file")));
  EXPECT_LT(TimeToDestroy(std::move(client)), milliseconds(1000));
}

TEST_F(ClientFaultTest, SocketFileThatADaemonLeftBehindIsReportedAsRefusing) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(socket_, address.sun_path);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
            0);
  close(fd);
  auto client = Connect();
  EXPECT_TRUE(Eventually([&] { return !client->connection().reason.empty(); }));
  EXPECT_THAT(client->connection().reason, HasSubstr("connection refused"));
}

TEST_F(ClientFaultTest, TooLongSocketPathIsRefusedNamingTheLimit) {
  socket_ = (folder_ / std::string(120, 'x')).string();
  auto client = Connect();
  ASSERT_TRUE(Eventually(
      [&] { return client->connection().state == ConnectionState::kRefused; }));
  EXPECT_THAT(client->connection().reason,
              AllOf(HasSubstr(socket_), HasSubstr("107")));
}

TEST_F(ClientFaultTest, DaemonOfAnotherProtocolVersionIsRefusedWithBothNamed) {
  const FakeKiln daemon(socket_, {.refuses = true});
  auto client = Connect();
  const Digest key = AskForOne(*client);
  ASSERT_TRUE(Eventually(
      [&] { return client->connection().state == ConnectionState::kRefused; }));
  EXPECT_THAT(client->connection().reason,
              AllOf(HasSubstr("2 to 4"), HasSubstr("7 to 9")));
  EXPECT_EQ(client->Resolve(key), nullptr);
  EXPECT_TRUE(Eventually([&] { return daemon.handshakes() > 1; }))
      << "a newer daemon may come: it must be tried again";
}

TEST_F(ClientFaultTest, DaemonThatAnswersWithAnUnknownVersionIsRefused) {
  const FakeKiln daemon(socket_, {.protocol_version = 9});
  auto client = Connect();
  ASSERT_TRUE(Eventually(
      [&] { return client->connection().state == ConnectionState::kRefused; }));
  EXPECT_THAT(client->connection().reason,
              AllOf(HasSubstr("version 9"), HasSubstr("4 to 4")));
}

TEST_F(ClientFaultTest, DaemonThatNeverAnswersIsStalledAndDestructorReturns) {
  const FakeKiln daemon(socket_, {.answers = false});
  auto client = Connect();
  ASSERT_TRUE(Eventually([&] { return daemon.handshakes() > 0; }));
  EXPECT_LT(TimeToDestroy(std::move(client)), milliseconds(1000));

  client = Connect();
  ASSERT_TRUE(Eventually(
      [&] { return client->connection().state == ConnectionState::kStalled; }));
  EXPECT_THAT(client->connection().reason, HasSubstr(socket_));
}

TEST_F(ClientFaultTest, MissingPongMakesTheConnectionStalledButKeepsWorking) {
  const FakeKiln daemon(socket_, {.pongs = false});
  auto client = Connect(milliseconds(50));
  ASSERT_TRUE(Eventually(
      [&] { return client->connection().state == ConnectionState::kStalled; }));
  // It still reads, so whatever it answers is a sign of life.
  const Digest key = AskForOne(*client);
  EXPECT_EQ(Settle(*client, key).state, VariantState::kReady);
}

// A listener that answers every connection with garbage, or with nothing.
class RawServer {
 public:
  RawServer(const std::string& path, std::string answer)
      : answer_(std::move(answer)),
        fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::ranges::copy(path, address.sun_path);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
              0);
    EXPECT_EQ(listen(fd_, 16), 0);
    if (!answer_.empty()) {
      thread_ = std::thread([this] { Serve(); });
    }
  }

  ~RawServer() {
    shutdown(fd_, SHUT_RDWR);
    if (thread_.joinable()) {
      thread_.join();
    }
    close(fd_);
  }

  RawServer(const RawServer&) = delete;  // owns a socket
  RawServer& operator=(const RawServer&) = delete;

 private:
  void Serve() {
    for (int peer = accept(fd_, nullptr, nullptr); peer >= 0;
         peer = accept(fd_, nullptr, nullptr)) {
      send(peer, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      close(peer);
    }
  }

  const std::string answer_;
  const int fd_;
  std::thread thread_;
};

TEST_F(ClientFaultTest, GarbageOnTheSocketLeavesTheClientConnecting) {
  const RawServer server(socket_, "\xff\x00 no gRPC here \xfe\xfd");
  auto client = Connect();
  const Digest key = AskForOne(*client);
  ASSERT_TRUE(Eventually([&] { return !client->connection().reason.empty(); }));
  EXPECT_NE(client->connection().state, ConnectionState::kReady);
  EXPECT_THAT(client->connection().reason, HasSubstr(socket_));
  EXPECT_EQ(client->Resolve(key), nullptr);
  EXPECT_LT(TimeToDestroy(std::move(client)), milliseconds(1000));
}

TEST_F(ClientFaultTest, SocketNobodyAcceptsOnStallsAndDestructorReturns) {
  const RawServer server(socket_, "");
  auto client = Connect();
  ASSERT_TRUE(Eventually(
      [&] { return client->connection().state == ConnectionState::kStalled; }));
  EXPECT_LT(TimeToDestroy(std::move(client)), milliseconds(1000));
}

class DamagedDeliveryTest : public ClientFaultTest,
                            public ::testing::WithParamInterface<Damage> {};

TEST_P(DamagedDeliveryTest, DamagedChunkIsNeverPublished) {
  const FakeKiln daemon(socket_, {.damage = GetParam()});
  auto client = Connect();
  const Digest key = AskForOne(*client);
  const VariantStatus status = Settle(*client, key);
  EXPECT_EQ(status.state, VariantState::kFailed);
  EXPECT_THAT(status.message, HasSubstr(key.ShortHex()));
  EXPECT_EQ(client->Resolve(key), nullptr);
  EXPECT_EQ(daemon.deliveries(), 3);
  EXPECT_EQ(EventsOf(Event::Kind::kVariantFailed), 1);
  EXPECT_EQ(EventsOf(Event::Kind::kVariantReady), 0);
}

TEST_P(DamagedDeliveryTest, SecondDeliveryThatIsSoundIsPublished) {
  const FakeKiln daemon(socket_,
                        {.damage = GetParam(), .damaged_deliveries = 1});
  auto client = Connect();
  const Digest key = AskForOne(*client);
  EXPECT_EQ(Settle(*client, key).state, VariantState::kReady);
  EXPECT_NE(client->Resolve(key), nullptr);
  EXPECT_EQ(daemon.deliveries(), 2);
}

INSTANTIATE_TEST_SUITE_P(EveryKind, DamagedDeliveryTest,
                         ::testing::Values(Damage::kFlippedByte,
                                           Damage::kCutShort,
                                           Damage::kAnotherKey,
                                           Damage::kBigChunk,
                                           Damage::kNotFound),
                         [](const auto& damage) {
                           switch (damage.param) {
                             case Damage::kFlippedByte:
                               return "FlippedByte";
                             case Damage::kCutShort:
                               return "CutShort";
                             case Damage::kAnotherKey:
                               return "AnotherKey";
                             case Damage::kBigChunk:
                               return "BigChunk";
                             default:
                               return "NotFound";
                           }
                         });

TEST_F(ClientFaultTest, ChecksumFailureNamesThePart) {
  const FakeKiln daemon(socket_, {.damage = Damage::kFlippedByte});
  auto client = Connect();
  const Digest key = AskForOne(*client);
  EXPECT_THAT(Settle(*client, key).message,
              HasSubstr("checksum mismatch in module fragment"));
}

TEST_F(ClientFaultTest, RequestTheDaemonCannotTakeNowIsAskedAgain) {
  const FakeKiln daemon(socket_, {.rejected_for_now = 1});
  auto client = Connect();
  const Digest key = AskForOne(*client);
  EXPECT_EQ(Settle(*client, key).state, VariantState::kReady);
  EXPECT_EQ(daemon.requests(), 2);
}

TEST_F(ClientFaultTest, FailedCompileIsReportedOnceWithItsDiagnostics) {
  const FakeKiln daemon(socket_, {.compiles_fail = true});
  auto client = Connect();
  const Digest key = AskForOne(*client);
  const VariantStatus status = Settle(*client, key);
  EXPECT_EQ(status.state, VariantState::kFailed);
  EXPECT_THAT(status.message,
              AllOf(HasSubstr("tiny opaque"), HasSubstr("does not compile")));
  EXPECT_EQ(status.diagnostics, "tiny.frag:4: error");
  AskForOne(*client);  // a failed key stays on its fallback
  client->Poll(&events_);
  EXPECT_EQ(client->StateOf(key).state, VariantState::kFailed);
  EXPECT_EQ(EventsOf(Event::Kind::kVariantFailed), 1);
  EXPECT_EQ(daemon.requests(), 1);
}

TEST_F(ClientFaultTest, KeysOfARefusedProgramFail) {
  const FakeKiln daemon(socket_, {.refuses_programs = true});
  auto client = Connect();
  const Digest key = AskForOne(*client);
  EXPECT_THAT(Settle(*client, key).message,
              AllOf(HasSubstr("program tiny refused"), HasSubstr("files")));
  EXPECT_EQ(EventsOf(Event::Kind::kProgramRefused), 1);
  // Also those asked for later.
  const Program program = testing::TinyProgram();
  ASSERT_OK_AND_ASSIGN(const Digest later,
                       client->Request(testing::OpaqueKey(program, 1)));
  EXPECT_EQ(Settle(*client, later).state, VariantState::kFailed);
}

TEST_F(ClientFaultTest, SwitchedOffSpecializationDrawsWithTheWholeShader) {
  const FakeKiln daemon(socket_, {});
  auto client = Connect();
  const Digest key = AskForOne(*client);
  EXPECT_EQ(Settle(*client, key).state, VariantState::kReady);
  client->set_specialization_enabled(false);
  EXPECT_EQ(client->Resolve(key), nullptr);
  EXPECT_EQ(client->StateOf(key).state, VariantState::kReady);
  client->set_specialization_enabled(true);
  EXPECT_NE(client->Resolve(key), nullptr);
}

TEST_F(ClientFaultTest, EqualModulesOfTwoVariantsAreKeptOnce) {
  const FakeKiln daemon(socket_, {});
  auto client = Connect();
  const Program program = testing::TinyProgram();
  ASSERT_OK(client->Register(program));
  ASSERT_OK_AND_ASSIGN(const Digest one,
                       client->Request(testing::OpaqueKey(program, 1)));
  ASSERT_OK_AND_ASSIGN(const Digest two,
                       client->Request(testing::OpaqueKey(program, 2)));
  ASSERT_EQ(Settle(*client, one).state, VariantState::kReady);
  ASSERT_EQ(Settle(*client, two).state, VariantState::kReady);
  EXPECT_EQ(client->Resolve(one)->modules[1].spirv,
            client->Resolve(two)->modules[1].spirv);
}

TEST_F(ClientFaultTest, RequestNamesWhatTheProgramDoesNotHave) {
  auto client = Connect();
  const Program program = testing::TinyProgram();
  EXPECT_THAT(client->Request(testing::OpaqueKey(program, 1)),
              testing::StatusIs(absl::StatusCode::kNotFound, "not registered"));
  ASSERT_OK(client->Register(program));
  EXPECT_THAT(client->Request(testing::OpaqueKey(program, 1u << 9)),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, "bit 9"));
  VariantKey key = testing::OpaqueKey(program, 1);
  key.kind = "glass";
  EXPECT_THAT(client->Request(key),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, "glass"));
}

TEST_F(ClientFaultTest, InvalidProgramIsRefusedWithItsField) {
  auto client = Connect();
  Program program = testing::TinyProgram();
  program.kinds.clear();
  EXPECT_THAT(client->Register(program),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, "kinds"));
}

}  // namespace
}  // namespace kiln::client
