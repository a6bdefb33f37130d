// SPDX-License-Identifier: Apache-2.0

// `kiln compile` as scripts see it, against a real daemon.

#include <sys/stat.h>

#include <cstring>
#include <filesystem>
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
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kLit[] = R"(#version 460
#include "maps.glsl"
layout(constant_id = 3) const float GAIN = 0.5;
layout(push_constant) uniform Push { vec4 tint; float fade; } push;
layout(location = 1) in vec2 uv;
layout(location = 0) out vec4 color;
void main() { color = texture(albedo, uv) * GAIN * push.tint * push.fade; }
)";

constexpr char kMaps[] =
    "layout(set = 1, binding = 2) uniform sampler2D albedo;\n";

constexpr char kBlur[] = R"(#version 460
layout(local_size_x = 8, local_size_y = 4) in;
layout(set = 0, binding = 0) buffer Data { float values[]; };
void main() { values[gl_GlobalInvocationID.x] = float(TAPS); }
)";

class CompileCommandTest : public CliTest {
 protected:
  using CliTest::CliTest;

  void AddEngine() {
    Write("engine/fx/lit.frag", kLit);
    Write("engine/fx/maps.glsl", kMaps);
    const CommandResult result =
        Run({"roots", "add", (folder_ / "engine").string()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }

  json Compile(std::vector<std::string> arguments, int exit_code = 0) {
    arguments.insert(arguments.begin(), "compile");
    const auto objects = RunJson(std::move(arguments), exit_code);
    EXPECT_THAT(objects, SizeIs(1));
    return objects.empty() ? json::object() : objects[0];
  }
};

TEST_F(CompileCommandTest, NameHashStaysAndSourceSetHashFollowsAnInclude) {
  ASSERT_OK(daemon_.Start());
  AddEngine();
  const json before = Compile({"/engine/fx/lit.frag"});
  EXPECT_EQ(before["name_hash"].get<std::string>().size(), 64u);
  EXPECT_EQ(before["source_set_hash"].get<std::string>().size(), 64u);
  const json defined = Compile({"/engine/fx/lit.frag", "-DA=1"});
  EXPECT_NE(defined["name_hash"], before["name_hash"]);
  Write("engine/fx/maps.glsl", std::string("// edited\n") + kMaps);
  const json after = Compile({"/engine/fx/lit.frag"});
  EXPECT_EQ(after["name_hash"], before["name_hash"]);
  EXPECT_NE(after["source_set_hash"], before["source_set_hash"]);
  Write("engine/fx/maps.glsl", kMaps);
  const json undone = Compile({"/engine/fx/lit.frag"});
  EXPECT_EQ(undone["source_set_hash"], before["source_set_hash"]);
  EXPECT_EQ(undone["origin"], "store");
}

TEST_F(CompileCommandTest, ShaderOfASearchRootIsDescribed) {
  ASSERT_OK(daemon_.Start());
  AddEngine();
  const json shader = Compile({"/engine/fx/lit.frag"});
  EXPECT_EQ(shader["state"], "ready");
  EXPECT_EQ(shader["origin"], "compiled");
  EXPECT_EQ(shader["stage"], "fragment");
  EXPECT_EQ(shader["entry"], "main");
  EXPECT_EQ(shader["bindings"], (json{{{"name", "albedo"},
                                       {"set", 1},
                                       {"binding", 2},
                                       {"type", "combined_image_sampler"},
                                       {"count", 1}}}));
  ASSERT_THAT(shader["push_constants"], SizeIs(2));
  EXPECT_EQ(shader["push_constants"][1],
            (json{{"name", "fade"}, {"offset", 16}, {"bytes", 4}}));
  EXPECT_EQ(shader["constants"], (json{{{"id", 3},
                                        {"name", "GAIN"},
                                        {"type", "float"},
                                        {"default", 0.5},
                                        {"used", true}}}));
  EXPECT_EQ(shader["inputs"][0]["location"], 1);
  EXPECT_EQ(shader["inputs"][0]["type"], "vec2");
  EXPECT_EQ(shader["outputs"][0]["name"], "color");
  EXPECT_FALSE(shader.contains("workgroup_size"));
  // The same by its plain name: another name, the same module.
  const json plain = Compile({"--virtual", "fx/lit.frag"});
  EXPECT_EQ(plain["module"], shader["module"]);
  EXPECT_EQ(plain["name_hash"], shader["name_hash"]);
  EXPECT_EQ(Compile({"/engine/fx/lit.frag"})["origin"], "store");
  EXPECT_THAT(
      ::testing::PrintToString(Run({"compile", "/engine/fx/lit.frag"}).out),
      AllOf(HasSubstr("ready    /engine/fx/lit.frag: store, fragment"),
            HasSubstr("set 1 binding 2: combined_image_sampler albedo"),
            HasSubstr("offset 16: 4 bytes fade"),
            HasSubstr("id 3: float GAIN = 0.5"),
            HasSubstr("location 1: vec2 uv"), Not(HasSubstr("workgroup"))));
}

TEST_F(CompileCommandTest, FileIsCompiledByItselfAndWritten) {
  ASSERT_OK(daemon_.Start());
  const std::string file = Write("blur.comp", kBlur);
  const std::string out = (folder_ / "blur.spv").string();
  const json shader = Compile({file, "-DTAPS=4", "--out", out});
  EXPECT_EQ(shader["workgroup_size"], json({8, 4, 1}));
  EXPECT_EQ(shader["out"], out);
  std::ifstream in(out, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(bytes.size(), shader["bytes"]);
  ASSERT_GE(bytes.size(), 20u);
  uint32_t magic = 0;
  std::memcpy(&magic, bytes.data(), sizeof(magic));
  EXPECT_EQ(magic, 0x07230203u);
  // And that is a shader again.
  const json taken = Compile({out, "--stage", "compute"});
  EXPECT_EQ(taken["bindings"], shader["bindings"]);
  EXPECT_THAT(
      ::testing::PrintToString(Run({"compile", file, "-D", "TAPS=4"}).out),
      HasSubstr("workgroup size 8x4x1"));
}

TEST_F(CompileCommandTest, DefinesArePartOfTheShaderWhateverTheirOrder) {
  ASSERT_OK(daemon_.Start());
  const std::string file = Write("blur.comp", kBlur);
  const json one = Compile({file, "-D", "TAPS"});
  EXPECT_EQ(one["module"], Compile({file, "-D", "TAPS=1"})["module"]);
  EXPECT_NE(one["module"], Compile({file, "-D", "TAPS=2"})["module"]);
  const json two = Compile({file, "-DA=1", "-DTAPS=3"});
  const json same = Compile({file, "-DTAPS=3", "-DA=1"});
  EXPECT_EQ(two["program"], same["program"]);
  EXPECT_EQ(same["origin"], "store");
  EXPECT_EQ(Run({"compile", file, "-D", "1X=2"}).exit_code, 2);
}

TEST_F(CompileCommandTest, ErrorsAreNamedByTheAuthorsFileAndLine) {
  ASSERT_OK(daemon_.Start());
  const std::string file = Write("blur.comp", kBlur);
  const json failed = Compile({file}, 1);
  EXPECT_EQ(failed["state"], "failed");
  EXPECT_THAT(failed["diagnostics"],
              AllOf(HasSubstr(file + ":4:"), HasSubstr("TAPS")));
  const CommandResult text = Run({"compile", file});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.err, HasSubstr(file + ":4:"));
  EXPECT_THAT(Compile({file, "--name", "night blur"}, 1)["diagnostics"],
              AllOf(HasSubstr("night blur:4:"), Not(HasSubstr(file))));
  AddEngine();
  Write("engine/fx/maps.glsl", std::string(kMaps) + "\nint x = y;\n");
  EXPECT_THAT(Compile({"/engine/fx/lit.frag"}, 1)["diagnostics"],
              HasSubstr("engine/fx/maps.glsl:3:"));
}

TEST_F(CompileCommandTest, DebugNameIsInEveryDiagnosticOfAPathToo) {
  ASSERT_OK(daemon_.Start());
  AddEngine();
  Write("engine/fx/maps.glsl", std::string(kMaps) + "\nint x = y;\n");
  const std::string path = "/engine/fx/lit.frag";
  const json failed = Compile({path, "--name", "night lit"}, 1);
  EXPECT_EQ(failed["name"], "night lit");
  EXPECT_THAT(failed["diagnostics"],
              AllOf(StartsWith("in night lit:\n"),
                    HasSubstr("engine/fx/maps.glsl:3:")));
  const CommandResult text = Run({"compile", path, "--name", "night lit"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.err, StartsWith("in night lit:\n"));
  EXPECT_THAT(::testing::PrintToString(text.out),
              HasSubstr("failed   night lit (/engine/fx/lit.frag): "));
  // Without one nothing is put in front.
  EXPECT_THAT(Compile({path}, 1)["diagnostics"], Not(StartsWith("in ")));
  Write("engine/fx/maps.glsl",
        std::string(kMaps) + "#extension GL_no_such_thing : enable\n");
  EXPECT_THAT(
      Compile({path, "--name", "night lit"})["warnings"],
      AllOf(StartsWith("in night lit:\n"), HasSubstr("GL_no_such_thing")));
}

TEST_F(CompileCommandTest, DebugNameIsInEveryDiagnosticOfATextToo) {
  ASSERT_OK(daemon_.Start());
  const std::string file = Write("blur.comp", kBlur);
  EXPECT_THAT(
      Compile({file, "--name", "night blur"}, 1)["diagnostics"],
      AllOf(StartsWith("in night blur:\n"), HasSubstr("night blur:4:")));
}

TEST_F(CompileCommandTest, WhatIsNoRegularFileIsRefusedAtOnce) {
  const std::string pipe = (folder_ / "pipe.frag").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const CommandResult result = Run({"compile", pipe});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr(pipe + "' is a pipe"));
}

TEST_F(CompileCommandTest, WarningsArePrintedAndDoNotFail) {
  ASSERT_OK(daemon_.Start());
  const std::string file = Write("warn.frag",
                                 "#version 460\n"
                                 "layout(location = 0) out vec4 color;\n"
                                 "#extension GL_no_such_thing : enable\n"
                                 "void main() { color = vec4(1.0); }\n");
  const CommandResult text = Run({"compile", file});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.err,
              AllOf(HasSubstr(file + ":3:"), HasSubstr("GL_no_such_thing")));
  EXPECT_THAT(Compile({file})["warnings"], HasSubstr("GL_no_such_thing"));
}

TEST_F(CompileCommandTest, EntryAndLanguageAreTaken) {
  ASSERT_OK(daemon_.Start());
  const std::string file =
      Write("filters.hlsl",
            "RWStructuredBuffer<float> data : register(u0);\n"
            "[numthreads(16, 1, 1)] void BlurX(uint3 id : "
            "SV_DispatchThreadID) { data[id.x] = 1; }\n");
  const json shader = Compile({file, "--stage", "comp", "--entry", "BlurX"});
  EXPECT_EQ(shader["entry"], "BlurX");
  EXPECT_EQ(shader["workgroup_size"], json({16, 1, 1}));
  Compile({file, "--stage", "compute", "--entry", "BlurY"}, 1);
  const std::string text = Write("filters.txt", "void main() {}\n");
  EXPECT_EQ(
      Run({"compile", text, "--stage", "vert", "--language", "hlsl"}).exit_code,
      0);
}

TEST_F(CompileCommandTest, WhatCannotBeAskedForExitsWithTwo) {
  const std::string lit = Write("lit.frag", kLit);
  CommandResult result = Run({"compile", lit});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("'maps.glsl' in line 2"),
                    HasSubstr("kiln roots add"), HasSubstr("--virtual")));
  result = Run({"compile", "lost.frag"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("no file 'lost.frag'"));
  result = Run({"compile", Write("maps.glsl", kMaps)});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--stage"));
  EXPECT_EQ(Run({"compile", "/a.frag", "--stage", "pixel"}).exit_code, 2);
  EXPECT_EQ(Run({"compile", "/a.frag", "--language", "cg"}).exit_code, 2);
  EXPECT_EQ(Run({"compile", "/a/../b.frag"}).exit_code, 2);
  EXPECT_EQ(Run({"compile", "--virtual", "../b.frag"}).exit_code, 2);
  EXPECT_EQ(Run({"compile", "/a/b.frag"}).exit_code, 3) << "no daemon";
}

