// SPDX-License-Identifier: Apache-2.0

// Measuring on lavapipe, with little work: what is measured is checked, never
// how fast it was.

#include "shaders/lab/tune.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program_file.h"
#include "shaders/compiler.h"
#include "shaders/schema_check.h"
#include "tests/shaders/pipeline_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::lab {
namespace {

using ::kiln::testing::kInvalid;
using ::kiln::testing::StatusIs;
using pipeline::Device;
using pipeline::OpenTarget;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Program Blur() {
  auto program = LoadProgramFile(KILN_SOURCE_DIR
                                 "/shaders/examples/blur/blur.program.toml");
  EXPECT_OK(program);
  return program.value_or(Program());
}

// A line of invocations that writes to `uint out_words[]`. The size has a name
// in the shader, so the schema needs no constant_id.
Program Line(const std::string& body, const std::string& globals = "") {
  Program program;
  program.name = "line";
  program.stages = {{Stage::kCompute, "line.comp"}};
  program.kinds = {{{"compute", {}, {}}}};
  program.backdrops = {{"none", {}, {}}};
  program.blends = {{"none", {}, {}}};
  program.overrides = {{"GROUP", std::nullopt, ConstantType::kUint32, 64}};
  program.workgroup_size = {"GROUP"};
  program.pipeline.descriptors = {
      {0, 0, "storage_buffer", 1, {Stage::kCompute}}};
  program.files = {
      {"line.comp",
       "#version 460\n"
       "layout(local_size_x = 64, local_size_x_id = 3) in;\n"
       "layout(constant_id = 3) const uint GROUP = 64u;\n"
       "layout(set = 0, binding = 0) buffer Out { uint out_words[]; };\n" +
           globals + "void main() { const uint i = gl_GlobalInvocationID.x; " +
           body + " }\n"}};
  EXPECT_OK(program.Validate());
  return program;
}

class TuneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = OpenTarget("lavapipe");
    if (absl::IsNotFound(opened.status())) {
      GTEST_SKIP() << opened.status();
    }
    ASSERT_OK(opened);
    device_ = *std::move(opened);
  }

  void TearDown() override {
    if (device_ != nullptr) {
      EXPECT_THAT(device_->validation_messages(), IsEmpty());
    }
  }

  absl::StatusOr<TuneReport> Tune(const Program& program,
                                  TuneOptions options = {}) {
    if (options.work == std::array<uint32_t, 3>{0, 0, 0}) {
      options.work = {4096, 1, 1};
    }
    options.rounds = 3;
    return TuneProgram(*device_, program, options);
  }

  std::unique_ptr<Device> device_;
};

TEST_F(TuneTest, EverySizeOfTheExampleIsMeasuredOnTheSameWork) {
  TuneOptions options;
  options.work = {64, 48, 1};
  options.choices = {{"WIDTH", {1, 8, 64}}, {"HEIGHT", {1, 8}}};
  size_t last = 0;
  size_t total = 0;
  options.on_progress = [&](size_t done, size_t all) {
    EXPECT_GT(done, last);
    last = done;
    total = all;
    return true;
  };
  ASSERT_OK_AND_ASSIGN(const TuneReport report, Tune(Blur(), options));
  EXPECT_THAT(report.refused, IsEmpty());
  ASSERT_THAT(report.measured, SizeIs(6));
  for (const TunedSize& size : report.measured) {
    EXPECT_THAT(size.microseconds, SizeIs(3));
    EXPECT_THAT(size.microseconds, Each(::testing::Gt(0.0)));
    EXPECT_EQ(size.groups[0] * size.size.size[0], 64u);
    EXPECT_EQ(size.groups[1] * size.size.size[1], 48u);
    EXPECT_EQ(size.groups[2], 1u);
  }
  EXPECT_TRUE(
      std::ranges::is_sorted(report.measured, {}, &TunedSize::median_us));
  EXPECT_LE(report.measured[report.best].median_us,
            report.measured.front().median_us * 1.02);
  EXPECT_TRUE(report.time_stamps);
  EXPECT_TRUE(report.wrote_output);
  EXPECT_TRUE(report.outputs_agree);
  EXPECT_EQ(last, total);
  EXPECT_EQ(total, 6u * 4u);
}

TEST_F(TuneTest, EverySizeWritesEveryElement) {
  // 4096 is not a multiple of 48, so groups stick out.
  Program program = Line("if (i < 4096u) { out_words[i] = i * 2654435761u; }");
  TuneOptions options;
  options.elements = 4096;
  options.choices = {{"GROUP", {1, 2, 16, 48, 64, 256, 1024}}};
  ASSERT_OK_AND_ASSIGN(const TuneReport report, Tune(program, options));
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 4096; ++i) {
    expected.push_back(i * 2654435761u);
  }
  const Digest digest =
      Digest::Of(AsBytes(std::span<const uint32_t>(expected)));
  ASSERT_THAT(report.measured, SizeIs(7));
  EXPECT_THAT(report.measured, Each(Field(&TunedSize::output, digest)));
}

