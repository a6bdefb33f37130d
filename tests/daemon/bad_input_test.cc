// SPDX-License-Identifier: Apache-2.0

// What clients may get wrong, one test each: a clear error that names the
// thing, nothing stored, and a daemon that goes on serving. What people may get
// wrong when they start a daemon is in startup_test.cc.

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/v1/kiln.pb.h"
#include "proto/limits.h"
#include "proto/text.h"
#include "tests/support/daemon_process.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"
#include "tests/support/stream_client.h"
#include "tests/support/targets.h"

namespace kiln::daemon {
namespace {

using ::testing::AllOf;
using testing::DaemonProcess;
using ::testing::HasSubstr;
using testing::kVanGogh;
using testing::MakeRequest;
using testing::SmallProgram;
using testing::StatusIs;
using testing::StreamClient;

class BadInputTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(daemon_.Start()); }

  // The daemon is the same process, still compiles, and holds `stored`
  // artifacts.
  void ExpectStillServing() {
    StreamClient client(daemon_.socket());
    ASSERT_OK(client.Attach(kVanGogh));
    ASSERT_OK_AND_ASSIGN(const Digest id,
                         daemon_.Connect()->RegisterProgram(SmallProgram()));
    ASSERT_OK_AND_ASSIGN(const v1::Completion completion,
                         client.AskOne(MakeRequest(id, "opaque", 1)));
    EXPECT_EQ(completion.state(), v1::STATE_READY)
        << completion.ShortDebugString();
  }

  size_t StoredVariants() {
    auto page = daemon_.Connect()->ListVariants("");
    EXPECT_OK(page);
    return page.ok() ? static_cast<size_t>(page->variants_size()) : 0;
  }

  // Asks for a variant of a registered small program.
  v1::Completion AskSmall(const std::string& kind, uint32_t features,
                          const std::string& backdrop = "",
                          const std::string& blend = "") {
    StreamClient client(daemon_.socket());
    EXPECT_OK(client.Attach(kVanGogh));
    const auto id = daemon_.Connect()->RegisterProgram(SmallProgram());
    EXPECT_OK(id);
    v1::VariantRequest request = MakeRequest(*id, kind, features);
    request.set_backdrop(backdrop);
    request.set_blend(blend);
    auto completion = client.AskOne(request);
    EXPECT_OK(completion);
    return completion.ok() ? *completion : v1::Completion();
  }

  // Registers a program with this fragment shader and asks for one variant.
  v1::Completion AskFragment(const std::string& fragment) {
    StreamClient client(daemon_.socket());
    EXPECT_OK(client.Attach(kVanGogh));
    const auto id = daemon_.Connect()->RegisterProgram(SmallProgram(fragment));
    EXPECT_OK(id);
    auto completion = client.AskOne(MakeRequest(*id, "opaque", 0));
    EXPECT_OK(completion);
    return completion.ok() ? *completion : v1::Completion();
  }

  void ExpectRejected(const v1::Completion& completion,
                      const std::string& named) {
    EXPECT_EQ(completion.state(), v1::STATE_REJECTED)
        << completion.ShortDebugString();
    EXPECT_THAT(completion.failure().message(), HasSubstr(named));
    EXPECT_EQ(StoredVariants(), 0u);
    ExpectStillServing();
  }

  void ExpectFailed(const v1::Completion& completion,
                    const std::string& named) {
    EXPECT_EQ(completion.state(), v1::STATE_FAILED)
        << completion.ShortDebugString();
    EXPECT_THAT(
        completion.failure().message() + completion.failure().diagnostics(),
        HasSubstr(named));
    EXPECT_EQ(StoredVariants(), 0u);
    ExpectStillServing();
  }