TEST_F(CompileCommandTest, FileWithIncludesInARootIsToldItsVirtualPath) {
  ASSERT_OK(daemon_.Start());
  AddEngine();
  const CommandResult result =
      Run({"compile", (folder_ / "engine/fx/lit.frag").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("`kiln compile /engine/fx/lit.frag`"));
}

TEST_F(CompileCommandTest, VirtualPathThatNoRootHasExitsWithOne) {
  ASSERT_OK(daemon_.Start());
  AddEngine();
  const CommandResult result = Run({"compile", "/engine/fx/lost.frag"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err + ::testing::PrintToString(result.out),
              HasSubstr("lost.frag"));
  EXPECT_EQ(Run({"compile", "/motor/fx/lit.frag"}).exit_code, 1);
}

class SealedCompileCommandTest : public CompileCommandTest {
 protected:
  SealedCompileCommandTest() : CompileCommandTest({{"--sealed"}, {}}) {}
};

TEST_F(SealedCompileCommandTest, NobodyIsAdvisedToAddARootToASealedDaemon) {
  ASSERT_OK(daemon_.Start());
  const CommandResult result = Run({"compile", Write("lit.frag", kLit)});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("sealed"), Not(HasSubstr("roots add"))));
}

}  // namespace
}  // namespace kiln::testing
