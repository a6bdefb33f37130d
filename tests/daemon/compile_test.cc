// SPDX-License-Identifier: Apache-2.0

// What happens to requests: one compile a key, proof, persistence, and workers
// that crash, hang or are killed.

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/v1/kiln.pb.h"
#include "proto/limits.h"
#include "tests/support/daemon_process.h"
#include "tests/support/eventually.h"
#include "tests/support/process.h"
#include "tests/support/raw_store.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"
#include "tests/support/stream_client.h"
#include "tests/support/targets.h"

namespace kiln::daemon {
namespace {

using testing::DaemonProcess;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::kVanGogh;
using testing::MakeRequest;
using testing::SmallProgram;
using testing::StreamClient;

// What every fragment shader of SmallProgram begins with.
constexpr char kHeader[] =
    "#version 460\n"
    "layout(constant_id = 2) const uint Features = 3u;\n"
    "layout(location = 0) out vec4 o;\n";

// A chain of 2^levels additions from a few lines of source: past 18 levels it
// overflows any stack glslang is given (KNOWN_FAULTS 1).
std::string DeepExpression(int levels) {
  std::string fragment = std::string(kHeader) + "#define A0 v+v\n";
  for (int i = 1; i < levels; ++i) {
    fragment += "#define A" + std::to_string(i) + " A" + std::to_string(i - 1) +
                "+A" + std::to_string(i - 1) + "\n";
  }
  return fragment + "void main() { vec4 v = gl_FragCoord; o = A" +
         std::to_string(levels - 1) + "; }\n";
}

class CompileTest : public ::testing::Test {
 protected:
  explicit CompileTest(testing::DaemonProcessOptions options = {})
      : daemon_(std::move(options)) {}

  void SetUp() override {
    ASSERT_OK(daemon_.Start());
    client_ = std::make_unique<StreamClient>(daemon_.socket());
    ASSERT_OK(client_->Attach(kVanGogh));
  }

  Digest Register(const Program& program) {
    auto id = daemon_.Connect()->RegisterProgram(program);
    EXPECT_OK(id);
    return id.value_or(Digest());
  }

  v1::Completion Ask(const v1::VariantRequest& request) {
    auto completion = client_->AskOne(request);
    EXPECT_OK(completion);
    return completion.value_or(v1::Completion());
  }

  DaemonProcess daemon_;
  std::unique_ptr<StreamClient> client_;
};

TEST_F(CompileTest, ManyAskersOfOneKeyShareOneCompile) {
  const Digest id = Register(SmallProgram());
  std::vector<std::unique_ptr<StreamClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<StreamClient>(daemon_.socket()));
    ASSERT_OK(clients.back()->Attach(kVanGogh));
  }
  for (const auto& client : clients) {
    ASSERT_TRUE(client->Ask(
        {MakeRequest(id, "opaque", 1), MakeRequest(id, "opaque", 2)}));
  }
  std::set<std::string> keys;
  for (const auto& client : clients) {
    for (int i = 0; i < 2; ++i) {
      ASSERT_OK_AND_ASSIGN(const v1::ServerMessage message, client->Next());
      EXPECT_EQ(message.completion().state(), v1::STATE_READY);
      keys.insert(message.completion().variant().key_id());
    }
  }
  EXPECT_EQ(keys.size(), 2u);
  EXPECT_EQ(daemon_.CounterValue("compiles_started"), 2u);
  EXPECT_EQ(daemon_.CounterValue("front_end_runs"), 1u);
}

TEST_F(CompileTest, AskerThatGoesAwayTakesNobodysCompileWithIt) {
  const Digest id = Register(SmallProgram());
  auto leader = std::make_unique<StreamClient>(daemon_.socket());
  ASSERT_OK(leader->Attach(kVanGogh));
  ASSERT_TRUE(leader->Ask({MakeRequest(id, "opaque", 1)}));
  ASSERT_TRUE(client_->Ask({MakeRequest(id, "opaque", 1)}));
  leader.reset();
  ASSERT_OK_AND_ASSIGN(const v1::ServerMessage message, client_->Next());
  EXPECT_EQ(message.completion().state(), v1::STATE_READY);
  EXPECT_EQ(daemon_.CounterValue("compiles_started"), 1u);
}

