// SPDX-License-Identifier: Apache-2.0
#include "tests/shaders/lab/lab_program.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "shaders/lab/random.h"

namespace kiln::lab {
namespace {

constexpr char kVertex[] = R"(#version 460
layout(location = 0) in vec2 position;
layout(push_constant) uniform Push { uint flags; float depth; } push;
invariant gl_Position;
void main() { gl_Position = vec4(position, push.depth, 1.0); }
)";

// What the fragment shader and the derivation both read.
constexpr char kInputs[] = R"(
layout(push_constant) uniform Push { uint flags; float depth; } push;
layout(set = 0, binding = 0) uniform Frame { uvec4 switches; vec4 light; } frame;
layout(set = 0, binding = 1) readonly buffer Table { vec4 rows[]; } table;
bool Gate(uint bit) { return (push.flags & frame.switches.x & (1u << bit)) != 0u; }
)";

constexpr char kFragment[] = R"(#version 460
#extension GL_GOOGLE_include_directive : require
#include "inputs.glsl"
layout(constant_id = 0) const uint Kind = 0u;
layout(constant_id = 2) const uint Features = 7u;
const bool UsesGlow = (Features & 1u) != 0u;
const bool UsesTint = (Features & 2u) != 0u;
const bool UsesHoles = (Features & 4u) != 0u;
layout(set = 0, binding = 2) uniform sampler2D map;
layout(location = 0) out vec4 color;
void main() {
  color = vec4(0.0);
  if (Kind != 2u) {
    color = textureLod(map, gl_FragCoord.xy / 16.0, 0.0);
    if (UsesGlow && Gate(0u)) { color.rgb += frame.light.rgb; }
    if (UsesTint && Gate(1u)) { color *= table.rows[1]; }
  }
  if (UsesHoles && Gate(2u) && (uint(gl_FragCoord.x) & 1u) != 0u) { discard; }
}
)";

constexpr char kDerivation[] = R"(#version 460
#extension GL_GOOGLE_include_directive : require
#include "inputs.glsl"
layout(local_size_x = 1) in;
layout(set = 1, binding = 0) writeonly buffer Derived { uint features[2]; };
void main() {
  features[0] = push.flags & frame.switches.x & 7u;
  features[1] = 0u;
}
)";

template <typename T, size_t kCount>
Bytes BytesOf(const T (&values)[kCount]) {
  return ToBytes(std::as_bytes(std::span(values)));
}

Bytes Push(uint32_t flags, float depth) {
  Bytes bytes(sizeof(flags) + sizeof(depth));
  std::memcpy(bytes.data(), &flags, sizeof(flags));
  std::memcpy(bytes.data() + sizeof(flags), &depth, sizeof(depth));
  return bytes;
}

}  // namespace

Program LabProgram() {
  Program program;
  program.name = "lab";
  program.stages = {{Stage::kVertex, "lab.vert"},
                    {Stage::kFragment, "lab.frag"}};
  program.features_constant_ids = {2};
  program.features = {{0, "Glow", FeatureOwner::kMaterial},
                      {1, "Tint", FeatureOwner::kBoth},
                      {2, "Holes", FeatureOwner::kMaterial}};
  program.kinds.resize(3);
  program.kinds[0].value = {
      "opaque", {{0, 0}}, {{"cull", "none"}, {"depth_compare", "always"}}};
  program.kinds[1].value = {"blended",
                            {{0, 1}},
                            {{"cull", "none"},
                             {"blend", "true"},
                             {"depth_write", "false"},
                             {"depth_compare", "always"}}};
  program.kinds[1].uses_blend = true;
  program.kinds[2].value = {"depth",
                            {{0, 2}},
                            {{"cull", "none"},
                             {"depth_compare", "always"},
                             {"color_write", "false"}}};
  program.kinds[2].ignored_features = kGlow | kTint;
  program.backdrops = {{"none", {}, {}}};
  program.blends = {{"alpha", {}, {{"dst_color", "one_minus_src_alpha"}}},
                    {"additive", {}, {{"dst_color", "one"}}}};
  PipelineSkeleton& pipeline = program.pipeline;
  pipeline.color_formats = {"r8g8b8a8_unorm"};
  pipeline.depth_format = "d32_sfloat";
  pipeline.vertex_bindings = {{0, 8, false}};
  pipeline.vertex_attributes = {{0, 0, "r32g32_sfloat", 0}};
  pipeline.push_constant_bytes = 8;
  pipeline.push_constant_stages = {Stage::kVertex, Stage::kFragment};
  pipeline.descriptors = {
      {0, 0, "uniform_buffer", 1, {Stage::kFragment}},
      {0, 1, "storage_buffer", 1, {Stage::kFragment}},
      {0, 2, "combined_image_sampler", 1, {Stage::kFragment}}};
  program.derivation = "derive.comp";
  program.files = {{"derive.comp", kDerivation},
                   {"inputs.glsl", kInputs},
                   {"lab.frag", kFragment},
                   {"lab.vert", kVertex}};
  return program;
}

DrawInputs LabInputs(const std::vector<uint32_t>& flags, uint32_t width,
                     uint32_t height) {
  DrawInputs inputs;
  inputs.width = width;
  inputs.height = height;
  const float clear_color[] = {0.2f, 0.4f, 0.6f, 1};
  std::ranges::copy(clear_color, inputs.clear_color);
  inputs.clear_depth = 0.25f;
  const float corners[] = {-1, -1, 1, -1, -1, 1};
  inputs.vertex_buffers = {BytesOf(corners)};
  inputs.indices = {0, 1, 2};

  struct {
    uint32_t switches[4] = {7, 0, 0, 0};
    float light[4] = {0.5f, 0.25f, 0.125f, 0};
  } frame;

  const float rows[] = {1, 1, 1, 1, 0.5f, 0.75f, 1, 1};
  ImageInput map;
  map.format = "r8g8b8a8_unorm";
  map.texels = Bytes(4, std::byte{0x40});
  inputs.bound = {{0, 0, ToBytes(std::as_bytes(std::span(&frame, 1))), {}},
                  {0, 1, BytesOf(rows), {}},
                  {0, 2, {}, {map}}};
  float depth = 0.5f;
  for (const uint32_t bits : flags) {
    inputs.draws.push_back({Push(bits, depth), 0, 3});
    depth += 0.125f;
  }
  return inputs;
}

DrawInputs LabCases::Make(uint64_t seed, const CaseKey& key) {
  Random random(seed);
  return LabInputs({random.Below(8), random.Below(8)}, key.width, key.height);
}

}  // namespace kiln::lab