// Each dispatch starts from the same content, or the second would not be what
// the first one was.
TEST_F(TuneTest, KernelThatChangesItsInputIsGivenItAnewEachTime) {
  ASSERT_OK_AND_ASSIGN(const TuneReport report,
                       Tune(Line("out_words[i] = out_words[i] * 3u + 1u;")));
  EXPECT_TRUE(report.wrote_output);
  EXPECT_TRUE(report.outputs_agree);
}

TEST_F(TuneTest, SizesOverTheDevicesLimitsAreNamedAndNotMeasured) {
  Program program = Line("out_words[i] = i;");
  program.overrides[0].steps = {64, 1u << 20};
  ASSERT_OK_AND_ASSIGN(const TuneReport report, Tune(program));
  ASSERT_THAT(report.measured, SizeIs(1));
  EXPECT_EQ(report.measured[0].size.size[0], 64u);
  ASSERT_THAT(report.refused, SizeIs(1));
  EXPECT_EQ(report.refused[0].size, "GROUP=1048576");
  EXPECT_THAT(report.refused[0].why, HasSubstr("maxComputeWorkGroupSize[0]"));
}

TEST_F(TuneTest, SharedMemoryThatGrowsWithTheSizeIsHeldToItsLimit) {
  const Program program = Line(
      "tile[gl_LocalInvocationIndex * 64u] = vec4(i); barrier(); "
      "out_words[i] = uint(tile[0].x);",
      "shared vec4 tile[GROUP * 64u];\n");
  TuneOptions options;
  options.choices = {{"GROUP", {16, 1024}}};
  ASSERT_OK_AND_ASSIGN(const TuneReport report, Tune(program, options));
  ASSERT_THAT(report.measured, SizeIs(1));
  ASSERT_THAT(report.refused, SizeIs(1));
  EXPECT_EQ(report.refused[0].size, "GROUP=1024");
  EXPECT_THAT(report.refused[0].why,
              AllOf(HasSubstr("GROUP"), HasSubstr("1048576")));
}

TEST_F(TuneTest, KernelThatFindsNothingToDoIsTold) {
  ASSERT_OK_AND_ASSIGN(
      const TuneReport report,
      Tune(Line("if (i == 0xFFFFFFFFu) { out_words[0] = 1u; }")));
  EXPECT_FALSE(report.wrote_output);
  EXPECT_TRUE(report.outputs_agree);
}

TEST_F(TuneTest, KernelWhoseOutputDependsOnTheSizeIsTold) {
  ASSERT_OK_AND_ASSIGN(const TuneReport report,
                       Tune(Line("out_words[i] = gl_WorkGroupSize.x;")));
  EXPECT_TRUE(report.wrote_output);
  EXPECT_FALSE(report.outputs_agree);
}

TEST_F(TuneTest, SizeThatWouldTakeTooLongIsRefusedWithWhatItTook) {
  TuneOptions options;
  options.size_limit = std::chrono::milliseconds(0);
  EXPECT_THAT(Tune(Line("out_words[i] = i;"), options),
              StatusIs(kInvalid, "three whole dispatches may take 0 ms"));
}

TEST_F(TuneTest, TuningThatIsInterruptedEndsAtOnce) {
  TuneOptions options;
  size_t calls = 0;
  options.on_progress = [&](size_t, size_t) { return ++calls < 3; };
  EXPECT_THAT(Tune(Line("out_words[i] = i;"), options),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(calls, 3u);
}

TEST_F(TuneTest, WorkAndProgramsThatCannotBeMeasuredAreRefused) {
  TuneOptions options;
  options.work = {16, 0, 1};
  EXPECT_THAT(Tune(Line("out_words[i] = i;"), options),
              StatusIs(kInvalid, "work of 16x0x1"));
  EXPECT_THAT(Tune(Line("out_words[i] = no_such_variable;")),
              StatusIs(kInvalid, "no_such_variable"));
  EXPECT_THAT(Tune(pipeline::PipelineProgram()),
              StatusIs(kInvalid, "is a graphics program"));
}

// Without `local_size_x`, the size of a key that leaves GROUP at its default of
// 64 would be 1, and a 64th of the work would pass for all of it.
TEST_F(TuneTest, DefaultSizeThatIsNotTheSchemasIsRefused) {
  Program program = Line("out_words[i] = i;");
  std::string& text = program.files[0].text;
  text.replace(text.find("local_size_x = 64, "), 19, "");
  EXPECT_THAT(Tune(program),
              StatusIs(kInvalid, "two defaults: 1 of no name and 64"));
}

TEST(TuneOnRadvTest, TargetThatOnlyCompilesIsRefused) {
  KILN_OPEN_OR_SKIP(device, "radv:vangogh");
  EXPECT_THAT(TuneProgram(*device, Blur()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "only compiles"));
}

TEST(BlurTest, SchemaOfTheExampleSaysWhatItsShaderSays) {
  const Program program = Blur();
  const shaders::StageResult stage =
      shaders::CompileStage(program, Stage::kCompute);
  ASSERT_TRUE(stage.ok()) << stage.diagnostics;
  const shaders::StageModule module{Stage::kCompute, stage.spirv};
  EXPECT_THAT(shaders::CompareSchema(program, {&module, 1}), IsEmpty());
}

}  // namespace
}  // namespace kiln::lab
