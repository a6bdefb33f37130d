// SPDX-License-Identifier: Apache-2.0
#include "tests/client/tiny_program.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "proto/program_file.h"
#include "tests/support/temp_dir.h"

namespace kiln::testing {
namespace {

constexpr const char* kTinyToml = R"(format = 1
name = "tiny"
sources = ["tiny.vert", "tiny.frag"]

[stages]
vertex = "tiny.vert"
fragment = "tiny.frag"

[features]
constant_id = 2
[[features.bit]]
bit = 0
name = "Red"
owner = "material"
[[features.bit]]
bit = 1
name = "Green"
owner = "material"
[[features.bit]]
bit = 2
name = "Blue"
owner = "frame"

[[kind]]
name = "opaque"
state = { depth_compare = "greater_or_equal", depth_write = true, cull = "back", color_write = true, blend = false }
[[kind]]
name = "blended"
axes = ["blend"]
state = { depth_compare = "greater_or_equal", depth_write = false, cull = "none", color_write = true, blend = true }

[[blend]]
name = "alpha"
state = { src_color = "src_alpha", dst_color = "one_minus_src_alpha", color_op = "add", src_alpha = "one", dst_alpha = "one", alpha_op = "add" }
[[blend]]
name = "additive"
state = { src_color = "one", dst_color = "one", color_op = "add", src_alpha = "one", dst_alpha = "one", alpha_op = "add" }

[[override]]
name = "GAIN"
constant_id = 3
type = "float"

[pipeline]
color_formats = ["r8g8b8a8_unorm"]
depth_format = "d32_sfloat"
)";

constexpr const char* kTinyVertex = R"(#version 460
void main() {
  gl_Position = vec4(float(gl_VertexIndex & 1), float(gl_VertexIndex >> 1), 0.5, 1.0);
}
)";

constexpr const char* kTinyFragment = R"(#version 460
layout(constant_id = 2) const uint Features = 0xFFFFFFFFu;
layout(constant_id = 3) const float Gain = 0.0;
layout(location = 0) out vec4 color;
void main() {
  color = vec4(Gain);
  if ((Features & 1u) != 0u) color.r += sin(gl_FragCoord.x);
  if ((Features & 2u) != 0u) color.g += cos(gl_FragCoord.y);
  if ((Features & 4u) != 0u) color.b += exp(gl_FragCoord.z);
}
)";

constexpr const char* kBroken = R"(#version 460
layout(location = 0) out vec4 color;
void main() {
  color = vec4(no_such_variable);
}
)";

void Write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

Program Load(const char* fragment) {
  const TempDir folder;
  Write(folder / "tiny.program.toml", kTinyToml);
  Write(folder / "tiny.vert", kTinyVertex);
  Write(folder / "tiny.frag", fragment);
  auto program = LoadProgramFile(folder / "tiny.program.toml");
  if (!program.ok()) {  // a fault in this file
    std::fprintf(stderr, "%s\n", program.status().ToString().c_str());
    std::abort();
  }
  return *std::move(program);
}

}  // namespace

Program TinyProgram() {
  return Load(kTinyFragment);
}

Program BrokenProgram() {
  return Load(kBroken);
}

std::string WriteProgramFile(const Program& program,
                             const std::filesystem::path& folder) {
  for (const SourceFile& file : program.files) {
    Write(folder / file.path, file.text);
  }
  Write(folder / "tiny.program.toml", kTinyToml);
  return folder / "tiny.program.toml";
}

VariantKey OpaqueKey(const Program& program, uint32_t features) {
  VariantKey key;
  key.program = Digest::Of(EncodeProgram(program));
  key.kind = "opaque";
  key.features = features;
  return key;
}

}  // namespace kiln::testing
