// SPDX-License-Identifier: Apache-2.0

// `kiln advise` as scripts see it, with a real daemon and RADV's compiler. The
// analysis is tested in advice_test.cc.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kAdviserVertex = R"(#version 460
void main() {
  gl_Position = vec4(float(gl_VertexIndex & 1), float(gl_VertexIndex >> 1), 0.5, 1.0);
}
)";

// A large block, one of a few instructions, one that no code belongs to, and
// two that share theirs.
constexpr const char* kAdviserFragment = R"(#version 460
layout(constant_id = 2) const uint Features = 0xFFFFFFFFu;
layout(location = 0) out vec4 color;
void main() {
  color = vec4(gl_FragCoord.x);
  if ((Features & 1u) != 0u) {
    for (int i = 0; i < 40; ++i) color += sin(color.yzwx * gl_FragCoord.y + float(i));
  }
  if ((Features & 2u) != 0u) color.w += 0.25;
  if ((Features & 8u) != 0u || (Features & 16u) != 0u) {
    for (int i = 0; i < 20; ++i) color *= cos(color.wxyz * gl_FragCoord.z + float(i));
  }
}
)";

constexpr const char* kAdviserToml = R"(format = 1
name = "blocks"
sources = ["blocks.vert", "blocks.frag"]
[stages]
vertex = "blocks.vert"
fragment = "blocks.frag"
[features]
constant_id = 2
[[features.bit]]
bit = 0
name = "Large"
owner = "material"
[[features.bit]]
bit = 1
name = "Small"
owner = "material"
[[features.bit]]
bit = 2
name = "Empty"
owner = "frame"
[[features.bit]]
bit = 3
name = "ShareA"
owner = "frame"
[[features.bit]]
bit = 4
name = "ShareB"
owner = "frame"
[[kind]]
name = "opaque"
state = { depth_compare = "greater_or_equal", depth_write = true, cull = "back", color_write = true, blend = false }
[[backdrop]]
name = "none"
[[blend]]
name = "alpha"
[pipeline]
color_formats = ["r8g8b8a8_unorm"]
depth_format = "d32_sfloat"
)";

class AdviseCommandTest : public CliTest {
 protected:
  AdviseCommandTest() {
    Write("blocks.program.toml", kAdviserToml);
    Write("blocks.vert", kAdviserVertex);
    Write("blocks.frag", kAdviserFragment);
  }

  void Write(const char* name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }

  std::vector<std::string> Arguments(std::vector<std::string> more) const {
    more.insert(more.begin(), {"advise", folder_ / "blocks.program.toml"});
    return more;
  }

  // The verdict on a bit.
  static std::string WorthOf(const std::vector<nlohmann::json>& objects,
                             const std::string& bit) {
    for (const nlohmann::json& object : objects) {
      if (object["type"] == "bit" &&
          object["bits"] == nlohmann::json::array({bit})) {
        return object["worth"];
      }
    }
    return "none";
  }
};

TEST_F(AdviseCommandTest, BitsAreJudgedByWhatTheDriverCounts) {
  ASSERT_OK(daemon_.Start());
  const auto objects = RunJson(Arguments({}), 0);
  EXPECT_EQ(WorthOf(objects, "Large"), "enough");
  EXPECT_EQ(WorthOf(objects, "Small"), "little");
  EXPECT_EQ(WorthOf(objects, "Empty"), "nothing");
  // Leaving out one of the two saves nothing, but each has code.
  EXPECT_THAT(WorthOf(objects, "ShareA"), ::testing::Ne("nothing"));
  EXPECT_EQ(objects.back()["type"], "summary");
  EXPECT_EQ(objects.back()["written"], 0) << "its own trials do not count";
  const auto again = RunJson(Arguments({}), 0);
  EXPECT_EQ(WorthOf(again, "Small"), "little");
}

TEST_F(AdviseCommandTest, ThresholdDecidesWhatIsLittle) {
  ASSERT_OK(daemon_.Start());
  EXPECT_EQ(WorthOf(RunJson(Arguments({"--threshold", "0"}), 0), "Small"),
            "enough");
  EXPECT_EQ(Run(Arguments({"--threshold", "101"})).exit_code, 2);
  EXPECT_EQ(Run(Arguments({"--threshold", "few"})).exit_code, 2);
}