  // A bare connection to the daemon's socket, for the caller to close.
  int ConnectRaw() {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    daemon_.socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(
        connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }

  DaemonProcess daemon_;
};

TEST_F(BadInputTest, UnknownProgramIsRejectedByItsId) {
  StreamClient client(daemon_.socket());
  ASSERT_OK(client.Attach(kVanGogh));
  const Digest nobody =
      Digest::Of(AsBytes(std::string_view("no such program")));
  ASSERT_OK_AND_ASSIGN(const v1::Completion completion,
                       client.AskOne(MakeRequest(nobody, "opaque", 0)));
  ExpectRejected(completion, nobody.Hex());
}

TEST_F(BadInputTest, MalformedProgramIdIsRejected) {
  StreamClient client(daemon_.socket());
  ASSERT_OK(client.Attach(kVanGogh));
  v1::VariantRequest request = MakeRequest(Digest(), "opaque", 0);
  request.set_program_id("short");
  ASSERT_OK_AND_ASSIGN(const v1::Completion completion, client.AskOne(request));
  ExpectRejected(completion, "program_id has 5 bytes");
}

TEST_F(BadInputTest, UnknownBitIsRejectedByItsNumber) {
  ExpectRejected(AskSmall("opaque", 1u << 9), "no feature bit 9");
}

TEST_F(BadInputTest, UnknownKindIsRejectedByItsName) {
  ExpectRejected(AskSmall("opaqe", 0), "no kind 'opaqe'");
}

TEST_F(BadInputTest, UnknownBackdropIsRejectedByItsName) {
  ExpectRejected(AskSmall("blended", 0, "moon"), "no backdrop 'moon'");
}

TEST_F(BadInputTest, UnknownBlendIsRejectedByItsName) {
  ExpectRejected(AskSmall("blended", 0, "", "xor"), "no blend 'xor'");
}

TEST_F(BadInputTest, TargetThatIsNotWellFormedIsRefusedWithTheThreeForms) {
  StreamClient client(daemon_.socket());
  EXPECT_THAT(client.OpenSession("vulkan"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'vulkan'"), HasSubstr("radv:<family>"),
                             HasSubstr("lavapipe"), HasSubstr("gpu:<index>"))));
  ExpectStillServing();
}

TEST_F(BadInputTest, TargetWithAnUnknownFamilyCannotBeOpened) {
  StreamClient client(daemon_.socket());
  EXPECT_THAT(client.OpenSession("radv:nosuch"),
              StatusIs(absl::StatusCode::kFailedPrecondition, "radv:nosuch"));
  ExpectStillServing();
}

TEST_F(BadInputTest, TargetWithNoSuchGpuCannotBeOpened) {
  StreamClient client(daemon_.socket());
  EXPECT_THAT(client.OpenSession("gpu:97"),
              StatusIs(absl::StatusCode::kFailedPrecondition, "gpu:97"));
  ExpectStillServing();
}

TEST_F(BadInputTest, SourceThatDoesNotCompileFailsWithFileAndLine) {
  const v1::Completion completion =
      AskFragment("#version 460\n\nvoid main() { nonsense = 1; }\n");
  ExpectFailed(completion, "small.frag:3");
  EXPECT_EQ(completion.failure().label(), "small opaque/none/alpha none");
}

TEST_F(BadInputTest, OneErrorInTheSourcesRunsTheFrontEndOnceForAllKeys) {
  StreamClient client(daemon_.socket());
  ASSERT_OK(client.Attach(kVanGogh));
  ASSERT_OK_AND_ASSIGN(const Digest id,
                       daemon_.Connect()->RegisterProgram(
                           SmallProgram("#version 460\nvoid main() { x; }\n")));
  ASSERT_TRUE(client.Ask(
      {MakeRequest(id, "opaque", 0), MakeRequest(id, "opaque", 1),
       MakeRequest(id, "blended", 2), MakeRequest(id, "blended", 0)}));
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK_AND_ASSIGN(const v1::ServerMessage message, client.Next());
    EXPECT_EQ(message.completion().state(), v1::STATE_FAILED);
    // 64 KiB at most, and only once a stream.
    EXPECT_THAT(message.completion().failure().diagnostics(),
                i == 0 ? HasSubstr("small.frag:2") : HasSubstr(""));
    EXPECT_EQ(message.completion().failure().diagnostics().empty(), i != 0);
  }
  EXPECT_EQ(daemon_.CounterValue("front_end_runs"), 1u);
}

