// SPDX-License-Identifier: Apache-2.0

// kiln-worker alone, from a job file to a result file: what build farms run
// and bug reports repeat.

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/demo/child.h"
#include "kiln/worker/v1/worker.pb.h"
#include "proto/artifact.h"
#include "proto/program.h"
#include "proto/variant_key.h"
#include "tests/support/eventually.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::daemon {
namespace {

using ::testing::HasSubstr;
using testing::SmallProgram;

class WorkerFileTest : public ::testing::Test {
 protected:
  // Runs the worker on a job for `program` with one bit. Returns: its exit
  // code.
  int RunJob(const Program& program) {
    const Bytes canonical = EncodeProgram(program);
    const Digest id = Digest::Of(canonical);
    const auto key = NormaliseKey(program, {id, "opaque", "", "", 1, {}});
    worker::v1::Job job;
    job.set_job_id(7);
    job.set_key(std::string(AsText(EncodeKey(*key))));
    job.mutable_program()->set_program_id(std::string(id.raw()));
    job.mutable_program()->set_canonical(std::string(AsText(canonical)));
    std::ofstream(folder_.path() / "job", std::ios::binary)
        << job.SerializeAsString();
    auto child = demo::Child::Start(
        KILN_BINARY_DIR "/kiln-worker",
        {{"--target", "radv:vangogh", "--job", folder_.path() / "job", "--out",
          folder_.path() / "out"},
         {},
         folder_.path() / "log"});
    EXPECT_OK(child);
    const int code = (*child)->Wait(testing::kLongEnough).value_or(-1);
    std::ifstream in(folder_.path() / "out", std::ios::binary);
    EXPECT_TRUE(result_.ParseFromIstream(&in));
    return code;
  }

  testing::TempDir folder_;
  worker::v1::JobResult result_;
};

TEST_F(WorkerFileTest, JobFileBecomesAProvenArtifactWithItsModules) {
  EXPECT_EQ(RunJob(SmallProgram()), 0);
  EXPECT_EQ(result_.job_id(), 7u);
  EXPECT_EQ(result_.modules_size(), 2);
  ASSERT_OK_AND_ASSIGN(const Artifact artifact,
                       DecodeArtifact(AsBytes(result_.artifact())));
  EXPECT_EQ(artifact.proof, Proof::kProven);
  EXPECT_EQ(artifact.key.features, 1u);
}

TEST_F(WorkerFileTest, JobThatDoesNotCompileSaysWhyInTheResult) {
  EXPECT_EQ(RunJob(SmallProgram("#version 460\nvoid main() { x; }\n")), 1);
  EXPECT_NE(result_.error_code(), 0u);
  EXPECT_THAT(result_.diagnostics(), HasSubstr("small.frag:2"));
}

}  // namespace
}  // namespace kiln::daemon
