// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/pipeline.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/text.h"
#include "tests/shaders/assembly.h"
#include "tests/shaders/pipeline_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/targets.h"

namespace kiln::pipeline {
namespace {

using ::kiln::testing::kInvalid;
using ::kiln::testing::kLavapipe;
using ::kiln::testing::kVanGogh;
using ::kiln::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

TEST(PipelineTest, BlobMadeOnOneRadvDeviceIsACacheHitOnAnother) {
  KILN_OPEN_OR_SKIP(first, kVanGogh);
  const PipelineCase test;
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline compiled,
                       CompilePipeline(*first, test.Input()));
  EXPECT_FALSE(IsHeaderOnlyBlob(compiled.blob));
  EXPECT_GT(compiled.compile_us, 0u);

  KILN_OPEN_OR_SKIP(second, kVanGogh);
  EXPECT_EQ(first->identity().Id(), second->identity().Id());
  ASSERT_OK_AND_ASSIGN(const CreatedPipeline created,
                       CreateFromBlob(*second, test.Input(), compiled.blob));
  EXPECT_EQ(created.feedback, HitFeedback::kCacheHit);
  EXPECT_NE(created.pipeline.vk_pipeline(), nullptr);
  EXPECT_NE(created.pipeline.vk_layout(), nullptr);
  EXPECT_NE(created.pipeline.vk_set_layout(2), nullptr);
  EXPECT_EQ(created.pipeline.vk_set_layout(3), nullptr);
  EXPECT_THAT(first->validation_messages(), IsEmpty());
  EXPECT_THAT(second->validation_messages(), IsEmpty());
}

TEST(PipelineTest, BlobIsTheSameEachTimeItIsMade) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  const PipelineCase test;
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline first,
                       CompilePipeline(*device, test.Input()));
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline second,
                       CompilePipeline(*device, test.Input()));
  EXPECT_EQ(first.blob, second.blob);
}

TEST(PipelineTest, BlobOfAnotherKeyAnswersCompileRequired) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  const PipelineCase test;
  const VariantKey light = test.Key("opaque", 0);
  const VariantKey blended = test.Key("blended", 1);
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline compiled,
                       CompilePipeline(*device, test.Input()));
  for (const VariantKey* key : {&light, &blended}) {
    ASSERT_OK_AND_ASSIGN(
        const CreatedPipeline created,
        CreateFromBlob(*device, test.Input(*key), compiled.blob));
    EXPECT_EQ(created.feedback, HitFeedback::kCompileRequired);
    EXPECT_EQ(created.pipeline.vk_pipeline(), nullptr);
  }
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

// A hit can only come from our blob: no cache of the driver's own answers.
TEST(PipelineTest, PipelineCompiledBeforeIsNoHitWithoutItsBlob) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  const PipelineCase test;
  ASSERT_OK(CompilePipeline(*device, test.Input()));
  ASSERT_OK_AND_ASSIGN(const CreatedPipeline created,
                       CreateFromBlob(*device, test.Input(), {}));
  EXPECT_EQ(created.feedback, HitFeedback::kCompileRequired);
}

// DESIGN section 1: statistics capture is part of the driver's key, so taking
// statistics must not spoil the blob of the same key.
TEST(PipelineTest, MeasuringDoesNotChangeTheBlob) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  const PipelineCase test;
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline before,
                       CompilePipeline(*device, test.Input()));
  ASSERT_OK(MeasurePipeline(*device, test.Input()));
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline after,
                       CompilePipeline(*device, test.Input()));
  EXPECT_EQ(before.blob, after.blob);
}

TEST(PipelineTest,
     RadvReportsRegistersOfBothStagesAndTheCostOfTheFragmentStage) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  const PipelineCase test;
  ASSERT_OK_AND_ASSIGN(const PipelineStatistics measured,
                       MeasurePipeline(*device, test.Input()));
  const auto vgprs =
      std::ranges::count(measured.statistics, "VGPRs", &Statistic::name);
  EXPECT_EQ(vgprs, 2);
  EXPECT_THAT(measured.cost.registers, Optional(Gt(0u)));
  EXPECT_THAT(measured.cost.waves, Optional(Gt(0u)));
  EXPECT_THAT(measured.cost.instructions, Optional(Gt(0u)));
  EXPECT_THAT(measured.cost.spills, Optional(0u));
  EXPECT_THAT(measured.cost.code_bytes, Optional(Gt(0u)));
  EXPECT_THAT(measured.statistics,
              Contains(Field(&Statistic::executable, "Fragment Shader")));
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

TEST(PipelineTest, TwoValuesOfAConstantGiveTwoCosts) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  const PipelineCase test;
  const VariantKey light = test.Key("opaque", 0);
  ASSERT_OK_AND_ASSIGN(const PipelineStatistics whole,
                       MeasurePipeline(*device, test.Input()));
  ASSERT_OK_AND_ASSIGN(const PipelineStatistics part,
                       MeasurePipeline(*device, test.Input(light)));
  EXPECT_LT(part.cost.instructions.value(), whole.cost.instructions.value());
  EXPECT_LT(part.cost.registers.value(), whole.cost.registers.value());
}