// KNOWN_FAULTS 9: a byte that is not UTF-8 in a diagnostic must not hang the
// stream. A byte order mark counts as one anywhere but in front.
TEST_F(BadInputTest, DiagnosticsAboutBytesThatAreNotUtf8Arrive) {
  for (const char* fragment :
       {"#version 460\n\xEF\xBB\xBFvoid main() {}\n",
        "#version 460\nvoid main() { float caf\xE9 = 1.0; }\n",
        "#version 460\n\xFF\xFE\nvoid main() {}\n",
        "#version 460\n#error \xC3\x28\nvoid main() {}\n"}) {
    const v1::Completion completion = AskFragment(fragment);
    EXPECT_EQ(completion.state(), v1::STATE_FAILED);
    EXPECT_TRUE(IsValidUtf8(completion.failure().diagnostics()));
    EXPECT_FALSE(completion.failure().diagnostics().empty());
  }
  ExpectStillServing();
}

// KNOWN_FAULTS 4: valid GLSL, invalid SPIR-V: never reaches the driver.
TEST_F(BadInputTest, ModuleThatDoesNotValidateFailsWithTheConstantAndARewrite) {
  const v1::Completion completion = AskFragment(R"(#version 460
layout(constant_id = 2) const uint Features = 3u;
layout(constant_id = 3) const uint mode = 1u;
const bool twoSided = (mode != 0u) && (mode * 2u > 1u);
layout(location = 0) out vec4 color;
void main() { color = twoSided ? vec4(1.0) : vec4(0.0); }
)");
  ExpectFailed(completion, "twoSided");
  EXPECT_THAT(completion.failure().diagnostics(), HasSubstr("small.frag:4"));
  EXPECT_EQ(daemon_.CounterValue("workers_crashed"), 0u);
}

// KNOWN_FAULTS 17: 65,000 errors are 4.6 MB of text.
TEST_F(BadInputTest, DiagnosticsOverTheMessageLimitAreCutAndCounted) {
  std::string fragment =
      "#version 460\nlayout(location = 0) out vec4 o;\nvoid main() {\n";
  for (int i = 0; i < 65000; ++i) {
    fragment += "o = vec4(missing_value_" + std::to_string(i) + ");\n";
  }
  const v1::Completion completion = AskFragment(fragment + "}\n");
  ExpectFailed(completion, "missing_value_0");
  EXPECT_THAT(completion.failure().diagnostics(), HasSubstr("more lines"));
  EXPECT_LE(completion.failure().diagnostics().size(),
            2 * limits::kDiagnosticBytes);
}

// The first job of a program fails in the driver's part, after its front end
// ran: the next one must find the modules all the same.
TEST_F(BadInputTest, FailedFirstVariantDoesNotHarmTheOnesAfterIt) {
  Program program = SmallProgram();
  program.blends.push_back({"impossible", {}, {{"src_color", "no_such"}}});
  StreamClient client(daemon_.socket());
  ASSERT_OK(client.Attach(kVanGogh));
  ASSERT_OK_AND_ASSIGN(const Digest id,
                       daemon_.Connect()->RegisterProgram(program));
  v1::VariantRequest impossible = MakeRequest(id, "blended", 0);
  impossible.set_blend("impossible");
  ASSERT_OK_AND_ASSIGN(const v1::Completion failed, client.AskOne(impossible));
  EXPECT_EQ(failed.state(), v1::STATE_FAILED);
  EXPECT_THAT(failed.failure().message(), HasSubstr("no_such"));
  ASSERT_OK_AND_ASSIGN(const v1::Completion good,
                       client.AskOne(MakeRequest(id, "opaque", 0)));
  EXPECT_EQ(good.state(), v1::STATE_READY) << good.ShortDebugString();
  ASSERT_OK_AND_ASSIGN(const Digest key,
                       Digest::FromRaw(good.variant().key_id()));
  EXPECT_OK(daemon_.Connect()->GetArtifact(key.Hex(), Digest()));
}

TEST_F(BadInputTest, MessageOverTheLimitIsRefusedAndOthersAreServed) {
  StreamClient client(daemon_.socket());
  ASSERT_OK(client.Attach(kVanGogh));
  v1::ClientMessage message;
  message.mutable_batch()->add_requests()->set_kind(std::string(5u << 20, 'k'));
  client.Send(message);
  EXPECT_THAT(client.Next(), StatusIs(absl::StatusCode::kResourceExhausted));
  ExpectStillServing();
}