TEST_F(AdviseCommandTest, ManifestIsCountedAfterEachPieceOfAdvice) {
  ASSERT_OK(daemon_.Start());
  Write("m",
        "opaque/none/alpha ShareA|ShareB\n"
        "opaque/none/alpha Small|ShareA|ShareB\n"
        "opaque/none/alpha Large\n"
        "opaque/none/alpha Large\n");
  const auto objects = RunJson(Arguments({"--manifest", folder_ / "m"}), 0);
  const nlohmann::json& flags = objects[objects.size() - 2];
  EXPECT_EQ(flags["type"], "flags");
  EXPECT_THAT(flags["never"], ElementsAre("Empty"));
  ASSERT_EQ(flags["merge"].size(), 1u);
  EXPECT_THAT(flags["merge"][0]["bits"], ElementsAre("ShareA", "ShareB"));
  const nlohmann::json& summary = objects.back();
  EXPECT_EQ(summary["source"], "manifest");
  EXPECT_EQ(summary["written"], 4);
  EXPECT_EQ(summary["normalised"], 3);
  EXPECT_EQ(summary["worth"], 2);
  EXPECT_EQ(summary["merged"], 2);
  const CommandResult text = Run(Arguments({"--manifest", folder_ / "m"}));
  EXPECT_THAT(
      ::testing::PrintToString(text.out),
      AllOf(HasSubstr("not worth a variant in kind opaque"),
            HasSubstr("[[features.merged]]"), HasSubstr("4  as written"),
            HasSubstr("never set, in 3 keys: Empty")));
}

TEST_F(AdviseCommandTest, WithoutAManifestTheStoredVariantsCount) {
  ASSERT_OK(daemon_.Start());
  for (const char* features : {"Large", "Large,Small"}) {
    RunJson({"request", folder_ / "blocks.program.toml", "--kind", "opaque",
             "--features", features, "--wait"},
            0);
  }
  const auto objects = RunJson(Arguments({}), 0);
  EXPECT_EQ(objects.back()["source"], "store");
  EXPECT_EQ(objects.back()["written"], 2);
  EXPECT_EQ(objects.back()["worth"], 1);
}

TEST_F(AdviseCommandTest, DriverWithoutStatisticsGetsNoAdviceOnBits) {
  ASSERT_OK(daemon_.Start());
  const auto objects = RunJson(Arguments({"--target", "lavapipe"}), 0);
  EXPECT_EQ(WorthOf(objects, "Large"), "unknown");
}

TEST_F(AdviseCommandTest, ProgramWithoutFeaturesIsToldSo) {
  ASSERT_OK(daemon_.Start());
  std::string toml = kAdviserToml;
  toml.erase(toml.find("[features]"),
             toml.find("[[kind]]") - toml.find("[features]"));
  Write("blocks.program.toml", toml);
  const CommandResult result = Run(Arguments({}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(::testing::PrintToString(result.out),
              HasSubstr("no feature bits"));
}

TEST_F(AdviseCommandTest, ShaderThatDoesNotCompileExitsWithOne) {
  ASSERT_OK(daemon_.Start());
  Write("blocks.frag", "#version 460\nvoid main() { no_such_function(); }\n");
  const CommandResult result = Run(Arguments({}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("no_such_function"));
}

TEST_F(AdviseCommandTest, BadInputExitsWithTwoAndNoDaemonWithThree) {
  Write("m", "opaque/none/alpha Huge\n");
  const CommandResult result = Run(Arguments({"--manifest", folder_ / "m"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("manifest line 1"), HasSubstr("'Huge'")));
  EXPECT_EQ(Run(Arguments({"--manifest", "no.manifest"})).exit_code, 2);
  EXPECT_EQ(Run(Arguments({"--target", "voodoo"})).exit_code, 2);
  EXPECT_EQ(Run(Arguments({})).exit_code, 3);
}

TEST_F(AdviseCommandTest, HelpHasExamples) {
  EXPECT_THAT(::testing::PrintToString(Run({"advise", "--help"}).out),
              HasSubstr("Examples:"));
}

}  // namespace
}  // namespace kiln::testing
