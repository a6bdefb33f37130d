// SPDX-License-Identifier: Apache-2.0
#pragma once

// A device of one target under the validation layer, and a small program to
// make pipelines of. Drivers are chosen by environment variables, so a test
// opens one target at a time and closes it before the next.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/program.h"
#include "proto/target.h"
#include "proto/variant_key.h"
#include "shaders/compiler.h"
#include "shaders/pipeline/device.h"
#include "shaders/pipeline/pipeline.h"
#include "tests/support/status_matchers.h"

namespace kiln::pipeline {

// One feature bit that turns on an expensive loop, one override, two kinds.
inline Program PipelineProgram() {
  Program program;
  program.name = "pipeline_test";
  program.stages = {{Stage::kVertex, "main.vert"},
                    {Stage::kFragment, "main.frag"}};
  program.features_constant_ids = {2};
  program.features = {{0, "Heavy", FeatureOwner::kMaterial}};
  program.kinds = {
      {{"opaque", {{0, 0}}, {{"depth_compare", "greater_or_equal"}}},
       false,
       false},
      {{"blended",
        {{0, 1}},
        {{"blend", "true"}, {"depth_write", "false"}, {"cull", "none"}}},
       false,
       true}};
  program.backdrops = {{"none", {}, {}}};
  program.blends = {
      {"alpha",
       {},
       {{"src_color", "src_alpha"}, {"dst_color", "one_minus_src_alpha"}}}};
  program.overrides = {{"NUM_LIGHTS", 7, ConstantType::kUint32, 4}};
  program.pipeline.color_formats = {"r16g16b16a16_sfloat"};
  program.pipeline.depth_format = "d32_sfloat";
  program.pipeline.vertex_bindings = {{0, 12, false}};
  program.pipeline.vertex_attributes = {{0, 0, "r32g32b32_sfloat", 0}};
  program.pipeline.descriptors = {
      {0, 0, "uniform_buffer", 1, {Stage::kFragment}},
      {2, 1, "combined_image_sampler", 3, {Stage::kFragment}},
  };
  program.pipeline.push_constant_bytes = 16;
  program.pipeline.push_constant_stages = {Stage::kVertex};
  program.files = {
      {"main.frag", R"(#version 450
layout(constant_id = 0) const uint Kind = 0u;
layout(constant_id = 2) const uint Features = 1u;
layout(constant_id = 7) const uint NUM_LIGHTS = 4u;
const bool UsesHeavy = (Features & 1u) != 0u;
layout(set = 0, binding = 0) uniform Lights { vec4 lights[16]; };
layout(set = 2, binding = 1) uniform sampler2D maps[3];
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main() {
  vec4 sum = texture(maps[0], uv);
  if (UsesHeavy) {
    for (uint i = 0u; i < NUM_LIGHTS; ++i) {
      sum += pow(texture(maps[1], uv * lights[i].xy), lights[i]) * texture(maps[2], sum.xy);
    }
  }
  color = Kind == 1u ? sum : vec4(sum.rgb, 1.0);
}
)"},
      {"main.vert", R"(#version 450
layout(push_constant) uniform Draw { vec4 offset; };
layout(location = 0) in vec3 position;
layout(location = 0) out vec2 uv;
void main() {
  uv = position.xy;
  gl_Position = vec4(position, 1.0) + offset;
}
)"},
  };
  return program;
}

// A program with its compiled stages, and inputs made from it.
class PipelineCase {
 public:
  explicit PipelineCase(Program program = PipelineProgram(),
                        const std::string& kind = "opaque")
      : program_(std::move(program)) {
    for (const StageSource& source : program_.stages) {
      results_.push_back(shaders::CompileStage(program_, source.stage));
      EXPECT_TRUE(results_.back().ok()) << results_.back().diagnostics;
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      code_.push_back({program_.stages[i].stage, results_[i].spirv});
    }
    key_ = Key(kind, program_.AllFeatures());
  }

  VariantKey Key(std::string kind, uint32_t features,
                 std::vector<OverrideValue> overrides = {}) const {
    VariantKey key{Digest::Of(EncodeProgram(program_)),
                   std::move(kind),
                   "",
                   "",
                   features,
                   std::move(overrides)};
    return NormaliseKey(program_, std::move(key)).value();
  }

  // Lifetime: that of the case and of `key`.
  PipelineInput Input(const VariantKey& key) const {
    return {program_, key, code_};
  }

  PipelineInput Input() const { return Input(key_); }

 private:
  Program program_;
  std::vector<shaders::StageResult> results_;
  std::vector<StageCode> code_;
  VariantKey key_;
};

inline absl::StatusOr<std::unique_ptr<Device>> OpenTarget(
    std::string_view target, bool validation = true) {
  KILN_ASSIGN_OR_RETURN(const TargetSpec spec, TargetSpec::Parse(target));
  KILN_RETURN_IF_ERROR(SelectDriver(spec));
  return Device::Open(spec, {.validation = validation});
}

// Opens `target` into `device`; skips the test on a machine without the driver
// or the validation layer.
#define KILN_OPEN_OR_SKIP(device, target)                         \
  auto kiln_open_##device = ::kiln::pipeline::OpenTarget(target); \
  if (absl::IsNotFound(kiln_open_##device.status())) {            \
    GTEST_SKIP() << kiln_open_##device.status();                  \
  }                                                               \
  ASSERT_OK(kiln_open_##device);                                  \
  auto device = std::move(kiln_open_##device).value()

}  // namespace kiln::pipeline
