// SPDX-License-Identifier: Apache-2.0
#include "tests/support/small_program.h"

namespace kiln::testing {
namespace {

constexpr char kVertex[] = R"(#version 460
void main() {
  gl_Position = vec4(float(gl_VertexIndex & 1), float(gl_VertexIndex >> 1), 0.0, 1.0);
}
)";

// What the generated fragment shaders begin with.
constexpr char kFragmentHeader[] =
    "#version 460\n"
    "layout(constant_id = 2) const uint Features = 3u;\n"
    "layout(location = 0) out vec4 o;\n";

}  // namespace

Program SmallProgram(const std::string& fragment) {
  Program program;
  program.name = "small";
  program.stages = {{Stage::kVertex, "small.vert"},
                    {Stage::kFragment, "small.frag"}};
  program.features_constant_ids = {2};
  program.features = {{0, "Warm", FeatureOwner::kMaterial},
                      {1, "Noisy", FeatureOwner::kFrame}};
  program.kinds = {
      {{"opaque", {}, {{"depth_write", "true"}}}, false, false},
      {{"blended", {}, {{"blend", "true"}, {"depth_write", "false"}}},
       true,
       true}};
  program.backdrops = {{"none", {}, {}},
                       {"sky", {}, {{"depth_compare", "equal"}}}};
  program.blends = {{"alpha", {}, {}},
                    {"additive", {}, {{"dst_color", "one"}}}};
  program.pipeline.color_formats = {"r8g8b8a8_unorm"};
  program.pipeline.depth_format = "d32_sfloat";
  program.pipeline.push_constant_bytes = 16;
  program.pipeline.push_constant_stages = {Stage::kFragment};
  program.files = {{"small.frag", fragment}, {"small.vert", kVertex}};
  return program;
}

Program LargeProgram() {
  std::string fragment =
      std::string(kFragmentHeader) + "void main() {\no = gl_FragCoord;\n";
  for (int i = 0; i < 5000; ++i) {
    fragment +=
        "float " + std::string(950, 'n') + std::to_string(i) + " = o.x;\n";
  }
  Program program = SmallProgram(fragment + "}\n");
  program.specialization = Specialization::kDriver;  // else they are dropped
  return program;
}

Program SlowProgram(int levels) {
  std::string fragment = std::string(kFragmentHeader) +
                         "vec4 f0(vec4 v) { return sin(v) * 1.5 + v.yzwx; }\n";
  for (int i = 1; i <= levels; ++i) {
    const std::string call = "f" + std::to_string(i - 1);
    fragment += "vec4 f" + std::to_string(i) + "(vec4 v) { return " + call +
                "(v.wzyx) + " + call + "(v * 0.5); }\n";
  }
  return SmallProgram(fragment + "void main() { o = f" +
                      std::to_string(levels) + "(gl_FragCoord); }\n");
}

}  // namespace kiln::testing