TEST(PipelineTest, OverrideOfAKeyReachesTheDriver) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  const PipelineCase test;
  const VariantKey one = test.Key("opaque", 1, {{"NUM_LIGHTS", 1}});
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline four,
                       CompilePipeline(*device, test.Input()));
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline single,
                       CompilePipeline(*device, test.Input(one)));
  EXPECT_LT(single.blob.size(), four.blob.size());
}

// KNOWN_FAULTS 51: lavapipe's cache is its header.
TEST(PipelineTest, LavapipeCompilesButItsBlobProvesNothing) {
  KILN_OPEN_OR_SKIP(device, kLavapipe);
  const PipelineCase test;
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline compiled,
                       CompilePipeline(*device, test.Input()));
  EXPECT_TRUE(IsHeaderOnlyBlob(compiled.blob));
  ASSERT_OK_AND_ASSIGN(const CreatedPipeline created,
                       CreateFromBlob(*device, test.Input(), compiled.blob));
  EXPECT_EQ(created.feedback, HitFeedback::kCompileRequired);
  ASSERT_OK(MeasurePipeline(*device, test.Input()));
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

TEST(PipelineTest, EveryKindCompilesWithoutAValidationMessage) {
  for (const std::string_view target : {kVanGogh, kLavapipe}) {
    KILN_OPEN_OR_SKIP(device, target);
    const PipelineCase test;
    for (const char* kind : {"opaque", "blended"}) {
      const VariantKey key = test.Key(kind, 1);
      EXPECT_OK(CompilePipeline(*device, test.Input(key)));
    }
    EXPECT_THAT(device->validation_messages(), IsEmpty());
  }
}

TEST(PipelineTest, ProgramWithoutFragmentStageMakesADepthOnlyPipeline) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  Program program = PipelineProgram();
  program.stages.pop_back();
  program.features.clear();
  program.features_constant_ids.clear();
  program.overrides.clear();
  program.kinds = {{{"depth", {}, {}}, false, false}};
  program.pipeline.color_formats.clear();
  program.files.erase(program.files.begin());
  program.files.front().text = R"(#version 450
layout(location = 0) in vec3 position;
void main() { gl_Position = vec4(position, 1.0); }
)";
  const PipelineCase test(program, "depth");
  EXPECT_OK(CompilePipeline(*device, test.Input()));
  ASSERT_OK_AND_ASSIGN(const PipelineStatistics measured,
                       MeasurePipeline(*device, test.Input()));
  EXPECT_TRUE(measured.cost.registers.has_value());
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

TEST(PipelineTest, BlobOfAnotherFamilyIsNotUsed) {
  const PipelineCase test;
  Bytes blob;
  Digest first;
  {
    KILN_OPEN_OR_SKIP(device, "radv:navi21");
    ASSERT_OK_AND_ASSIGN(CompiledPipeline compiled,
                         CompilePipeline(*device, test.Input()));
    blob = std::move(compiled.blob);
    first = device->identity().Id();
  }
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  EXPECT_NE(device->identity().Id(), first);
  ASSERT_OK_AND_ASSIGN(const CreatedPipeline created,
                       CreateFromBlob(*device, test.Input(), blob));
  EXPECT_EQ(created.feedback, HitFeedback::kCompileRequired);
}

// One bad field of a program each, and the words its error must have.
struct BadField {
  const char* name;
  void (*spoil)(Program&);
  const char* words;
};

void PrintTo(const BadField& field, std::ostream* out) {
  *out << field.name;
}

class BadFieldTest : public ::testing::TestWithParam<BadField> {};

TEST_P(BadFieldTest, IsNamedInsteadOfReachingTheDriver) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  Program program = PipelineProgram();
  GetParam().spoil(program);
  const PipelineCase test(program);
  EXPECT_THAT(CompilePipeline(*device, test.Input()),
              StatusIs(kInvalid, GetParam().words));
  EXPECT_THAT(device->validation_messages(), IsEmpty());
}

AxisValue& Opaque(Program& program) {
  return program.kinds.front().value;
}

