// SPDX-License-Identifier: Apache-2.0

// kiln-worker alone, from a job file to a result file: what build farms run
// and bug reports repeat.

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/demo/child.h"
#include "kiln/worker/v1/worker.pb.h"
#include "proto/artifact.h"
#include "proto/module_interface.h"
#include "proto/program.h"
#include "proto/variant_key.h"
#include "tests/support/eventually.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::SmallProgram;

class WorkerFileTest : public ::testing::Test {
 protected:
  // Runs the worker on a job for `program` with one bit, which `change` may
  // change. Returns: its exit code.
  int RunJob(const Program& program,
             const std::function<void(worker::v1::Job&)>& change = {},
             const std::vector<std::string>& arguments = {}) {
    const Bytes canonical = EncodeProgram(program);
    const Digest id = Digest::Of(canonical);
    const auto key = NormaliseKey(program, {id, "opaque", "", "", 1, {}});
    worker::v1::Job job;
    job.set_job_id(7);
    job.set_key(std::string(AsText(EncodeKey(*key))));
    job.mutable_program()->set_program_id(std::string(id.raw()));
    job.mutable_program()->set_canonical(std::string(AsText(canonical)));
    if (change) {
      change(job);
    }
    std::ofstream(folder_.path() / "job", std::ios::binary)
        << job.SerializeAsString();
    std::filesystem::remove(folder_.path() / "log");
    std::vector<std::string> all = {"--target", "radv:vangogh",
                                    "--job",    folder_.path() / "job",
                                    "--out",    folder_.path() / "out"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    auto child = demo::Child::Start(KILN_BINARY_DIR "/kiln-worker",
                                    {all, {}, folder_.path() / "log"});
    EXPECT_OK(child);
    const int code = (*child)->Wait(testing::kLongEnough).value_or(-1);
    std::ifstream in(folder_.path() / "out", std::ios::binary);
    EXPECT_TRUE(result_.ParseFromIstream(&in));
    return code;
  }

  // The only module that the last job made.
  worker::v1::StageModule OnlyModule() const {
    EXPECT_EQ(result_.modules_size(), 1);
    return result_.modules_size() == 1 ? result_.modules(0)
                                       : worker::v1::StageModule();
  }

  std::string Log() const {
    std::ifstream in(folder_.path() / "log");
    return {std::istreambuf_iterator<char>(in), {}};
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

// A program with an unused override, and what the daemon gets of it.
Program WithUnusedOverride() {
  Program program = SmallProgram(
      "#version 460\n"
      "layout(constant_id = 2) const uint Features = 3u;\n"
      "layout(constant_id = 7) const uint idle = 5u;\n"
      "layout(set = 0, binding = 3) uniform Light { vec4 colour; } light;\n"
      "layout(location = 0) out vec4 o;\n"
      "void main() { o = light.colour * float(Features); }\n");
  program.overrides = {{.name = "idle", .constant_id = 7, .default_value = 5}};
  program.pipeline.descriptors = {
      {0, 3, "uniform_buffer", 1, {Stage::kFragment}}};
  return program;
}

TEST_F(WorkerFileTest, EachModuleComesWithItsInterface) {
  ASSERT_EQ(RunJob(WithUnusedOverride()), 0) << result_.error();
  ASSERT_EQ(result_.modules_size(), 2);
  ASSERT_OK_AND_ASSIGN(
      const ModuleInterface fragment,
      DecodeInterface(AsBytes(result_.modules(1).interface())));
  EXPECT_EQ(fragment.entry_point, "main");
  EXPECT_THAT(fragment.bindings, ElementsAre(InterfaceBinding{
                                     "light", 0, 3, "uniform_buffer", 1}));
  ASSERT_EQ(fragment.constants.size(), 2u);
  EXPECT_TRUE(fragment.constants[0].used);
  EXPECT_FALSE(fragment.constants[1].used);
  EXPECT_OK(DecodeInterface(AsBytes(result_.modules(0).interface())));
  EXPECT_THAT(result_.unused_overrides(), ElementsAre("idle"));
  EXPECT_NE(result_.front_end_us(), 0u);
}

TEST_F(WorkerFileTest, OnlyTheStagesThatTheDaemonLacksAreCompiled) {
  const Program program = WithUnusedOverride();
  ASSERT_EQ(RunJob(program), 0);
  const worker::v1::StageModule vertex = result_.modules(0);
  const worker::v1::StageModule fragment = result_.modules(1);
  ASSERT_EQ(RunJob(program,
                   [&](worker::v1::Job& job) {
                     *job.mutable_program()->add_modules() = vertex;
                   }),
            0);
  EXPECT_EQ(OnlyModule().stage(), static_cast<uint32_t>(Stage::kFragment));
  EXPECT_EQ(OnlyModule().digest(), fragment.digest());
  EXPECT_THAT(result_.unused_overrides(), ElementsAre("idle"));
  EXPECT_THAT(Log(), AllOf(HasSubstr("front end, fragment stage 'small.frag'"),
                           Not(HasSubstr("vertex stage"))));
}

TEST_F(WorkerFileTest, OverridesOfModulesOfAnotherProgramAreCheckedAgain) {
  const Program program = WithUnusedOverride();
  ASSERT_EQ(RunJob(program), 0);
  const worker::v1::JobResult first = result_;
  auto add_modules = [&](worker::v1::Job& job) {
    *job.mutable_program()->mutable_modules() = first.modules();
  };
  ASSERT_EQ(RunJob(program, add_modules), 0);
  EXPECT_EQ(result_.modules_size(), 0);
  EXPECT_THAT(result_.unused_overrides(), ElementsAre("idle"));
  EXPECT_NE(result_.front_end_us(), 0u);
  ASSERT_EQ(RunJob(program,
                   [&](worker::v1::Job& job) {
                     add_modules(job);
                     job.mutable_program()->set_checked(true);
                   }),
            0);
  EXPECT_EQ(result_.modules_size(), 0);
  EXPECT_THAT(result_.unused_overrides(), IsEmpty());
  EXPECT_EQ(result_.front_end_us(), 0u);
  Program other = program;
  other.overrides[0].default_value = 6;
  EXPECT_EQ(RunJob(other, add_modules), 1);
  EXPECT_THAT(result_.error(), HasSubstr("override idle"));
  EXPECT_TRUE(result_.front_end_failed());
}

TEST_F(WorkerFileTest, ModuleOfNoStageOfTheProgramIsRefused) {
  const Program program = SmallProgram();
  ASSERT_EQ(RunJob(program), 0);
  worker::v1::StageModule stray = result_.modules(0);
  stray.set_stage(static_cast<uint32_t>(Stage::kCompute));
  EXPECT_EQ(RunJob(program,
                   [&](worker::v1::Job& job) {
                     *job.mutable_program()->add_modules() = stray;
                   }),
            1);
  EXPECT_THAT(Log(), HasSubstr("a module is of no stage of the program"));
}

Program LoneFragment() {
  Program program = SmallProgram();
  program.stages.erase(program.stages.begin());
  program.files.pop_back();
  return program;
}

TEST_F(WorkerFileTest, ShaderHasAFrontEndAndNoVariants) {
  ASSERT_TRUE(LoneFragment().IsShader());
  EXPECT_EQ(RunJob(LoneFragment(),
                   [](worker::v1::Job& job) { job.set_front_end_only(true); }),
            0);
  EXPECT_EQ(OnlyModule().stage(), static_cast<uint32_t>(Stage::kFragment));
  EXPECT_EQ(result_.artifact(), "");
  EXPECT_EQ(RunJob(LoneFragment()), 1);
  EXPECT_EQ(result_.error(),
            "a shader, not a pipeline: it has no vertex stage");
}

TEST_F(WorkerFileTest, WorkerWithoutACompilerRefusesEveryJob) {
  const Program program = SmallProgram();
  ASSERT_EQ(RunJob(program), 0);
  const worker::v1::JobResult first = result_;
  for (const bool with_modules : {false, true}) {
    EXPECT_EQ(RunJob(program,
                     [&](worker::v1::Job& job) {
                       if (with_modules) {
                         *job.mutable_program()->mutable_modules() =
                             first.modules();
                         job.mutable_program()->set_checked(true);
                       }
                     },
                     {"--no-compiler"}),
              1);
    EXPECT_EQ(result_.error_code(),
              static_cast<uint32_t>(absl::StatusCode::kFailedPrecondition));
    EXPECT_EQ(result_.error(), "sealed: nothing is compiled here");
    EXPECT_EQ(result_.modules_size(), 0);
  }
}

// The driver gets the entry point under the name that the program has for it.
TEST_F(WorkerFileTest, HlslWithItsOwnEntryPointsBecomesAProvenArtifact) {
  Program program = SmallProgram();
  program.stages = {{Stage::kVertex, "a.hlsl", Language::kHlsl, "place"},
                    {Stage::kFragment, "a.hlsl", Language::kHlsl, "shade"}};
  program.files = {{"a.hlsl", R"(
[[vk::constant_id(2)]] const uint Features = 3;
struct Push { float4 tint; };
[[vk::push_constant]] ConstantBuffer<Push> push;
float4 place(uint id : SV_VertexID) : SV_Position { return float4(id & 1, id >> 1, 0, 1); }
float4 shade() : SV_Target0 {
  return (Features & 1) != 0 ? sin(push.tint) : push.tint;
})"}};
  ASSERT_EQ(RunJob(program), 0) << result_.error() << result_.diagnostics();
  ASSERT_OK_AND_ASSIGN(const Artifact artifact,
                       DecodeArtifact(AsBytes(result_.artifact())));
  EXPECT_EQ(artifact.proof, Proof::kProven);
}

TEST_F(WorkerFileTest, SpirvOfAnEarlierRunBecomesTheSameModule) {
  Program program = SmallProgram();
  ASSERT_EQ(RunJob(program), 0);
  const worker::v1::StageModule fragment = result_.modules(1);
  program.stages[1].language = Language::kSpirv;
  program.files[0].text = fragment.spirv();
  ASSERT_EQ(RunJob(program), 0) << result_.error() << result_.diagnostics();
  EXPECT_EQ(result_.modules(1).digest(), fragment.digest());
}

TEST_F(WorkerFileTest, WarningsOfAStageComeWithItsModule) {
  Program program = SmallProgram();  // one shader of it: no pipeline to fit
  program.stages = {{Stage::kFragment, "small.hlsl", Language::kHlsl, "main"}};
  program.files = {{"small.hlsl", R"(
[[vk::constant_id(2)]] const uint Features = 3;
Texture2D t : register(t0);
SamplerState s : register(s0);
float4 main() : SV_Target0 { return t.Sample(s, float2(0, 0)) * Features; })"}};
  EXPECT_EQ(RunJob(program,
                   [](worker::v1::Job& job) { job.set_front_end_only(true); }),
            0)
      << result_.error();
  ASSERT_EQ(result_.modules_size(), 1);
  EXPECT_THAT(result_.modules(0).warnings(),
              HasSubstr("are both set 0, binding 0"));
}

// KNOWN_FAULTS 38: shaderc ends without a word when there is no memory left.
TEST_F(WorkerFileTest, MacroBombFailsWithAMessageThatNamesTheFile) {
  std::string fragment = "#version 460\n#define A0 o.x+=1.0;\n";
  for (int i = 1; i <= 23; ++i) {
    const std::string half = " A" + std::to_string(i - 1);
    fragment += "#define A" + std::to_string(i) + half + half + "\n";
  }
  fragment +=
      "layout(location = 0) out vec4 o;\nvoid main() { o = vec4(0); A23 }\n";
  EXPECT_EQ(RunJob(SmallProgram(fragment), {}, {"--memory-mb", "512"}), 1);
  EXPECT_THAT(result_.error(),
              HasSubstr("fragment stage 'small.frag' does not compile"));
  EXPECT_THAT(result_.diagnostics(),
              HasSubstr("small.frag:1: error: the compiler ended without a "
                        "message; most likely it ran out of memory"));
}

}  // namespace
}  // namespace kiln::daemon
