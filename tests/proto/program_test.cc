// SPDX-License-Identifier: Apache-2.0
#include "proto/program.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/limits.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"

namespace kiln {
namespace {

using testing::SmallProgram;
using testing::StatusIs;

TEST(ProgramTest, CanonicalBytesRoundTrip) {
  Program program = SmallProgram();
  program.overrides = {{"NUM_LIGHTS", 10, ConstantType::kUint32, 4}};
  program.pipeline.descriptors = {
      {0, 1, "combined_image_sampler", 8, {Stage::kFragment}}};
  program.pipeline.vertex_attributes = {{0, 0, "r32g32b32_sfloat", 0}};
  program.pipeline.vertex_bindings = {{0, 12, false}};
  program.defines = {{"QUALITY", "2"}};
  const Bytes bytes = EncodeProgram(program);
  ASSERT_OK_AND_ASSIGN(const Program again, DecodeProgram(bytes));
  EXPECT_EQ(EncodeProgram(again), bytes);
  EXPECT_EQ(again.pipeline.descriptors[0].count, 8u);
}

TEST(ProgramTest, TruncatedBytesAreRefusedAtEveryLength) {
  const Bytes bytes = EncodeProgram(SmallProgram());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeProgram(ByteView(bytes).first(size)).ok()) << size;
  }
}

// A hostile or damaged encoding is refused or decodes to a valid program; it
// never crashes, and never claims memory it does not carry.
TEST(ProgramTest, EverySingleFlippedByteIsRefusedOrStillValid) {
  const Bytes bytes = EncodeProgram(SmallProgram());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const std::byte flip :
         {std::byte{0x01}, std::byte{0x80}, std::byte{0xFF}}) {
      Bytes damaged = bytes;
      damaged[i] ^= flip;
      if (auto program = DecodeProgram(damaged); program.ok()) {
        EXPECT_OK(program->Validate());
      }
    }
  }
}

TEST(ProgramTest, EveryBrokenInvariantIsRefusedByTheNameOfItsField) {
  struct Case {
    const char* named;
    std::function<void(Program&)> break_it;
  };

  const std::vector<Case> cases = {
      {"name", [](Program& p) { p.name = ""; }},
      {"name", [](Program& p) { p.name = "a b"; }},
      {"name", [](Program& p) { p.name = "a/b"; }},
      {"features", [](Program& p) { p.features[1].name = "whole"; }},
      {"name", [](Program& p) { p.name = "caf\xE9"; }},
      {"name",
       [](Program& p) { p.name = std::string(limits::kNameBytes + 1, 'n'); }},
      {"features", [](Program& p) { p.features[1].bit = 0; }},
      {"features", [](Program& p) { p.features[1].bit = 64; }},
      {"features", [](Program& p) { p.features[1].name = "Warm"; }},
      {"features",  // no constant holds it
       [](Program& p) { p.features[1].bit = 33; }},
      {"features",
       [](Program& p) {
         p.features_constant_ids = {2, 2};
       }},
      {"features",
       [](Program& p) {
         p.features_constant_ids = {2, 3, 4};
       }},
      {"features", [](Program& p) { p.merged = {1}; }},
      {"features",
       [](Program& p) {
         p.merged = {3, 3};
       }},
      {"features", [](Program& p) { p.merged = {5}; }},
      {"kinds", [](Program& p) { p.kinds[0].ignored_features = 4; }},
      {"overrides",
       [](Program& p) {
         p.overrides = {{"A", 2, ConstantType::kUint32, 0}};
       }},
      {"overrides",
       [](Program& p) {
         p.overrides = {{"A", 9, ConstantType::kBool, 2}};
       }},
      {"overrides",
       [](Program& p) {
         p.overrides = {{"A", 9, ConstantType::kUint32, 1, 2}};
       }},
      {"overrides",
       [](Program& p) {
         p.overrides = {{"A", 9, ConstantType::kUint32, 1, 0, 9, {4, 4}}};
       }},
      {"overrides",
       [](Program& p) {
         p.overrides = {{"A", 9, ConstantType::kUint32, 1, 0, 9, {4, 10}}};
       }},
      {"overrides",
       [](Program& p) {
         p.overrides = {{"A", 9, static_cast<ConstantType>(99), 0}};
       }},
      {"overrides",
       [](Program& p) {
         p.kinds[0].value.constants = {{5, 1}};
         p.overrides = {{"A", 5, ConstantType::kUint32, 0}};
       }},
      {"features",
       [](Program& p) {
         p.blends[1].constants = {{2, 1}};
       }},
      {"workgroup_size", [](Program& p) { p.workgroup_size = {"A"}; }},
      {"derivation", [](Program& p) { p.derivation = "no.comp"; }},
      {"stages", [](Program& p) { p.stages[0].stage = Stage::kCompute; }},
      {"kinds", [](Program& p) { p.kinds.clear(); }},
      {"kinds", [](Program& p) { p.kinds[1].value.name = "opaque"; }},
      {"backdrops", [](Program& p) { p.backdrops.clear(); }},
      {"blends", [](Program& p) { p.blends.clear(); }},
      {"stages", [](Program& p) { p.stages[1].path = "missing.frag"; }},
      {"stages", [](Program& p) { p.stages[1].stage = Stage::kVertex; }},
      {"stages", [](Program& p) { p.stages.erase(p.stages.begin()); }},
      {"stages",
       [](Program& p) { p.stages[1].stage = static_cast<Stage>(77); }},
      {"files", [](Program& p) { p.files[0].path = "../escape.frag"; }},
      {"files", [](Program& p) { p.files[0].path = "/etc/passwd"; }},
      {"files", [](Program& p) { p.files[0].path = "a//b"; }},
      {"files", [](Program& p) { std::swap(p.files[0], p.files[1]); }},
      {"files",
       [](Program& p) {
         p.files[0].text.assign(limits::kProgramBytes + 1, 'x');
       }},
  };
  for (const Case& entry : cases) {
    Program program = SmallProgram();
    entry.break_it(program);
    EXPECT_THAT(program.Validate(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "program field " + std::string(entry.named)));
  }
}

TEST(ProgramTest, FeatureNamesParseToMasksAndBack) {
  const Program program = SmallProgram();
  EXPECT_EQ(program.ParseFeatures("Noisy").value(), 2u);
  EXPECT_EQ(program.ParseFeatures("Noisy,Warm").value(), 3u);
  EXPECT_EQ(program.ParseFeatures("none").value(), 0u);
  EXPECT_EQ(program.ParseFeatures("all").value(), 3u);
  EXPECT_THAT(program.ParseFeatures("Warm,Nois"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "no feature 'Nois'; it has Warm, Noisy"));
  EXPECT_EQ(program.FeatureText(2), "Noisy");
  EXPECT_EQ(program.FeatureText(3), "whole");
  EXPECT_EQ(program.FeatureText(0), "none");
}

}  // namespace
}  // namespace kiln
