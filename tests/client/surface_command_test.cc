// SPDX-License-Identifier: Apache-2.0

// `kiln surface` as scripts see it, and commands that ask for variants of
// living programs, against a real daemon. What a surface may say is tested in
// tests/shaders/surface/.

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kPaintedVertex[] = R"(#version 460
void main() { gl_Position = vec4(0.0); }
)";

constexpr char kPaintedFragment[] = R"(#version 460
#include "surfaces.glsl"
layout(push_constant) uniform Push { uint surface; } push;
layout(location = 0) out vec4 color;
void main() {
  color = vec4(1.0);
  kiln_surface(push.surface, color);
}
)";

constexpr char kPaintedToml[] = R"(format = 1
name = "paint"
rooted = true
[stages]
vertex = "paint.vert"
fragment = "paint.frag"
[surface]
include = "surfaces.glsl"
parameters = "inout vec4 color"
[[kind]]
name = "opaque"
[pipeline]
color_formats = ["r8g8b8a8_unorm"]
[push_constants]
bytes = 4
stages = ["fragment"]
)";

constexpr char kRust[] = "void surface(inout vec4 color) { color.r = 0.5; }\n";
constexpr char kMoss[] = "void surface(inout vec4 color) { color.g = 0.5; }\n";
constexpr char kWrong[] =
    "// the second line does not compile\n"
    "void surface(inout vec4 color) { color.g = no_such_variable; }\n";
constexpr char kForbidden[] =
    "layout(set = 0, binding = 0) uniform sampler2D mine;\n"
    "void surface(inout vec4 color) { color.g = 0.5; }\n";

class SurfaceCommandTest : public CliTest {
 protected:
  void SetUp() override {
    ASSERT_OK(daemon_.Start());
    Write("engine/paint.vert", kPaintedVertex);
    Write("engine/paint.frag", kPaintedFragment);
    program_file_ = Write("paint.program.toml", kPaintedToml);
    const CommandResult result =
        Run({"roots", "add", (folder_ / "engine").string()});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  json Add(const std::string& file, int exit_code = 0) {
    const auto objects =
        RunJson({"surface", "add", program_file_, file}, exit_code);
    EXPECT_THAT(objects, SizeIs(1));
    return objects.empty() ? json::object() : objects[0];
  }

  json Request() {
    const auto objects = RunJson({"request", program_file_, "--kind", "opaque",
                                  "--features", "none", "--wait"},
                                 0);
    return objects.empty() ? json::object() : objects[0];
  }
};

TEST_F(SurfaceCommandTest, AcceptedSurfacesHaveTheirIndexForGood) {
  const std::string rust = Write("rust.glsl", kRust);
  const std::string moss = Write("moss.glsl", kMoss);
  const json first = Add(rust);
  EXPECT_EQ(first["accepted"], true);
  EXPECT_EQ(first["index"], 1);
  EXPECT_EQ(first["name"], rust);
  const json second = Add(moss);
  EXPECT_EQ(second["index"], 2);
  EXPECT_NE(second["set_hash"], first["set_hash"]);
  const json again = Add(rust);
  EXPECT_EQ(again["index"], 1);
  EXPECT_EQ(again["already_known"], true);
  EXPECT_EQ(again["set_hash"], second["set_hash"]);
  const auto listed = RunJson({"surface", "list", program_file_}, 0);
  ASSERT_THAT(listed, SizeIs(2));
  EXPECT_EQ(listed[0]["name"], rust);
  EXPECT_EQ(listed[0]["bytes"], std::string(kRust).size());
  EXPECT_EQ(listed[1]["index"], 2);
}

TEST_F(SurfaceCommandTest, RejectionNamesTheAuthorsFileAndLine) {
  const std::string wrong = Write("wrong.glsl", kWrong);
  const json rejected = Add(wrong, 1);
  EXPECT_EQ(rejected["accepted"], false);
  EXPECT_FALSE(rejected.contains("index"));
  EXPECT_THAT(rejected["diagnostics"],
              AllOf(HasSubstr(wrong + ":2:"), HasSubstr("no_such_variable")));
  const std::string forbidden = Write("forbidden.glsl", kForbidden);
  const std::string rust = Write("rust.glsl", kRust);
  // The others are tried all the same.
  const CommandResult text =
      Run({"surface", "add", program_file_, forbidden, rust, wrong});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.out,
              ElementsAre(HasSubstr("rejected " + forbidden),
                          HasSubstr("accepted " + rust + ": index 1"),
                          HasSubstr("rejected " + wrong + ", as before")));
  EXPECT_THAT(text.out[0] + text.err, HasSubstr(forbidden + ":1:"));
  EXPECT_THAT(text.err, HasSubstr(wrong + ":2:"));
  EXPECT_THAT(RunJson({"surface", "list", program_file_}, 0), SizeIs(1));
}