TEST_F(BadInputTest, BatchOverTheLimitIsRefusedNamingTheLimit) {
  StreamClient client(daemon_.socket());
  ASSERT_OK(client.Attach(kVanGogh));
  client.Ask(std::vector<v1::VariantRequest>(limits::kRequestsPerBatch + 1));
  EXPECT_THAT(client.Next(),
              StatusIs(absl::StatusCode::kInvalidArgument, "1024"));
  ExpectStillServing();
}

// Announces a program of `total_bytes` and sends `chunk` of it, if any.
// Returns: what the daemon says to that.
grpc::Status Upload(const std::string& socket, uint64_t total_bytes,
                    const std::string& chunk) {
  StreamClient client(socket);
  grpc::ClientContext context;
  v1::RegisterProgramResponse response;
  auto writer = client.stub().RegisterProgram(&context, &response);
  v1::RegisterProgramRequest request;
  request.mutable_header()->set_program_id(std::string(32, 'x'));
  request.mutable_header()->set_total_bytes(total_bytes);
  writer->Write(request);
  if (!chunk.empty()) {
    request.set_chunk(chunk);
    writer->Write(request);
  }
  writer->WritesDone();
  return writer->Finish();
}

TEST_F(BadInputTest, ProgramOverTheLimitIsRefusedBeforeItIsSent) {
  const grpc::Status status =
      Upload(daemon_.socket(), limits::kProgramBytes + 1, "");
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("total_bytes"));
  ExpectStillServing();
}

TEST_F(BadInputTest, ProgramThatIsNotWhatItsIdSaysIsRefusedAndNotStored) {
  const grpc::Status status = Upload(daemon_.socket(), 7, "garbage");
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("program_id"));
  EXPECT_EQ(daemon_.CounterValue("programs_registered"), 0u);
  ExpectStillServing();
}

TEST_F(BadInputTest, StreamWithoutASessionIsRefused) {
  StreamClient client(daemon_.socket());
  client.OpenStream();
  client.Ask({MakeRequest(Digest(), "opaque", 0)});
  EXPECT_THAT(client.Next(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "attach"));
  ExpectStillServing();
}

TEST_F(BadInputTest, GarbageOnTheSocketIsAnsweredInWordsAndCounted) {
  const int fd = ConnectRaw();
  const std::string garbage = "GET / HTTP/1.1\r\n\xFF\xFE\r\n";
  ASSERT_EQ(write(fd, garbage.data(), garbage.size()),
            static_cast<ssize_t>(garbage.size()));
  std::string answer;
  char buffer[256];
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof(buffer))) > 0;) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  EXPECT_THAT(answer, HasSubstr("gRPC"));
  EXPECT_EQ(daemon_.CounterValue("connections_refused_not_grpc"), 1u);
  EXPECT_THAT(daemon_.Log(), HasSubstr("not gRPC"));
  ExpectStillServing();
}

TEST_F(BadInputTest, GarbageAfterTheGreetingEndsOnlyThatConnection) {
  const int fd = ConnectRaw();
  const std::string bytes =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(1000, '\xA5');
  ASSERT_EQ(write(fd, bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  char buffer[256];
  while (read(fd, buffer, sizeof(buffer)) > 0) {
  }
  close(fd);
  ExpectStillServing();
}

TEST_F(BadInputTest, ArtifactThatIsNotStoredIsNotFoundByItsKey) {
  EXPECT_THAT(daemon_.Connect()->GetArtifact(std::string(64, 'a'), Digest()),
              StatusIs(absl::StatusCode::kNotFound, "aaaa"));
  EXPECT_THAT(daemon_.Connect()->GetArtifact("xyzw", Digest()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(daemon_.Connect()->GetArtifact("a", Digest()),
              StatusIs(absl::StatusCode::kInvalidArgument, "is not 4 to 64"));
  ExpectStillServing();
}

}  // namespace
}  // namespace kiln::daemon
