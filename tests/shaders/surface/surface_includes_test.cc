// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/surface_includes.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/shaders/surface/whole_shader.h"
#include "tests/support/status_matchers.h"

namespace kiln::surface {
namespace {

using ::kiln::testing::kInvalid;
using ::kiln::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::StartsWith;

// A surface that begins with `lines`, in a program with `files`.
absl::Status CheckWith(std::string_view lines, std::vector<SourceFile> files) {
  const Program program = WholeProgram(std::move(files));
  const SurfaceSet set = SetOf(
      {{"rust", std::string(lines) + "\nvoid surface(inout Surface s) {}\n"}});
  return CheckIncludes(Applied(set, program), set, 1);
}

// It is a file of the program, and so not looked at when it came in.
TEST(SurfaceIncludesTest, FileOfTheProgramBringsNoResourceIn) {
  const std::vector<SourceFile> files = {
      {"debug.glsl",
       "\nlayout(set = 0, binding = 7) uniform sampler2D debug;\n"},
      {"lib/far.glsl", "#include \"debug.glsl\"\n"},
      {"noise.glsl", "#pragma once\nfloat Noise() { return 1.0; }\n"}};
  EXPECT_OK(CheckWith("", files));
  EXPECT_OK(CheckWith("#include \"noise.glsl\"", files));
  EXPECT_THAT(CheckWith("#include \"debug.glsl\"", files),
              StatusIs(kInvalid, StartsWith("debug.glsl:2: 'layout'")));
  EXPECT_THAT(CheckWith("#if 0\n#include <lib/far.glsl>\n#endif", files),
              StatusIs(kInvalid, StartsWith("debug.glsl:2: 'layout'")));
  EXPECT_THAT(CheckWith("#include \"main.frag\"", files),
              StatusIs(kInvalid, StartsWith("main.frag:")));
}

// The file beside the one that includes it is meant, not that of the root.
TEST(SurfaceIncludesTest, FileIsTheOneThatTheCompilerOpens) {
  const std::string_view bad = "uniform float x;";
  EXPECT_THAT(CheckWith("#include \"lib/a.glsl\"",
                        {{"lib/a.glsl", "#include \"b.glsl\"\n"},
                         {"lib/b.glsl", std::string(bad)},
                         {"b.glsl", ""}}),
              StatusIs(kInvalid, StartsWith("lib/b.glsl:1: 'uniform'")));
  EXPECT_OK(CheckWith("#include \"lib/./a.glsl\"",
                      {{"lib/a.glsl", "#include <b.glsl>\n"},
                       {"lib/b.glsl", std::string(bad)},
                       {"b.glsl", ""}}));
}

TEST(SurfaceIncludesTest, MacroOfAnIncludedFileDeclaresNothing) {
  const std::vector<SourceFile> files = {
      {"m.glsl", "#define VALUE 1.0; float hidden\n#define ONE 1.0\n"}};
  EXPECT_OK(CheckWith("#include \"m.glsl\"\nconst float a = ONE;", files));
  EXPECT_THAT(CheckWith("#include \"m.glsl\"\nconst float a = VALUE;", files),
              StatusIs(kInvalid, StartsWith("rust:2: macro 'VALUE'")));
}

TEST(SurfaceIncludesTest, FilesBehindTheGeneratedOneAreNotTheSurfaces) {
  const SurfaceSet set =
      SetOf({{"a", "#include \"x\"\nvoid surface(inout Surface s) {}"}});
  const Program applied = Applied(set, WholeProgram({{"x", ""}}));
  EXPECT_THAT(ReachableFiles(applied, {"main.frag"}), ElementsAre("main.frag"));
  EXPECT_THAT(ReachableFiles(applied, {"kiln_surfaces/1/a"}),
              ElementsAre("kiln_surfaces/1/a", "x"));
  EXPECT_THAT(CheckIncludes(applied, set, 2),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace kiln::surface