TEST_F(SurfaceCommandTest, RemovedIndexIsFreeAgain) {
  EXPECT_THAT(Run({"surface", "list", program_file_}).out,
              ElementsAre(HasSubstr("no surface shaders")));
  const std::string rust = Write("rust.glsl", kRust);
  EXPECT_THAT(
      Run({"surface", "add", program_file_, rust, "--name", "old rust"}).out,
      ElementsAre("accepted old rust: index 1"));
  EXPECT_EQ(Run({"surface", "remove", program_file_, "1"}).exit_code, 0);
  EXPECT_THAT(RunJson({"surface", "list", program_file_}, 0), IsEmpty());
  const CommandResult result = Run({"surface", "remove", program_file_, "1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("1"));
  EXPECT_EQ(Add(Write("moss.glsl", kMoss))["index"], 1);
}

TEST_F(SurfaceCommandTest, WrongArgumentsAreNamed) {
  const std::string rust = Write("rust.glsl", kRust);
  EXPECT_EQ(Run({"surface"}).exit_code, 2);
  EXPECT_EQ(Run({"surface", "add", program_file_}).exit_code, 2);
  EXPECT_EQ(Run({"surface", "add", program_file_, "no.glsl"}).exit_code, 2);
  EXPECT_EQ(Run({"surface", "add", "no.program.toml", rust}).exit_code, 2);
  EXPECT_EQ(Run({"surface", "add", program_file_, rust, rust, "--name", "x"})
                .exit_code,
            2);
  const json large = Add(Write("large.glsl", std::string(70000, ' ')), 1);
  EXPECT_EQ(large["accepted"], false);
  EXPECT_THAT(large["error"], HasSubstr("65536"));
  const std::string plain = WriteProgramFile(TinyProgram(), folder_.path());
  const CommandResult result = Run({"surface", "add", plain, rust});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("tiny"));
}

TEST_F(SurfaceCommandTest, WhatIsNoRegularFileIsRefusedAtOnce) {
  const std::string pipe = (folder_ / "pipe.glsl").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  CommandResult result = Run({"surface", "add", program_file_, pipe});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr(pipe + "' is a pipe"));
  result = Run({"surface", "add", program_file_, "/dev/zero"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("'/dev/zero' is a device"));
  const std::string folder = (folder_ / "engine").string();
  result = Run({"surface", "add", program_file_, folder});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr(folder + "' is a directory"));
  EXPECT_THAT(RunJson({"surface", "list", program_file_}, 0), IsEmpty());
}

TEST_F(SurfaceCommandTest, EachSurfaceAndEachEditMakesAnotherVariant) {
  const json base = Request();
  EXPECT_EQ(base["state"], "ready");
  EXPECT_EQ(base["origin"], "compiled");
  EXPECT_EQ(Request()["origin"], "store");
  EXPECT_EQ(Request()["key"], base["key"]);
  Add(Write("rust.glsl", kRust));
  const json rusty = Request();
  EXPECT_EQ(rusty["origin"], "compiled");
  EXPECT_NE(rusty["key"], base["key"]);
  // Without it the program is what it was.
  EXPECT_EQ(Run({"surface", "remove", program_file_, "1"}).exit_code, 0);
  EXPECT_EQ(Request()["key"], base["key"]);
  EXPECT_EQ(Request()["origin"], "store");
  Write("engine/paint.frag", std::string(kPaintedFragment) + "// edited\n");
  const json edited = Request();
  EXPECT_NE(edited["key"], base["key"]);
  const auto listed = RunJson({"list"}, 0);
  EXPECT_THAT(listed, SizeIs(3));
}

TEST_F(SurfaceCommandTest, LivingProgramIsRequestedAndWarmedAsAnyOther) {
  const CommandResult text = Run({"request", program_file_, "--kind", "opaque",
                                  "--features", "none", "--wait"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  ASSERT_THAT(text.out, SizeIs(1));
  EXPECT_THAT(text.out[0], AllOf(HasSubstr("paint opaque"),
                                 Not(HasSubstr("no code reads"))));
  const std::string key = RunJson({"list"}, 0)[0]["key"];
  EXPECT_THAT(text.out[0], HasSubstr(key.substr(0, 12)));
  const auto warmed = RunJson({"warm", program_file_, "--all-of", "none"}, 0);
  ASSERT_THAT(warmed, SizeIs(2));
  EXPECT_EQ(warmed[0]["key"], key);
  EXPECT_EQ(warmed[1]["warm"], 1);
}

TEST_F(SurfaceCommandTest, LivingProgramThatFailsHasNoKey) {
  Write("engine/paint.frag", std::string(kPaintedFragment) + "int x = y;\n");
  const auto objects = RunJson({"request", program_file_, "--kind", "opaque",
                                "--features", "none", "--wait"},
                               1);
  ASSERT_THAT(objects, SizeIs(1));
  EXPECT_EQ(objects[0]["state"], "failed");
  EXPECT_FALSE(objects[0].contains("key"));
  EXPECT_THAT(objects[0]["diagnostics"], HasSubstr("paint.frag:9:"));
}

TEST_F(SurfaceCommandTest, ReportShowsWhatIsStoredOfALivingProgram) {
  std::ifstream in(WriteProgramFile(TinyProgram(), folder_ / "engine"));
  std::string toml((std::istreambuf_iterator<char>(in)), {});
  const size_t sources = toml.find("sources = ");
  toml.replace(sources, toml.find('\n', sources) - sources, "rooted = true");
  program_file_ = Write("tiny.program.toml", toml);
  const std::string key = RunJson(RequestArguments("Red", true), 0)[0]["key"];
  std::vector<std::string> keys;
  for (const json& row : RunJson({"report", program_file_}, 0)) {
    keys.push_back(row.value("key", ""));
  }
  EXPECT_THAT(keys, Contains(key));
}

TEST_F(SurfaceCommandTest, CommandsWithoutADaemonRefuseARootedProgram) {
  for (const char* command : {"lint", "prove", "tune"}) {
    const CommandResult result = Run({command, program_file_});
    EXPECT_EQ(result.exit_code, 2) << command;
    EXPECT_THAT(result.err, HasSubstr("paint is rooted")) << command;
  }
}

}  // namespace
}  // namespace kiln::testing
