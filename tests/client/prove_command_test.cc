// SPDX-License-Identifier: Apache-2.0

// `kiln prove` as scripts see it. What it proves, and how, is tested in
// tests/shaders/lab/.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli_fixture.h"

namespace kiln::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Reads no vertex and one push constant word, whose two lowest bits are the
// gates of its two blocks. `derived` is the derivation's expression.
void WriteProgram(const std::filesystem::path& folder,
                  const std::string& derived) {
  std::ofstream(folder / "flat.vert") << R"(#version 460
void main() {
  gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, 0, 1);
}
)";
  std::ofstream(folder / "flat.frag") << R"(#version 460
layout(constant_id = 2) const uint Features = 3u;
const bool UsesWarm = (Features & 1u) != 0u;
const bool UsesCool = (Features & 2u) != 0u;
layout(push_constant) uniform Push { uint flags; } push;
layout(location = 0) out vec4 color;
void main() {
  color = vec4(0.25);
  if (UsesWarm && (push.flags & 1u) != 0u) { color.r += 0.5; }
  if (UsesCool && (push.flags & 2u) != 0u) { color.b += 0.5; }
}
)";
  std::ofstream(folder / "flat.comp") << R"(#version 460
layout(local_size_x = 1) in;
layout(push_constant) uniform Push { uint flags; } push;
layout(set = 1, binding = 0) writeonly buffer Derived { uint features[2]; };
void main() {
  features[0] = )" << derived << R"(;
  features[1] = 0u;
}
)";
  std::ofstream(folder / "flat.program.toml") << R"(format = 1
name = "flat"
sources = ["flat.vert", "flat.frag", "flat.comp"]

[derivation]
source = "flat.comp"

[stages]
vertex = "flat.vert"
fragment = "flat.frag"

[features]
constant_id = 2

[[features.bit]]
bit = 0
name = "Warm"
owner = "material"

[[features.bit]]
bit = 1
name = "Cool"
owner = "material"

[[kind]]
name = "opaque"
state = { cull = "none" }

[[kind]]
name = "added"
state = { cull = "none", blend = true, dst_color = "one" }

[[backdrop]]
name = "none"

[[blend]]
name = "none"

[pipeline]
color_formats = ["r8g8b8a8_unorm"]

[push_constants]
bytes = 4
stages = ["fragment"]
)";
}

class ProveCommandTest : public CliTest {
 protected:
  ProveCommandTest() { Derive("push.flags & 3u"); }

  void Derive(const std::string& derived) {
    WriteProgram(folder_.path(), derived);
  }

  // The arguments of `kiln prove` for the program.
  std::vector<std::string> Words(std::vector<std::string> more) const {
    std::vector<std::string> words = {"prove",    folder_ / "flat.program.toml",
                                      "--cases",  "16",
                                      "--output", folder_ / "out"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  static bool Has(const std::vector<nlohmann::json>& objects,
                  const std::string& name) {
    return std::ranges::any_of(
        objects, [&](const nlohmann::json& o) { return o.contains(name); });
  }
};

TEST_F(ProveCommandTest, RightDerivationExitsWithZeroAndWritesNothing) {
  const CommandResult result = Run(Words({"--sensitivity", "--validate"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              Contains(HasSubstr("no variant changes the picture")));
  EXPECT_THAT(result.out, Contains(HasSubstr("opaque      8")));
  EXPECT_THAT(result.out, Contains(HasSubstr("matters")));
  EXPECT_THAT(result.out, Not(Contains(HasSubstr("tolerance"))));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(ProveCommandTest, WrongDerivationExitsWithOneAndShowsWhereAndWhy) {
  Derive("push.flags & 2u");  // never Warm
  const std::vector<nlohmann::json> objects =
      RunJson(Words({"--samples", "4"}), 1);
  ASSERT_THAT(objects, Not(IsEmpty()));
  ASSERT_TRUE(objects[0].contains("case")) << objects[0];
  EXPECT_THAT(objects[0]["blamed"], ElementsAre("Warm"));
  EXPECT_EQ(objects[0]["pixels"], 96 * 64);
  EXPECT_GT(objects[0]["max_difference"].get<double>(), 0.1);
  const std::filesystem::path images(objects[0]["folder"].get<std::string>());
  for (const char* name : {"whole.png", "variant.png", "diff.png"}) {
    EXPECT_TRUE(std::filesystem::exists(images / name)) << images / name;
  }
  EXPECT_EQ(objects.back()["cases"], 16);
  EXPECT_GT(objects.back()["differences"], 2);
  const CommandResult text = Run(Words({}));
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.out, Contains(HasSubstr("to blame: Warm; images in ")));
}

TEST_F(ProveCommandTest, ToleranceIsPrintedWhenItIsUsed) {
  Derive("push.flags & 2u");
  CommandResult result = Run(Words({"--tolerance", "mesa_llvmpipe=0.6"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              Contains(HasSubstr("tolerance for mesa_llvmpipe: 0.6")));
  result = Run(Words({"--tolerance", "nvidia_proprietary=0.6"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, Contains(HasSubstr("no tolerance is for")));
}

TEST_F(ProveCommandTest, OneKindCanBeProvenAlone) {
  const auto objects = RunJson(Words({"--kind", "added", "--one-draw"}), 0);
  for (const nlohmann::json& object : objects) {
    if (object.contains("kind")) {
      EXPECT_EQ(object["kind"], "added");
      EXPECT_EQ(object["cases"], 16);
      EXPECT_GT(object["covered"].get<double>(), 0);
    }
  }
  EXPECT_TRUE(Has(objects, "kind"));
  EXPECT_TRUE(Has(objects, "bit"));
}

TEST_F(ProveCommandTest, WrongInputExitsWithTwoAndSaysWhy) {
  const auto expect_refusal = [&](std::vector<std::string> arguments,
                                  const std::string& why) {
    const CommandResult result = Run(Words(std::move(arguments)));
    EXPECT_EQ(result.exit_code, 2) << why;
    EXPECT_THAT(result.err, HasSubstr(why));
    EXPECT_THAT(result.out, IsEmpty());
  };
  expect_refusal({"--target", "radv:vangogh"}, "only compiles");
  expect_refusal({"--target", "gpu:99"}, "gpu:99");
  expect_refusal({"--target", "mauve"}, "mauve");
  expect_refusal({"--tolerance", "mesa_llvmpipe"}, "not DRIVER=VALUE");
  expect_refusal({"--tolerance", "mesa_llvmpipe=-1"}, "above 0");
  expect_refusal({"--tolerance", "voodoo=1"}, "voodoo");
  expect_refusal({"--kind", "glass"}, "'glass'; it has opaque, added");
  expect_refusal({"--samples", "3"}, "3 samples");
  expect_refusal({"--size", "96"}, "'96' is not WIDTHxHEIGHT");
  expect_refusal({"--size", "0x4"}, "'0x4'");
  Derive("mauve");
  expect_refusal({}, "flat.comp:6");
  EXPECT_EQ(Run({"prove", folder_ / "none.toml"}).exit_code, 2);
}

}  // namespace
}  // namespace kiln::testing
