// SPDX-License-Identifier: Apache-2.0

// KNOWN_FAULTS 4: `&&` and `||` of specialization constants at file scope.
// Drivers crash on what glslang makes of them, so each form must be refused
// here, with a place and a rewrite, and each rewrite must compile.

#include "shaders/invalid_module.h"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/shaders/sources.h"

namespace kiln::shaders {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Three lines before `body`, which starts on line 4.
std::string WithConstants(std::string_view body) {
  return fmt::format(
      "#version 450\nlayout(constant_id = 3) const uint mode = 1u; "
      "layout(constant_id = 4) const "
      "bool other = true;\nlayout(location = 0) out vec4 color;\n{}\n",
      body);
}

StageResult Compile(std::string_view body) {
  return CompileFragment(WithConstants(body));
}

constexpr std::string_view kUse =
    "\nvoid main() { color = vec4(!both ? 1.0 : 2.0); }\n";

TEST(InvalidModuleTest, LogicalAndAtFileScopeIsRefusedWithPlaceAndRewrite) {
  const StageResult result = Compile(
      "const bool twoSided = (mode != 0u) && (mode * 2u > 1u);\n"
      "void main() { color = vec4(0); if (!twoSided) color = vec4(mode); }\n");
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.diagnostics,
              AllOf(StartsWith("main.frag:4: error: 'twoSided': '&&'"),
                    HasSubstr("const bool twoSided = a ? b : false;"),
                    HasSubstr("const bool twoSided = left && right;"),
                    HasSubstr("a bool that is not const")));
  EXPECT_THAT(result.diagnostics, HasSubstr("invalid SPIR-V: ID '"));
}

TEST(InvalidModuleTest, LogicalOrAtFileScopeNamesItsOwnRewrite) {
  const StageResult result = Compile(
      "\nconst bool both = other || (mode * 2u > 1u);" + std::string(kUse));
  EXPECT_THAT(result.diagnostics,
              AllOf(StartsWith("main.frag:5: error: 'both': '||'"),
                    HasSubstr("const bool both = a ? true : b;")));
}

TEST(InvalidModuleTest, DeclarationAboveItsOperatorIsTheLineReported) {
  const StageResult result = Compile(
      "\n\nconst bool both =\n    other\n    &&\n    (mode * 2u > 1u);" +
      std::string(kUse));
  EXPECT_THAT(result.diagnostics, StartsWith("main.frag:6: error: 'both'"));
}

TEST(InvalidModuleTest, ConstantInAnIncludedFileIsReportedThere) {
  const StageResult result = CompileFragment(
      WithConstants("#include \"lib/switches.glsl\"" + std::string(kUse)),
      {{"lib/switches.glsl",
        "\n\nconst bool both = other && (mode * 2u > 1u);\n"}});
  EXPECT_THAT(result.diagnostics,
              StartsWith("lib/switches.glsl:3: error: 'both': '&&'"));
}

TEST(InvalidModuleTest, EveryFaultyConstantIsReportedAndNoSoundOne) {
  const StageResult result = Compile(
      "const bool first = other && (mode * 2u > 1u);\n"
      "const bool sound = other && (mode > 1u);\n"
      "const bool second = other || (mode * 3u > 1u);\n"
      "const bool derived = !first;\n"
      "void main() { color = vec4(derived ? 1.0 : 2.0) * (!second ? 1.0 : 2.0) "
      "*"
      " (sound ? 3.0 : 1.0); }\n");
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.diagnostics,
              AllOf(HasSubstr("main.frag:4: error: 'first': '&&'"),
                    HasSubstr("main.frag:6: error: 'second': '||'"),
                    Not(HasSubstr("'sound'")), Not(HasSubstr("'derived'"))));
}

TEST(InvalidModuleTest, NestedExpressionIsReportedByTheConstantItEndsIn) {
  EXPECT_THAT(
      Compile(
          "const uint count = ((mode > 0u) && (mode * 2u > 1u)) ? 3u : 4u;\n"
          "void main() { color = vec4(count); }\n")
          .diagnostics,
      StartsWith("main.frag:4: error: 'count': '&&'"));
  EXPECT_THAT(Compile("const bool both = !(other || (mode * 2u > 1u));" +
                      std::string(kUse))
                  .diagnostics,
              StartsWith("main.frag:4: error: 'both': '||'"));
  EXPECT_THAT(
      Compile(
          "const bool both = other && (mode * 2u > 1u) && (mode * 3u > 1u);" +
          std::string(kUse))
          .diagnostics,
      StartsWith("main.frag:4: error: 'both': '&&'"));
  EXPECT_THAT(
      Compile(
          "const bvec2 pair = bvec2((mode > 0u) && (mode * 2u > 1u), other);\n"
          "void main() { color = vec4(pair.x); }\n")
          .diagnostics,
      StartsWith("main.frag:4: error: 'pair': '&&'"));
}

TEST(InvalidModuleTest, ConstantThatOnlyOtherFunctionsUseIsReported) {
  const StageResult result = Compile(
      "const bool both = other && (mode * 2u > 1u);\n"
      "float f() { if (both) { return 1.0; } return 2.0; }\n"
      "void main() { color = vec4(f()); if (both) { color *= 2.0; } }\n");
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.diagnostics,
              StartsWith("main.frag:4: error: 'both': '&&'"));
}

TEST(InvalidModuleTest, ConstantThatNothingUsesIsReported) {
  const StageResult result = Compile(
      "const bool both = other || (mode * 2u > 1u);\nvoid main() { color = "
      "vec4(1); }\n");
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.diagnostics,
              StartsWith("main.frag:4: error: 'both': '||'"));
}

TEST(InvalidModuleTest, ExpressionInsideAFunctionIsReportedByItsLine) {
  const StageResult result = Compile(
      "void main() {\n  color = vec4(1);\n"
      "  if (!(other && mode * 2u > 1u)) {\n    color *= 2.0;\n  }\n}\n");
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.diagnostics,
              StartsWith("main.frag:6: error: expression: '&&'"));
}

TEST(InvalidModuleTest, EveryRewriteOfTheMessageCompiles) {
  for (const std::string_view declaration :
       {"const bool both = (mode != 0u) ? (mode * 2u > 1u) : false;",
        "const bool both = (mode != 0u) ? true : (mode * 2u > 1u);",
        "const bool left = mode != 0u; const bool right = mode * 2u > 1u;"
        " const bool both = left && right;",
        "const bool left = mode != 0u; const bool right = mode * 2u > 1u;"
        " const bool both = left || right;"}) {
    const StageResult result =
        Compile(std::string(declaration) + std::string(kUse));
    EXPECT_TRUE(result.ok()) << declaration << "\n" << result.diagnostics;
  }
  const StageResult local = Compile(
      "void main() { bool both = (mode != 0u) && (mode * 2u > 1u);"
      " color = vec4(!both ? 1.0 : 2.0); }\n");
  EXPECT_TRUE(local.ok()) << local.diagnostics;
}

TEST(InvalidModuleTest, DamagedModuleHasNoFaults) {
  EXPECT_TRUE(FindLogicalConstantFaults({}).empty());
  const std::vector<uint32_t> noise(64, 0x07230203);
  EXPECT_TRUE(FindLogicalConstantFaults(noise).empty());
}

}  // namespace
}  // namespace kiln::shaders
