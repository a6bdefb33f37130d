// SPDX-License-Identifier: Apache-2.0

// `kiln precompile` as scripts see it, against a real daemon. Its bar is in
// cli_terminal_test.cc.

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kBatchVertex[] = R"(#version 460
void main() { gl_Position = vec4(0.0); }
)";

constexpr char kBatchLit[] = R"(#version 460
#include "common.glsl"
layout(location = 0) out vec4 color;
void main() { color = Common(); }
)";

constexpr char kCommon[] = "vec4 Common() { return vec4(1.0); }\n";

constexpr char kPlain[] = R"(#version 460
layout(location = 0) out vec4 color;
void main() { color = vec4(0.5); }
)";

constexpr char kBad[] = R"(#version 460
layout(location = 0) out vec4 color;
void main() { color = vec4(no_such_variable); }
)";

constexpr char kCompute[] = R"(#version 460
layout(local_size_x = 8) in;
void main() {}
)";

constexpr char kHlsl[] =
    "float4 main() : SV_Target { return float4(1, 1, 1, 1); }\n";

class PrecompileCommandTest : public CliTest {
 protected:
  std::string Folder(const std::string& name) const {
    return (folder_ / name).string();
  }

  void AddRoot(const std::string& name) {
    const CommandResult result =
        Run({"roots", "add", name + "=" + Folder(name)});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }

  // The paths in the objects of one run, and the summary behind them.
  struct Outcome {
    std::vector<std::string> ready;
    std::vector<std::string> failed;
    json summary = json::object();
  };

  Outcome Precompile(int exit_code, std::vector<std::string> more = {}) {
    more.insert(more.begin(), "precompile");
    Outcome outcome;
    for (const json& object : RunJson(std::move(more), exit_code)) {
      if (object.contains("shader")) {
        (object["state"] == "ready" ? outcome.ready : outcome.failed)
            .push_back(object["shader"]);
      } else {
        outcome.summary = object;
      }
    }
    return outcome;
  }

  // `exit_code`: of `kiln roots`.
  bool IsMarked(const std::string& name, int exit_code = 0) {
    for (const json& root : RunJson({"roots"}, exit_code)) {
      if (root["name"] == name) {
        return root["precompiled"];
      }
    }
    ADD_FAILURE() << "no root " << name;
    return false;
  }
};

TEST_F(PrecompileCommandTest, EveryShaderIsCompiledOnceAndThenUpToDate) {
  ASSERT_OK(daemon_.Start());
  Write("engine/lit.vert", kBatchVertex);
  Write("engine/fx/lit.frag", kBatchLit);
  Write("engine/common.glsl", kCommon);
  Write("engine/blur.comp.glsl", kCompute);
  Write("engine/tone.frag.hlsl", kHlsl);
  Write("engine/readme.txt", "not a shader\n");
  Write("engine/fx/.lit.frag", kBad);
  Write("engine/.git/old.frag", kBad);
  AddRoot("engine");
  const Outcome first = Precompile(0);
  EXPECT_THAT(
      first.ready,
      UnorderedElementsAre("/engine/lit.vert", "/engine/fx/lit.frag",
                           "/engine/blur.comp.glsl", "/engine/tone.frag.hlsl"));
  EXPECT_EQ(first.summary["total"], 4);
  EXPECT_EQ(first.summary["compiled"], 4);
  EXPECT_EQ(first.summary["failed"], 0);
  EXPECT_EQ(first.summary["roots"], json({"engine"}));
  EXPECT_EQ(first.summary["marked"], true);
  EXPECT_TRUE(IsMarked("engine"));
  // Covered before, so not again unless asked for.
  EXPECT_EQ(Precompile(0).summary["total"], 0);
  const Outcome again = Precompile(0, {"--all"});
  EXPECT_EQ(again.summary["up_to_date"], 4);
  EXPECT_EQ(again.summary["compiled"], 0);
  const CommandResult text = Run({"precompile", "--all"});
  EXPECT_THAT(text.out,
              ElementsAre(AllOf(HasSubstr("4 shaders of engine: 4 up to date, "
                                          "0 compiled, 0 failed"))));
  EXPECT_THAT(text.err, Not(HasSubstr("\x1b"))) << "no terminal, no bar";
}