TEST_F(CompileTest, KeysThatMeanTheSamePipelineAreOneVariant) {
  const Digest id = Register(SmallProgram());
  v1::VariantRequest with_blend = MakeRequest(id, "opaque", 1);
  with_blend.set_blend("additive");
  with_blend.set_backdrop("sky");
  const v1::Completion first = Ask(MakeRequest(id, "opaque", 1));
  const v1::Completion second = Ask(with_blend);
  EXPECT_EQ(first.variant().key_id(), second.variant().key_id());
  EXPECT_EQ(second.origin(), v1::ORIGIN_STORE);
}

TEST_F(CompileTest, ReadyVariantIsProvenAndCarriesItsCost) {
  const v1::Completion completion =
      Ask(MakeRequest(Register(SmallProgram()), "blended", 3));
  const v1::Variant& variant = completion.variant();
  EXPECT_EQ(completion.state(), v1::STATE_READY);
  EXPECT_EQ(completion.origin(), v1::ORIGIN_COMPILED);
  EXPECT_EQ(variant.proof(), v1::PROOF_PROVEN);
  EXPECT_EQ(variant.label(), "small blended/none/alpha whole");
  EXPECT_GT(variant.blob_bytes(), 32u);
  EXPECT_GT(variant.registers(), 0u);
  EXPECT_GT(variant.waves(), 0u);
  EXPECT_GT(variant.compile_us(), 0u);
}

TEST_F(CompileTest, LavapipeVariantIsReadyAndSaidNotToBeProvable) {
  StreamClient client(daemon_.socket());
  ASSERT_OK(client.Attach("lavapipe"));
  ASSERT_OK_AND_ASSIGN(
      const v1::Completion completion,
      client.AskOne(MakeRequest(Register(SmallProgram()), "opaque", 1)));
  EXPECT_EQ(completion.state(), v1::STATE_READY)
      << completion.ShortDebugString();
  EXPECT_EQ(completion.variant().proof(), v1::PROOF_NOT_PROVABLE);
}

TEST_F(CompileTest, TargetsDoNotShareVariants) {
  const Digest id = Register(SmallProgram());
  const v1::Completion vangogh = Ask(MakeRequest(id, "opaque", 1));
  StreamClient other(daemon_.socket());
  ASSERT_OK(other.Attach("radv:navi21"));
  ASSERT_OK_AND_ASSIGN(const v1::Completion navi21,
                       other.AskOne(MakeRequest(id, "opaque", 1)));
  EXPECT_EQ(navi21.origin(), v1::ORIGIN_COMPILED);
  EXPECT_NE(navi21.variant().target(), vangogh.variant().target());
  EXPECT_EQ(navi21.variant().key_id(), vangogh.variant().key_id());
}

TEST_F(CompileTest, EverythingAnnouncedIsThereAfterKill9WithoutACompile) {
  const Digest id = Register(SmallProgram());
  for (const uint32_t features : {0u, 1u, 2u, 3u}) {
    EXPECT_EQ(Ask(MakeRequest(id, "blended", features)).state(),
              v1::STATE_READY);
  }
  daemon_.Kill();
  ASSERT_OK(daemon_.Start());
  StreamClient again(daemon_.socket());
  ASSERT_OK(
      again.Attach(kVanGogh));  // the program need not be registered again
  for (const uint32_t features : {3u, 2u, 1u, 0u}) {
    ASSERT_OK_AND_ASSIGN(const v1::Completion completion,
                         again.AskOne(MakeRequest(id, "blended", features)));
    EXPECT_EQ(completion.state(), v1::STATE_READY);
    EXPECT_EQ(completion.origin(), v1::ORIGIN_STORE);
  }
  EXPECT_EQ(daemon_.CounterValue("compiles_started"), 0u);
  // And a new key of the old program needs no second front-end run.
  ASSERT_OK_AND_ASSIGN(const v1::Completion fresh,
                       again.AskOne(MakeRequest(id, "opaque", 2)));
  EXPECT_EQ(fresh.origin(), v1::ORIGIN_COMPILED);
  EXPECT_EQ(daemon_.CounterValue("front_end_runs"), 0u);
}

