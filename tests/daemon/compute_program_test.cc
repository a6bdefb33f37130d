// SPDX-License-Identifier: Apache-2.0

// Compute programs through the daemon: a workgroup size is an override like
// any other, but one that a device can refuse.

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/v1/kiln.pb.h"
#include "proto/program_file.h"
#include "tests/support/daemon_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/stream_client.h"
#include "tests/support/targets.h"

namespace kiln::daemon {
namespace {

using ::testing::AllOf;
using testing::DaemonProcess;
using ::testing::HasSubstr;
using testing::kVanGogh;
using testing::StreamClient;

class ComputeProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(daemon_.Start());
    client_ = std::make_unique<StreamClient>(daemon_.socket());
    ASSERT_OK(client_->Attach(kVanGogh));
    auto program = LoadProgramFile(KILN_SOURCE_DIR
                                   "/shaders/examples/blur/blur.program.toml");
    ASSERT_OK(program);
    ASSERT_OK_AND_ASSIGN(id_, daemon_.Connect()->RegisterProgram(*program));
  }

  v1::Completion Ask(uint64_t width, uint64_t height) {
    v1::VariantRequest request = testing::MakeRequest(id_, "compute", 0);
    for (const auto& [name, value] :
         {std::pair("WIDTH", width), std::pair("HEIGHT", height)}) {
      v1::OverrideValue* entry = request.add_overrides();
      entry->set_name(name);
      entry->set_value(value);
    }
    auto completion = client_->AskOne(request);
    EXPECT_OK(completion);
    return completion.value_or(v1::Completion());
  }

  DaemonProcess daemon_{{{"--validate"}, {}}};
  std::unique_ptr<StreamClient> client_;
  Digest id_;
};

TEST_F(ComputeProgramTest, EverySizeIsAVariantOfItsOwnAndProven) {
  const v1::Completion line = Ask(64, 4);
  ASSERT_EQ(line.state(), v1::STATE_READY) << line.ShortDebugString();
  EXPECT_EQ(line.variant().proof(), v1::PROOF_PROVEN);
  EXPECT_EQ(line.variant().label(),
            "blur compute/none/none none HEIGHT=4|WIDTH=64");
  EXPECT_GT(line.variant().registers(), 0u);
  EXPECT_GT(line.variant().waves(), 0u);

  const v1::Completion block = Ask(16, 16);
  ASSERT_EQ(block.state(), v1::STATE_READY) << block.ShortDebugString();
  EXPECT_EQ(block.variant().proof(), v1::PROOF_PROVEN);
  EXPECT_EQ(block.origin(), v1::ORIGIN_COMPILED);
  EXPECT_NE(block.variant().key_id(), line.variant().key_id());

  // The default of 8 x 8 is left out of the key, not out of the code.
  const v1::Completion usual = Ask(8, 8);
  ASSERT_EQ(usual.state(), v1::STATE_READY) << usual.ShortDebugString();
  EXPECT_EQ(usual.variant().label(), "blur compute/none/none none");
  EXPECT_EQ(Ask(64, 4).origin(), v1::ORIGIN_STORE);
  EXPECT_EQ(daemon_.CounterValue("compiles_started"), 3u);
  EXPECT_EQ(daemon_.CounterValue("validation_messages"), 0u) << daemon_.Log();
}

// No driver sees it: some abort the process.
TEST_F(ComputeProgramTest, SizeOverTheDevicesLimitIsRefusedWithWhatItIs) {
  const v1::Completion wide = Ask(64, 64);  // 4096 invocations
  EXPECT_EQ(wide.state(), v1::STATE_FAILED);
  EXPECT_THAT(wide.failure().message(),
              AllOf(HasSubstr("WIDTH"), HasSubstr("HEIGHT"), HasSubstr("64"),
                    HasSubstr("1024")));
  const v1::Completion huge = Ask(uint64_t{1} << 20, 1);
  EXPECT_EQ(huge.state(), v1::STATE_FAILED);
  EXPECT_THAT(
      huge.failure().message(),
      AllOf(HasSubstr("WIDTH"), HasSubstr("1048576"), HasSubstr("1024")));
  EXPECT_EQ(daemon_.CounterValue("workers_crashed"), 0u) << daemon_.Log();
  EXPECT_EQ(Ask(32, 32).state(), v1::STATE_READY);
}

}  // namespace
}  // namespace kiln::daemon