TEST_F(PrecompileCommandTest, EditedIncludeCompilesItsDependentsOnly) {
  ASSERT_OK(daemon_.Start());
  Write("engine/lit.frag", kBatchLit);
  Write("engine/common.glsl", kCommon);
  Write("engine/plain.frag", kPlain);
  Write("engine/flat.vert", kBatchVertex);
  AddRoot("engine");
  Precompile(0);
  EXPECT_EQ(daemon_.CounterValue("front_end_runs"), 3);
  Write("engine/common.glsl", "vec4 Common() { return vec4(0.25); }\n");
  // Maybe kilnd, which watches the roots, was first to compile it.
  Outcome outcome = Precompile(0, {"--all", "--jobs", "1"});
  EXPECT_THAT(outcome.ready, SizeIs(3));
  EXPECT_LE(outcome.summary["compiled"], 1);
  EXPECT_EQ(daemon_.CounterValue("front_end_runs"), 4);
  Write("engine/common.glsl", kCommon);
  outcome = Precompile(0, {"--all"});
  EXPECT_EQ(outcome.summary["up_to_date"], 3);
  EXPECT_EQ(daemon_.CounterValue("front_end_runs"), 4) << "it is known still";
}

TEST_F(PrecompileCommandTest, FailuresAreListedOnceAtTheEndWithDiagnostics) {
  ASSERT_OK(daemon_.Start());
  Write("engine/bad.frag", kBad);
  Write("engine/lost.frag", kBatchLit);  // its include is nowhere
  Write("engine/plain.frag", kPlain);
  AddRoot("engine");
  const CommandResult text = Run({"precompile"});
  EXPECT_EQ(text.exit_code, 1);
  ASSERT_THAT(text.out, SizeIs(4));
  EXPECT_EQ(text.out[0], "2 of 3 shaders failed:");
  EXPECT_THAT(text.out[1], HasSubstr("  /engine/bad.frag: "));
  EXPECT_THAT(text.out[2], HasSubstr("  /engine/lost.frag: "));
  EXPECT_THAT(text.out[3], HasSubstr("0 up to date, 1 compiled, 2 failed"));
  EXPECT_THAT(text.err,
              AllOf(HasSubstr("bad.frag:3:"), HasSubstr("no_such_variable"),
                    HasSubstr("common.glsl")));
  EXPECT_FALSE(IsMarked("engine"));
  const auto objects = RunJson({"precompile"}, 1);
  ASSERT_THAT(objects, SizeIs(4));
  for (const json& object : objects) {
    if (object.value("shader", "") == "/engine/bad.frag") {
      EXPECT_EQ(object["state"], "failed");
      EXPECT_THAT(object["diagnostics"], HasSubstr("no_such_variable"));
    }
  }
  EXPECT_EQ(objects.back()["failed"], 2);
}