// KNOWN_FAULTS 17: a module of more than one gRPC message.
TEST_F(CompileTest, ModuleOverTheMessageLimitArrivesInChunks) {
  const Digest id = Register(testing::LargeProgram());
  const v1::Completion completion = Ask(MakeRequest(id, "opaque", 0));
  ASSERT_EQ(completion.state(), v1::STATE_READY)
      << completion.failure().message();
  ASSERT_OK_AND_ASSIGN(const Digest key,
                       Digest::FromRaw(completion.variant().key_id()));
  ASSERT_OK_AND_ASSIGN(const client::Delivery delivery,
                       daemon_.Connect()->GetArtifact(key.Hex(), Digest()));
  size_t largest = 0;
  for (const client::ModuleCode& module : delivery.modules) {
    largest = std::max(largest, module.spirv->size() * sizeof(uint32_t));
  }
  EXPECT_GT(largest, limits::kMaxMessageBytes);
}

// KNOWN_FAULTS 1: a compiler that dies by a signal is one failed variant.
TEST_F(CompileTest,
       CompilerThatOverflowsItsStackIsOneFailedVariantWithItsCause) {
  const Digest id = Register(SmallProgram(DeepExpression(20)));
  const v1::Completion completion = Ask(MakeRequest(id, "opaque", 1));
  EXPECT_EQ(completion.state(), v1::STATE_FAILED);
  EXPECT_THAT(completion.failure().message(), HasSubstr("crashed (signal 11)"));
  EXPECT_THAT(completion.failure().message(), HasSubstr("fragment stage"));
  EXPECT_EQ(completion.failure().label(), "small opaque/none/alpha Warm");
  EXPECT_EQ(daemon_.CounterValue("jobs_retried"), 1u);
  EXPECT_EQ(Ask(MakeRequest(Register(SmallProgram()), "opaque", 1)).state(),
            v1::STATE_READY);
}

// KNOWN_FAULTS 1: what a usual stack would not stand compiles on ours.
TEST_F(CompileTest, LongOrdinaryExpressionCompiles) {
  const Digest id = Register(SmallProgram(DeepExpression(14)));  // 16,384 terms
  EXPECT_EQ(Ask(MakeRequest(id, "opaque", 0)).state(), v1::STATE_READY);
}

TEST_F(CompileTest, WorkerKilledInMidCompileCostsNothingButTime) {
  const Digest id = Register(testing::SlowProgram(11));
  ASSERT_TRUE(client_->Ask({MakeRequest(id, "opaque", 0)}));
  int kills = 0;
  Eventually([&] {
    auto status = daemon_.Connect()->GetStatus();
    for (const v1::WorkerStatus& worker : status->workers()) {
      if (worker.state() == "compiling" && kills < 3) {
        kill(static_cast<pid_t>(worker.pid()), SIGKILL);
        ++kills;
      }
    }
    return kills == 3 || status->jobs_queued() + status->jobs_running() == 0;
  });
  EXPECT_GE(kills, 1);
  ASSERT_OK_AND_ASSIGN(const v1::ServerMessage message, client_->Next());
  EXPECT_EQ(message.completion().state(), v1::STATE_READY)
      << message.completion().failure().message();
}

class ShortTimeoutTest : public CompileTest {
 protected:
  ShortTimeoutTest() : CompileTest({{"--job-timeout", "2"}, {}}) {}
};

TEST_F(ShortTimeoutTest, CompileThatNeverEndsIsStoppedAndOthersAreServed) {
  const Digest id = Register(testing::SlowProgram(22));
  const v1::Completion completion = Ask(MakeRequest(id, "opaque", 0));
  EXPECT_EQ(completion.state(), v1::STATE_FAILED);
  EXPECT_THAT(completion.failure().message(), HasSubstr("took over 2 s"));
  EXPECT_EQ(daemon_.CounterValue("jobs_timed_out"), 1u);
  EXPECT_EQ(Ask(MakeRequest(Register(SmallProgram()), "opaque", 1)).state(),
            v1::STATE_READY);
}

