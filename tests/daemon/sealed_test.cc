// SPDX-License-Identifier: Apache-2.0

// A sealed kilnd: no sources, no compiler; what is not stored is a miss that
// says so.

#include <filesystem>

#include "tests/daemon/live_fixture.h"

namespace kiln::daemon {
namespace {

using testing::DaemonProcess;
using ::testing::HasSubstr;
using testing::MakeRequest;
using testing::StatusIs;
using testing::StreamClient;

// Fills a store from sources, takes the sources away and serves it sealed.
class SealedTest : public LiveFixture {
 protected:
  void SetUp() override {
    LiveFixture::SetUp();
    program_ = Register(Recipe());
    {
      StreamClient client(daemon_.socket());
      ASSERT_OK(client.Attach(kLiveTarget));
      ASSERT_OK_AND_ASSIGN(stored_,
                           client.AskOne(MakeRequest(program_, "opaque", 1)));
      ASSERT_EQ(stored_.state(), v1::STATE_READY) << TextOf(stored_);
    }
    ASSERT_OK(daemon_.Stop());
    std::filesystem::remove_all(root_.path());
    sealed_.set_state(daemon_.state());
    ASSERT_OK(sealed_.Start());
  }

  v1::Completion AskSealed(const v1::VariantRequest& request) {
    StreamClient client(sealed_.socket());
    EXPECT_OK(client.Attach(kLiveTarget));
    auto completion = client.AskOne(request);
    EXPECT_OK(completion);
    return completion.value_or(v1::Completion());
  }

  Digest program_;
  v1::Completion stored_;
  DaemonProcess sealed_{{{"--sealed"}, {}}};
};

TEST_F(SealedTest, ServesWhatIsStoredWithoutSourcesOrCompiler) {
  const v1::Completion completion =
      AskSealed(MakeRequest(program_, "opaque", 1));
  EXPECT_EQ(completion.state(), v1::STATE_READY) << TextOf(completion);
  EXPECT_EQ(completion.variant().key_id(), stored_.variant().key_id());
  ASSERT_OK(sealed_.Connect()->GetArtifact(
      Digest::FromRaw(completion.variant().key_id())->Hex(), Digest()));
  EXPECT_EQ(sealed_.CounterValue("front_end_runs"), 0u);
  EXPECT_EQ(sealed_.CounterValue("compiles_started"), 0u);
  EXPECT_EQ(sealed_.CounterValue("source_stats"), 0u);
  EXPECT_EQ(sealed_.CounterValue("source_reads"), 0u);
  ASSERT_OK_AND_ASSIGN(const auto status, sealed_.Connect()->GetStatus());
  EXPECT_TRUE(status.sealed());
}

TEST_F(SealedTest, MissSaysThatItIsSealed) {
  const v1::Completion completion =
      AskSealed(MakeRequest(program_, "opaque", 2));
  EXPECT_EQ(completion.state(), v1::STATE_FAILED);
  EXPECT_THAT(TextOf(completion), HasSubstr("sealed"));
  EXPECT_EQ(sealed_.CounterValue("sealed_misses"), 1u);
  EXPECT_EQ(sealed_.CounterValue("compiles_started"), 0u);
  EXPECT_EQ(sealed_.CounterValue("front_end_runs"), 0u);
}

TEST_F(SealedTest, RecipeThatWasNeverCompiledIsAMiss) {
  Program other = Recipe();
  other.name = "other";
  ASSERT_OK_AND_ASSIGN(const Digest id,
                       sealed_.Connect()->RegisterProgram(other));
  const v1::Completion completion = AskSealed(MakeRequest(id, "opaque", 1));
  EXPECT_EQ(completion.state(), v1::STATE_FAILED);
  EXPECT_THAT(TextOf(completion), HasSubstr("sealed"));
}

TEST_F(SealedTest, FrontEndThatIsNotStoredIsAMiss) {
  ASSERT_OK_AND_ASSIGN(const Digest id,
                       sealed_.Connect()->RegisterProgram(
                           Shader("other.frag", Stage::kFragment)));
  StreamClient client(sealed_.socket());
  ASSERT_OK(client.Attach(kLiveTarget));
  AskShader(client, id);
  const v1::Completion completion = Next(client);
  EXPECT_EQ(completion.state(), v1::STATE_FAILED);
  EXPECT_THAT(TextOf(completion), HasSubstr("sealed"));
  EXPECT_EQ(sealed_.CounterValue("sealed_misses"), 1u);
}

TEST_F(SealedTest, TakesNoRootsAndNoSurfacesAndChangesNone) {
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("sealed: "));
  const auto rpc = sealed_.Connect();
  const std::string name = "engine";
  EXPECT_THAT(rpc->AddRoot(name, "/tmp", "").status(), refused);
  EXPECT_THAT(rpc->RemoveRoot(name), refused);
  EXPECT_THAT(rpc->MarkRoots({&name, 1}, true), refused);
  EXPECT_THAT(
      rpc->RegisterSurface(program_, "rust", "void surface() {}\n", kLiveTarget)
          .status(),
      refused);
  EXPECT_THAT(rpc->RemoveSurface(program_, 1).status(), refused);
}

TEST(SealedStartTest, RootsAndSealedExcludeEachOther) {
  DaemonProcess daemon({{"--sealed", "--root", "/tmp"}, {}});
  ASSERT_OK(daemon.Launch());
  ASSERT_OK_AND_ASSIGN(const int code, daemon.Wait());
  EXPECT_EQ(code, 2);
}

}  // namespace
}  // namespace kiln::daemon