TEST_F(PrecompileCommandTest, RootWithAFailureIsTriedAgainUntilItIsMended) {
  ASSERT_OK(daemon_.Start());
  Write("good/plain.frag", kPlain);
  Write("torn/bad.frag", kBad);
  Write("torn/plain.frag", kPlain);
  AddRoot("good");
  AddRoot("torn");
  const Outcome first = Precompile(1);
  EXPECT_EQ(first.summary["marked"], false);
  EXPECT_EQ(first.summary["uncovered"], json({"torn"}));
  EXPECT_TRUE(IsMarked("good")) << "nothing of it failed";
  EXPECT_FALSE(IsMarked("torn"));
  const CommandResult text = Run({"precompile"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.err, HasSubstr("not covered: torn"));
  const Outcome again = Precompile(1);
  EXPECT_THAT(again.failed, ElementsAre("/torn/bad.frag"));
  EXPECT_THAT(again.ready, ElementsAre("/torn/plain.frag"));
  Write("torn/bad.frag", kPlain);
  const Outcome mended = Precompile(0);
  EXPECT_EQ(mended.summary["marked"], true);
  EXPECT_EQ(mended.summary["uncovered"], json::array());
  EXPECT_TRUE(IsMarked("torn"));
  // Covered once is not covered for ever.
  Write("torn/bad.frag", kBad);
  Precompile(1, {"--all"});
  EXPECT_FALSE(IsMarked("torn"));
  EXPECT_TRUE(IsMarked("good"));
}

TEST_F(PrecompileCommandTest, RootOfAVariantThatFailsIsNotCovered) {
  ASSERT_OK(daemon_.Start());
  fs::create_directories(folder_ / "torn");
  WriteProgramFile(BrokenProgram(), folder_ / "torn");
  fs::create_directories(folder_ / "good");
  WriteProgramFile(TinyProgram(), folder_ / "good");
  AddRoot("torn");
  AddRoot("good");
  const Outcome outcome = Precompile(1, {"--whole"});
  EXPECT_EQ(outcome.summary["uncovered"], json({"torn"}));
  EXPECT_TRUE(IsMarked("good"));
}

// For root, too, who may read what others may not: precompile_plan_test.cc.
TEST_F(PrecompileCommandTest, RootThatCannotBeReadIsAFailureAndNotMissing) {
  ASSERT_OK(daemon_.Start());
  Write("engine/plain.frag", kPlain);
  fs::create_symlink("circle", folder_ / "circle");
  AddRoot("engine");
  AddRoot("circle");
  AddRoot("file");
  Write("file", "was no file when it became a root\n");
  const Outcome outcome = Precompile(1);
  EXPECT_THAT(outcome.ready, ElementsAre("/engine/plain.frag"));
  EXPECT_THAT(outcome.failed, UnorderedElementsAre("/circle", "/file"));
  EXPECT_EQ(outcome.summary["missing"], json::array());
  EXPECT_FALSE(IsMarked("circle", 1));
  const CommandResult text = Run({"precompile"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(::testing::PrintToString(text.out),
              AllOf(HasSubstr(Folder("circle") + "' cannot be read: "),
                    HasSubstr(Folder("file") + "' cannot be read: ")));
}

TEST_F(PrecompileCommandTest, HiddenFileIsCompiledUnderItsFullPath) {
  ASSERT_OK(daemon_.Start());
  Write("project/lit.frag", kPlain);
  Write("engine/lit.frag", kBad);
  AddRoot("project");
  AddRoot("engine");
  const Outcome outcome = Precompile(1);
  EXPECT_THAT(outcome.ready, ElementsAre("/project/lit.frag"));
  EXPECT_THAT(outcome.failed, ElementsAre("/engine/lit.frag"));
}

TEST_F(PrecompileCommandTest, StagesOfAProgramAreCompiledAsItSays) {
  ASSERT_OK(daemon_.Start());
  const std::string needs_define =
      "#version 460\n"
      "layout(location = 0) out vec4 color;\n"
      "void main() { color = vec4(GAIN); }\n";
  Write("engine/fx/glow.vert", kBatchVertex);
  Write("engine/fx/glow.frag", needs_define);
  Write("engine/fx/glow.program.toml",
        "format = 1\nname = \"glow\"\nsources = [\"glow.vert\", \"glow.frag\"]"
        "\n[stages]\nvertex = \"glow.vert\"\nfragment = \"glow.frag\"\n"
        "[defines]\nGAIN = \"0.5\"\n[[kind]]\nname = \"opaque\"\n"
        "[pipeline]\ncolor_formats = [\"r8g8b8a8_unorm\"]\n");
  Write("engine/shade/dim.frag", needs_define);
  Write("engine/programs/dim.program.toml",
        "format = 1\nname = \"dim\"\nrooted = true\n[stages]\n"
        "vertex = \"fx/glow.vert\"\nfragment = \"shade/dim.frag\"\n"
        "[defines]\nGAIN = \"0.1\"\n[[kind]]\nname = \"opaque\"\n"
        "[pipeline]\ncolor_formats = [\"r8g8b8a8_unorm\"]\n");
  AddRoot("engine");
  const Outcome outcome = Precompile(0);
  EXPECT_THAT(outcome.ready,
              UnorderedElementsAre("/engine/fx/glow.program.toml",
                                   "/engine/programs/dim.program.toml"));
  EXPECT_FALSE(outcome.summary.contains("whole"));
  EXPECT_TRUE(RunJson({"list"}, 0).empty());
}

TEST_F(PrecompileCommandTest, WholeCompilesEveryKindBackdropAndBlend) {
  ASSERT_OK(daemon_.Start());
  fs::create_directories(folder_ / "engine");
  WriteProgramFile(TinyProgram(), folder_ / "engine");
  Write("engine/plain.frag", kPlain);
  AddRoot("engine");
  const Outcome first = Precompile(0, {"--whole"});
  EXPECT_EQ(first.summary["total"], 2);
  EXPECT_EQ(first.summary["whole"]["total"], 3);
  EXPECT_EQ(first.summary["whole"]["compiled"], 3);
  const auto listed = RunJson({"list"}, 0);
  ASSERT_THAT(listed, SizeIs(3));
  EXPECT_THAT(listed[0]["label"], HasSubstr(" whole"));
  const Outcome again = Precompile(0, {"--whole", "--all", "--jobs", "1"});
  EXPECT_EQ(again.summary["up_to_date"], 2);
  EXPECT_EQ(again.summary["whole"]["up_to_date"], 3);
}

TEST_F(PrecompileCommandTest, WholeShadersOfAProgramThatFailsAreNotTried) {
  ASSERT_OK(daemon_.Start());
  fs::create_directories(folder_ / "engine");
  WriteProgramFile(BrokenProgram(), folder_ / "engine");
  AddRoot("engine");
  const Outcome outcome = Precompile(1, {"--whole"});
  EXPECT_THAT(outcome.failed, ElementsAre("/engine/tiny.program.toml"));
  EXPECT_EQ(outcome.summary["whole"]["total"], 0);
}

TEST_F(PrecompileCommandTest, NamedRootsAreCoveredAndAFolderBecomesOne) {
  ASSERT_OK(daemon_.Start());
  Write("engine/lit.frag", kPlain);
  Write("plugin/sky.frag", kPlain);
  Write("project/own.frag", kPlain);
  AddRoot("engine");
  AddRoot("plugin");
  const Outcome outcome = Precompile(
      0, {"--roots", "plugin", Folder("engine") + "/", Folder("project")});
  EXPECT_THAT(outcome.ready,
              UnorderedElementsAre("/engine/lit.frag", "/plugin/sky.frag",
                                   "/project/own.frag"));
  EXPECT_TRUE(IsMarked("engine"));
  EXPECT_TRUE(IsMarked("project"));
  // Those that were named before are covered once more.
  EXPECT_EQ(Precompile(0, {"--roots", "plugin"}).summary["up_to_date"], 1);
  Write("later/new.frag", kPlain);
  AddRoot("later");
  EXPECT_THAT(Precompile(0).ready, ElementsAre("/later/new.frag"));
}

TEST_F(PrecompileCommandTest, MissingRootIsPassedOverAndNotMarked) {
  ASSERT_OK(daemon_.Start());
  Write("engine/lit.frag", kPlain);
  AddRoot("engine");
  AddRoot("plugin");
  const Outcome outcome = Precompile(0);
  EXPECT_THAT(outcome.ready, ElementsAre("/engine/lit.frag"));
  EXPECT_EQ(outcome.summary["missing"], json({"plugin"}));
  EXPECT_FALSE(IsMarked("plugin"));
  EXPECT_THAT(Run({"precompile"}).err, HasSubstr("plugin is missing"));
  Write("plugin/sky.frag", kPlain);
  EXPECT_THAT(Precompile(0).ready, ElementsAre("/plugin/sky.frag"));
}

TEST_F(PrecompileCommandTest, LinksAreFollowedOnlyWithinTheirRoot) {
  ASSERT_OK(daemon_.Start());
  Write("outside/secret.frag", kPlain);
  Write("engine/lit.frag", kPlain);
  fs::create_symlink("lit.frag", folder_ / "engine/same.frag");
  fs::create_symlink("../outside/secret.frag", folder_ / "engine/leak.frag");
  fs::create_directory_symlink("../outside", folder_ / "engine/more");
  fs::create_directory_symlink(".", folder_ / "engine/loop");
  AddRoot("engine");
  EXPECT_THAT(Precompile(0).ready,
              UnorderedElementsAre("/engine/lit.frag", "/engine/same.frag"));
}

TEST_F(PrecompileCommandTest, LinksThatKilndRefusesArePassedOver) {
  ASSERT_OK(daemon_.Start());
  Write("engine/fx/lit.frag", kPlain);
  fs::create_symlink(folder_ / "engine/fx/lit.frag",
                     folder_ / "engine/absolute.frag");
  fs::create_symlink("../engine/fx/lit.frag", folder_ / "engine/round.frag");
  fs::create_symlink("fx/lit.frag", folder_ / "engine/same.frag");
  AddRoot("engine");
  EXPECT_THAT(Precompile(0).ready,
              UnorderedElementsAre("/engine/fx/lit.frag", "/engine/same.frag"));
}

TEST_F(PrecompileCommandTest, ProgramFileThatCannotBeReadIsAFailure) {
  ASSERT_OK(daemon_.Start());
  Write("engine/half.program.toml", "format = 1\nname = ");
  Write("engine/plain.frag", kPlain);
  AddRoot("engine");
  const Outcome outcome = Precompile(1);
  EXPECT_THAT(outcome.failed, ElementsAre("/engine/half.program.toml"));
  EXPECT_THAT(outcome.ready, ElementsAre("/engine/plain.frag"));
  EXPECT_EQ(outcome.summary["total"], 2);
}

TEST_F(PrecompileCommandTest, WrongArgumentsAreNamed) {
  EXPECT_EQ(Run({"precompile"}).exit_code, 3);
  ASSERT_OK(daemon_.Start());
  CommandResult result = Run({"precompile"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("kiln roots add"));
  Write("engine/plain.frag", kPlain);
  AddRoot("engine");
  result = Run({"precompile", "--roots", "motor"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("'motor'"), HasSubstr("there are engine")));
  EXPECT_EQ(Run({"precompile", "--all", "--roots", "engine"}).exit_code, 2);
  EXPECT_EQ(Run({"precompile", "--jobs", "0"}).exit_code, 2);
  EXPECT_EQ(Run({"precompile", "--target", "voodoo"}).exit_code, 2);
  EXPECT_FALSE(IsMarked("engine"));
  fs::create_symlink("circle", folder_ / "circle");
  result = Run({"precompile", "--roots", Folder("circle")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("circle' cannot be read: "));
}

}  // namespace
}  // namespace kiln::testing