// A module that is damaged in the store costs a compile, not the variant.
TEST_F(CompileTest, VariantWhoseModuleIsLostIsCompiledAgainWhenAskedFor) {
  const Digest id = Register(SmallProgram());
  const v1::Completion first = Ask(MakeRequest(id, "opaque", 1));
  ASSERT_OK_AND_ASSIGN(const Digest key,
                       Digest::FromRaw(first.variant().key_id()));
  ASSERT_OK_AND_ASSIGN(const Digest target,
                       Digest::FromRaw(first.variant().target()));
  ASSERT_OK_AND_ASSIGN(const client::Delivery delivery,
                       daemon_.Connect()->GetArtifact(key.Hex(), target));
  ASSERT_OK(daemon_.Stop());
  for (const client::ModuleCode& module : delivery.modules) {
    testing::FlipBit(daemon_.state() / "db", "modules",
                     std::string(module.digest.raw()), 20);
  }
  ASSERT_OK(daemon_.Start());
  EXPECT_THAT(daemon_.Connect()->GetArtifact(key.Hex(), target),
              testing::StatusIs(absl::StatusCode::kNotFound, "damaged"));
  StreamClient again(daemon_.socket());
  ASSERT_OK(again.Attach(kVanGogh));
  ASSERT_OK_AND_ASSIGN(const v1::Completion second,
                       again.AskOne(MakeRequest(id, "opaque", 1)));
  EXPECT_EQ(second.state(), v1::STATE_READY) << second.ShortDebugString();
  EXPECT_EQ(second.origin(), v1::ORIGIN_COMPILED);
  EXPECT_OK(daemon_.Connect()->GetArtifact(key.Hex(), target));
}

// A worker that cannot start any more ends what waits for it; it is not started
// over and over.
TEST(LostTargetTest,
     WorkersThatDieWhileOpeningFailTheirJobsAndAreNotStartedForEver) {
  testing::TempDir folder;
  const std::string worker = (folder.path() / "worker").string();
  std::ofstream(worker) << "#!/bin/sh\n[ -e " << folder.path().string()
                        << "/broken ] && kill -SEGV $$\nexec " KILN_BINARY_DIR
                           "/kiln-worker \"$@\"\n";
  std::filesystem::permissions(worker, std::filesystem::perms::owner_all);
  DaemonProcess daemon({{"--worker", worker}, {}});
  ASSERT_OK(daemon.Start());
  StreamClient client(daemon.socket());
  ASSERT_OK(client.Attach(kVanGogh));
  std::ofstream(folder.path() / "broken") << "";
  for (const pid_t pid : daemon.Workers()) {
    kill(pid, SIGKILL);
  }
  ASSERT_OK_AND_ASSIGN(const Digest id,
                       daemon.Connect()->RegisterProgram(SmallProgram()));
  ASSERT_OK_AND_ASSIGN(const v1::Completion completion,
                       client.AskOne(MakeRequest(id, "opaque", 1)));
  EXPECT_EQ(completion.state(), v1::STATE_FAILED);
  EXPECT_THAT(completion.failure().message(), HasSubstr("cannot be opened"));
  EXPECT_LE(daemon.CounterValue("workers_started"), 4u);
}

// KNOWN_FAULTS 29: a worker has its own three descriptors and the channel; none
// of the database, the sockets or the locks.
TEST_F(CompileTest, WorkerInheritsNothingAndDiesWithTheDaemon) {
  ASSERT_EQ(Ask(MakeRequest(Register(SmallProgram()), "opaque", 1)).state(),
            v1::STATE_READY);
  const std::vector<pid_t> workers = daemon_.Workers();
  ASSERT_FALSE(workers.empty());
  for (const pid_t worker : workers) {
    const std::string folder = "/proc/" + std::to_string(worker) + "/fd";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::error_code error;
      const std::string target =
          std::filesystem::read_symlink(entry.path(), error).string();
      EXPECT_EQ(target.find(daemon_.folder().string()), target.npos) << target;
      if (target.starts_with("socket:")) {
        EXPECT_EQ(entry.path().filename(), "3") << "only the channel";
      }
    }
  }
  daemon_.Kill();
  EXPECT_TRUE(Eventually(
      [&] { return std::ranges::all_of(workers, testing::IsGone); }));
}

TEST_F(CompileTest, CompileRunsCleanUnderTheValidationLayer) {
  DaemonProcess validated({{"--validate"}, {}});
  ASSERT_OK(validated.Start());
  for (const char* target : {"radv:vangogh", "lavapipe"}) {
    StreamClient client(validated.socket());
    ASSERT_OK(client.Attach(target));
    ASSERT_OK_AND_ASSIGN(const Digest id,
                         validated.Connect()->RegisterProgram(SmallProgram()));
    ASSERT_OK_AND_ASSIGN(const v1::Completion completion,
                         client.AskOne(MakeRequest(id, "blended", 1)));
    EXPECT_EQ(completion.state(), v1::STATE_READY)
        << completion.ShortDebugString();
  }
  EXPECT_EQ(validated.CounterValue("validation_messages"), 0u)
      << validated.Log();
}

}  // namespace
}  // namespace kiln::daemon
