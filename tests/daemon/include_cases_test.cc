// SPDX-License-Identifier: Apache-2.0

// Ways of including that shaders use, by way of a search root and the whole
// daemon: what compiles, and which line is named where one does not.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/daemon/live_fixture.h"

namespace kiln::daemon {
namespace {

using ::testing::HasSubstr;

constexpr char kHeader[] =
    "#version 460\n#extension GL_GOOGLE_include_directive : require\n"
    "layout(location = 0) out vec4 o;\n";

using IncludeCasesTest = LiveFixture;

struct IncludeCase {
  const char* name;
  std::map<std::string, std::string> files;  // each includes what follows
  std::string main;                          // after the header
  std::string says;                          // empty: it compiles
};

// Every way of including that a shader has been seen to use.
std::vector<IncludeCase> IncludeCases() {
  const std::string one = "float one() { return 1.0; }\n";
  const std::string use = "void main() { o = vec4(one()); }\n";
  return {
      {"a circle that one guard ends",
       {{"a.glsl",
         "#ifndef A\n#define A\n#include \"b.glsl\"\n#define X 1.0\n"
         "#endif\n"},
        {"b.glsl", "#include \"a.glsl\"\n"}},
       "#include \"a.glsl\"\nvoid main() { o = vec4(X); }\n",
       ""},
      {"a diamond without guards",
       {{"base.glsl", one},
        {"l.glsl", "#include \"base.glsl\"\n"},
        {"r.glsl", "#include \"base.glsl\"\n"}},
       "#include \"l.glsl\"\n#include \"r.glsl\"\n" + use,
       "project/base.glsl:1: error: 'one' : function already has a body"},
      {"pragma once",
       {{"once.glsl", "#pragma once\n" + one}},
       "#include \"once.glsl\"\n#include \"once.glsl\"\n" + use,
       ""},
      {"a template that is included twice on purpose",
       {{"tmpl.glsl", "float NAME() { return 1.0; }\n"}},
       "#define NAME a\n#include \"tmpl.glsl\"\n#undef NAME\n"
       "#define NAME b\n#include \"tmpl.glsl\"\n"
       "void main() { o = vec4(a() + b()); }\n",
       ""},
      {"a name that a macro makes",
       {{"one.glsl", one}},
       "#define FILE \"one.glsl\"\n#include FILE\n" + use,
       "project/main.frag:5: note: an #include needs the name itself"},
      {"generated text that names its origin",
       {{"gen.glsl",
         "#line 900 \"other.glsl\"\nfloat a() { return vec2(1); }\n"}},
       "#include \"gen.glsl\"\n" + use,
       "other.glsl:900: error: "},
      {"the line after generated text",
       {{"gen.glsl", "#line 900 \"other.glsl\"\n"}},
       "#include \"gen.glsl\"\n" + use,
       "project/main.frag:5: error: "},
      {"text of elsewhere in the middle of an expression",
       {},
       "void main() { o = vec4(\n#include \"../outside/secret.env\"\n); }\n",
       "project/main.frag:5: error: "},
      {"a folder",
       {{"sub/keep", ""}},
       "#include \"sub\"\n" + use,
       "'project/sub' is a directory"},
  };
}

TEST_F(IncludeCasesTest, WaysOfIncludingCompileOrSayWhyNot) {
  for (const IncludeCase& each : IncludeCases()) {
    SCOPED_TRACE(each.name);
    for (const auto& [name, text] : each.files) {
      root_.Write(name, text);
    }
    root_.Write("main.frag", kHeader + each.main);
    const v1::Completion made = Compile(Shader("main.frag", Stage::kFragment));
    const bool is_right = each.says.empty();
    EXPECT_EQ(made.state(), is_right ? v1::STATE_READY : v1::STATE_FAILED);
    EXPECT_THAT(TextOf(made), HasSubstr(each.says));
  }
}

// An include that the macros of a program turn on or off.
TEST_F(IncludeCasesTest, IncludesThatDependOnMacrosAreFoundWhenTheyCount) {
  const auto compile = [&](std::vector<Define> defines) {
    return Compile(Shader("main.frag", Stage::kFragment, std::move(defines)));
  };
  root_.Write("main.frag",
              std::string(kHeader) +
                  "#ifdef SHADOWS\n#include \"shadow.glsl\"\n#else\n"
                  "#define LIGHT 1.0\n#endif\n#if FEATURES > 2\n"
                  "#include \"extra.glsl\"\n#endif\n"
                  "void main() { o = vec4(LIGHT); }\n");
  EXPECT_EQ(compile({}).state(), v1::STATE_READY);
  const v1::Completion missing = compile({{"SHADOWS", "1"}});
  EXPECT_EQ(missing.state(), v1::STATE_FAILED);
  EXPECT_THAT(TextOf(missing), HasSubstr("shadow.glsl"));
  root_.Write("shadow.glsl", "#define LIGHT 0.5\n");
  const v1::Completion shadows = compile({{"SHADOWS", "1"}});
  EXPECT_EQ(shadows.state(), v1::STATE_READY) << TextOf(shadows);
  EXPECT_EQ(compile({{"FEATURES", "3"}}).state(), v1::STATE_FAILED);
  EXPECT_EQ(compile({{"FEATURES", "2"}}).state(), v1::STATE_READY);

  // Only the time changes, or the text comes back: nothing is compiled.
  const uint64_t runs = Count("front_end_runs");
  root_.Write("shadow.glsl", "#define LIGHT 0.5\n");
  EXPECT_EQ(compile({{"SHADOWS", "1"}}).origin(), v1::ORIGIN_STORE);
  EXPECT_EQ(Count("front_end_runs"), runs);
  root_.Write("shadow.glsl", "#define LIGHT 0.25\n");
  EXPECT_EQ(compile({{"SHADOWS", "1"}}).origin(), v1::ORIGIN_COMPILED);
  root_.Write("shadow.glsl", "#define LIGHT 0.5\n");
  EXPECT_EQ(compile({{"SHADOWS", "1"}}).origin(), v1::ORIGIN_STORE);
}

}  // namespace
}  // namespace kiln::daemon