const BadField kBadFields[] = {
    {"UnknownState",
     [](Program& p) {
       Opaque(p).state.push_back({"shininess", "1"});
     },
     "unknown state 'shininess'; allowed: alpha_op,"},
    {"UnknownStateValue",
     [](Program& p) {
       Opaque(p).state = {{"cull", "sideways"}};
     },
     "state cull: unknown value 'sideways'; allowed: back, front, "
     "front_and_back, none"},
    {"UnknownColorFormat",
     [](Program& p) { p.pipeline.color_formats = {"r17_sfloat"}; },
     "color_formats[0]: unknown value 'r17_sfloat'"},
    {"CompressedColorFormat",
     [](Program& p) { p.pipeline.color_formats = {"bc7_unorm_block"}; },
     "color_formats[0]: the device cannot render to bc7_unorm_block"},
    {"IntegerFormatWithBlend",
     [](Program& p) {
       Opaque(p).state = {{"blend", "true"}};
       p.pipeline.color_formats = {"r32_uint"};
     },
     "color_formats[0]: the device cannot blend into r32_uint"},
    {"ColorAsDepthFormat",
     [](Program& p) { p.pipeline.depth_format = "r8g8b8a8_unorm"; },
     "depth_format: r8g8b8a8_unorm is no depth format"},
    {"OddSamples", [](Program& p) { p.pipeline.samples = 3; },
     "samples: the device has no 3"},
    {"UnknownTopology", [](Program& p) { p.pipeline.topology = "squares"; },
     "topology: unknown value 'squares'"},
    {"PatchTopology", [](Program& p) { p.pipeline.topology = "patch_list"; },
     "topology: patch_list needs a stage"},
    {"UnknownVertexFormat",
     [](Program& p) { p.pipeline.vertex_attributes[0].format = "vec3"; },
     "vertex_attribute 0: unknown value 'vec3'"},
    {"UndeclaredBinding",
     [](Program& p) { p.pipeline.vertex_attributes[0].binding = 5; },
     "vertex_attribute 0: binding 5 is not declared"},
    {"UnknownDescriptorType",
     [](Program& p) { p.pipeline.descriptors[1].type = "texture"; },
     "descriptor set 2 binding 1 type: unknown value 'texture'; allowed: "
     "combined_image_sampler"},
    {"ExtensionDescriptorType",
     [](Program& p) {
       p.pipeline.descriptors[1].type = "acceleration_structure_khr";
     },
     "needs an extension"},
    {"HugePushConstants",
     [](Program& p) { p.pipeline.push_constant_bytes = 1u << 20; },
     "push_constant_bytes is 1048576"},
    {"UnknownConstant",
     [](Program& p) {
       Opaque(p).constants.push_back({99, 1});
     },
     "no stage declares constant_id 99"},
};

INSTANTIATE_TEST_SUITE_P(PipelineTest, BadFieldTest,
                         ::testing::ValuesIn(kBadFields), [](const auto& test) {
                           return std::string(test.param.name);
                         });

TEST(PipelineTest, ConstantOfSixtyFourBitsIsRefused) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  Program program = PipelineProgram();
  program.files.front().text = R"(#version 450
layout(constant_id = 0) const uint Kind = 0u;
layout(constant_id = 2) const uint Features = 1u;
layout(constant_id = 7) const double NUM_LIGHTS = 4.0;
layout(location = 0) out vec4 color;
void main() { color = vec4(float(NUM_LIGHTS) + float(Features + Kind)); }
)";
  const PipelineCase test(program);
  const VariantKey key = test.Key("opaque", 1, {{"NUM_LIGHTS", 1}});
  EXPECT_THAT(CompilePipeline(*device, test.Input(key)),
              StatusIs(kInvalid,
                       "constant NUM_LIGHTS (constant_id 7) of the fragment "
                       "stage has 64 bits"));
}

TEST(PipelineTest, MissingStageIsNamed) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  const PipelineCase test;
  const VariantKey key = test.Key("opaque", 1);
  const PipelineInput whole = test.Input(key);
  const PipelineInput input{whole.program, key, whole.code.subspan(0, 1)};
  EXPECT_THAT(CompilePipeline(*device, input),
              StatusIs(kInvalid, "fragment stage"));
}

// One module with entry points of every stage, one of which the driver is to
// use.
TEST(PipelineTest, EntryPointThatTheProgramNamesIsTheOneThatIsUsed) {
  KILN_OPEN_OR_SKIP(device, kVanGogh);
  Program program = shaders::SpirvProgram(
      shaders::BytesOf(shaders::Assemble(shaders::kManyEntries)),
      Stage::kCompute, "work");
  program.kinds = {{{"only", {}, {}}}};
  program.backdrops = {{"none", {}, {}}};
  program.blends = {{"none", {}, {}}};
  const PipelineCase test(program, "only");
  ASSERT_OK_AND_ASSIGN(const CompiledPipeline compiled,
                       CompilePipeline(*device, test.Input()));
  ASSERT_OK_AND_ASSIGN(const CreatedPipeline created,
                       CreateFromBlob(*device, test.Input(), compiled.blob));
  EXPECT_EQ(created.feedback, HitFeedback::kCacheHit);
  EXPECT_THAT(device->validation_messages(), IsEmpty());

  const VariantKey key = test.Key("only", 0);
  program.stages[0].entry = "red";
  EXPECT_THAT(CompilePipeline(*device, {program, key, test.Input().code}),
              StatusIs(kInvalid, "the compute stage has no entry point red"));
}

TEST(BlobTest, HeaderWithoutPayloadIsHeaderOnly) {
  EXPECT_TRUE(IsHeaderOnlyBlob(Bytes(32)));
  EXPECT_TRUE(IsHeaderOnlyBlob({}));
  EXPECT_FALSE(IsHeaderOnlyBlob(Bytes(33)));
}

}  // namespace
}  // namespace kiln::pipeline
