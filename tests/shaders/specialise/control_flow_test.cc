// SPDX-License-Identifier: Apache-2.0

// Every shape of structured control flow, with its branches on specialization
// constants: the specialised module is valid and does what the frozen one does.

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "shaders/freeze.h"
#include "tests/shaders/assembly.h"
#include "tests/shaders/constant_programs.h"
#include "tests/shaders/specialise/expect_specialised.h"
#include "tests/shaders/specialise/interpreter.h"
#include "tests/support/status_matchers.h"

namespace kiln::specialise {
namespace {

using shaders::Uint;

// `%c` and `%d` are bool (constant_id 0 and 1), `%n` is int (2); `%x` is an
// input that nobody knows, `%y` whether it is odd.
constexpr std::string_view kHead = R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint Fragment %main "main" %in %out
OpExecutionMode %main OriginUpperLeft
OpDecorate %in Location 0
OpDecorate %in Flat
OpDecorate %out Location 0
OpDecorate %c SpecId 0
OpDecorate %d SpecId 1
OpDecorate %n SpecId 2
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%int = OpTypeInt 32 1
%i0 = OpConstant %int 0
%i1 = OpConstant %int 1
%i2 = OpConstant %int 2
%i3 = OpConstant %int 3
%i4 = OpConstant %int 4
%c = OpSpecConstantTrue %bool
%d = OpSpecConstantTrue %bool
%n = OpSpecConstant %int 0
%in_ptr = OpTypePointer Input %int
%out_ptr = OpTypePointer Output %int
%local = OpTypePointer Function %int
%flag = OpTypePointer Function %bool
%in = OpVariable %in_ptr Input
%out = OpVariable %out_ptr Output
%main = OpFunction %void None %fn
%entry = OpLabel
%v = OpVariable %local Function
%b = OpVariable %flag Function
%x = OpLoad %int %in
%odd = OpBitwiseAnd %int %x %i1
%y = OpIEqual %bool %odd %i1
)";

struct Shape {
  std::string_view name;
  std::string_view body;
  // Branches that are left where c and d are true and n is 1; -1: any.
  int conditional = -1;
  int labels = -1;
};

const Shape kShapes[] = {
    {"IfWithoutElse", R"(
OpSelectionMerge %m None
OpBranchConditional %c %t %m
%t = OpLabel
OpStore %out %i1
OpBranch %m
%m = OpLabel
OpStore %out %i2
OpReturn)",
     0, 3},
    {"IfElseWithPhi", R"(
OpSelectionMerge %m None
OpBranchConditional %c %t %f
%t = OpLabel
OpBranch %m
%f = OpLabel
OpBranch %m
%m = OpLabel
%p = OpPhi %int %i1 %t %x %f
OpStore %out %p
OpReturn)",
     0, 3},
    {"PhiOfThreeWaysLosesOne", R"(
OpSelectionMerge %m None
OpSwitch %x %o 1 %a 2 %e
%a = OpLabel
OpBranch %m
%e = OpLabel
OpSelectionMerge %em None
OpBranchConditional %c %et %em
%et = OpLabel
OpStore %out %i4
OpBranch %em
%em = OpLabel
%ep = OpPhi %int %i3 %et %x %e
OpBranch %m
%o = OpLabel
OpBranch %m
%m = OpLabel
%p = OpPhi %int %i1 %a %ep %em %x %o
OpStore %out %p
OpReturn)"},
    {"NestedSelections", R"(
OpSelectionMerge %m None
OpBranchConditional %c %t %f
%t = OpLabel
OpSelectionMerge %tm None
OpBranchConditional %y %tt %tf
%tt = OpLabel
OpStore %out %i1
OpBranch %tm
%tf = OpLabel
OpSelectionMerge %tfm None
OpBranchConditional %d %tft %tfm
%tft = OpLabel
OpStore %out %i2
OpBranch %tfm
%tfm = OpLabel
OpBranch %tm
%tm = OpLabel
OpBranch %m
%f = OpLabel
OpStore %out %i3
OpBranch %m
%m = OpLabel
OpReturn)",
     1},
    {"BothArmsReturn", R"(
OpSelectionMerge %m None
OpBranchConditional %c %t %f
%t = OpLabel
OpStore %out %i1
OpReturn
%f = OpLabel
OpStore %out %i2
OpReturn
%m = OpLabel
OpUnreachable)",
     0, 2},
    {"ArmsOfAnUnknownSelectionReturnOnceAnInnerOneIsDecided", R"(
OpSelectionMerge %m None
OpBranchConditional %y %t %f
%t = OpLabel
OpSelectionMerge %tm None
OpBranchConditional %c %tt %tm
%tt = OpLabel
OpStore %out %i1
OpReturn
%tm = OpLabel
OpBranch %m
%f = OpLabel
OpStore %out %i2
OpKill
%m = OpLabel
%p = OpPhi %int %i3 %tm
OpStore %out %p
OpReturn)"},
    {"EarlyReturn", R"(
OpSelectionMerge %m None
OpBranchConditional %c %t %m
%t = OpLabel
OpStore %out %i1
OpReturn
%m = OpLabel
OpStore %out %i2
OpReturn)",
     0, 2},
    {"EmptySelection", R"(
OpSelectionMerge %m None
OpBranchConditional %c %m %f
%f = OpLabel
OpStore %out %i1
OpBranch %m
%m = OpLabel
OpStore %out %i2
OpReturn)",
     0},
    {"SwitchWithFallThrough", R"(
OpSelectionMerge %m None
OpSwitch %n %o 0 %a 1 %e 2 %g
%a = OpLabel
OpStore %out %i1
OpBranch %e
%e = OpLabel
OpStore %out %i2
OpBranch %m
%g = OpLabel
OpStore %out %i3
OpBranch %m
%o = OpLabel
OpStore %out %i4
OpBranch %m
%m = OpLabel
OpReturn)",
     0, 3},
    {"SwitchWithABreakInsideASelectionStaysASwitch", R"(
OpSelectionMerge %m None
OpSwitch %n %o 1 %a 2 %g
%a = OpLabel
OpStore %out %i1
OpSelectionMerge %am None
OpBranchConditional %y %at %am
%at = OpLabel
OpBranch %m
%am = OpLabel
OpStore %out %i2
OpBranch %m
%g = OpLabel
OpStore %out %i3
OpBranch %m
%o = OpLabel
OpBranch %m
%m = OpLabel
%p = OpPhi %int %i1 %at %i2 %am %i3 %g %x %o
OpStore %out %p
OpReturn)",
     1},
    {"SwitchWithADecidedBreakInsideASelection", R"(
OpSelectionMerge %m None
OpSwitch %n %o 1 %a 2 %g
%a = OpLabel
OpSelectionMerge %am None
OpBranchConditional %c %at %am
%at = OpLabel
OpBranch %m
%am = OpLabel
OpStore %out %i2
OpBranch %m
%g = OpLabel
OpBranch %m
%o = OpLabel
OpBranch %m
%m = OpLabel
OpStore %out %i4
OpReturn)",
     0, 4},
    {"SwitchOnAnUnknownValueWithDecidedCases", R"(
OpSelectionMerge %m None
OpSwitch %x %o 1 %a 2 %g
%a = OpLabel
OpSelectionMerge %am None
OpBranchConditional %c %at %am
%at = OpLabel
OpStore %out %i1
OpBranch %m
%am = OpLabel
OpStore %out %i2
OpBranch %g
%g = OpLabel
OpStore %out %i3
OpBranch %m
%o = OpLabel
OpBranch %m
%m = OpLabel
OpReturn)"},
    {"LoopThatNeverRuns", R"(
OpStore %v %i0
OpBranch %l
%l = OpLabel
OpLoopMerge %m %k None
OpBranch %h
%h = OpLabel
%i = OpLoad %int %v
%less = OpSLessThan %bool %i %x
%go = OpLogicalAnd %bool %less %c
%not = OpLogicalNot %bool %c
%g = OpLogicalAnd %bool %not %go
OpBranchConditional %g %t %m
%t = OpLabel
OpStore %out %i1
OpBranch %k
%k = OpLabel
%j = OpLoad %int %v
%j1 = OpIAdd %int %j %i1
OpStore %v %j1
OpBranch %l
%m = OpLabel
OpReturn)",
     0},
    {"LoopWithBreakAndContinue", R"(
OpStore %v %i0
OpBranch %l
%l = OpLabel
OpLoopMerge %m %k None
OpBranch %h
%h = OpLabel
%i = OpLoad %int %v
%less = OpSLessThan %bool %i %i4
OpBranchConditional %less %t %m
%t = OpLabel
OpSelectionMerge %sm None
OpBranchConditional %c %st %sm
%st = OpLabel
OpBranch %k
%sm = OpLabel
OpStore %out %i
OpSelectionMerge %rm None
OpBranchConditional %d %rt %rm
%rt = OpLabel
OpBranch %m
%rm = OpLabel
OpStore %out %i4
OpBranch %k
%k = OpLabel
%j = OpLoad %int %v
%j1 = OpIAdd %int %j %i1
OpStore %v %j1
OpBranch %l
%m = OpLabel
OpStore %out %i3
OpReturn)"},
    {"LoopWithPhisThatIsLeftAtOnce", R"(
OpBranch %l
%l = OpLabel
%i = OpPhi %int %i0 %entry %i1st %k
%s = OpPhi %int %x %entry %s1 %k
OpLoopMerge %m %k None
OpBranch %h
%h = OpLabel
%less = OpSLessThan %bool %i %i4
OpBranchConditional %less %t %m
%t = OpLabel
%s1 = OpIAdd %int %s %i
OpStore %out %s1
OpSelectionMerge %sm None
OpBranchConditional %c %st %sm
%st = OpLabel
OpBranch %m
%sm = OpLabel
OpBranch %k
%k = OpLabel
%i1st = OpIAdd %int %i %i1
OpBranch %l
%m = OpLabel
%p = OpPhi %int %s %h %s1 %st
OpStore %out %p
OpReturn)"},
    {"LoopLeftFromInsideASelectionKeepsADeadContinue", R"(
OpBranch %l
%l = OpLabel
%i = OpPhi %int %i0 %entry %i1st %k
OpLoopMerge %m %k None
OpBranch %t
%t = OpLabel
OpSelectionMerge %sm None
OpBranchConditional %y %st %sm
%st = OpLabel
OpStore %out %i1
OpBranch %m
%sm = OpLabel
OpStore %out %i2
OpSelectionMerge %rm None
OpBranchConditional %c %rt %rm
%rt = OpLabel
OpReturn
%rm = OpLabel
OpBranch %k
%k = OpLabel
%i1st = OpIAdd %int %i %i1
%less = OpSLessThan %bool %i1st %i3
OpBranchConditional %less %l %m
%m = OpLabel
OpStore %out %i3
OpReturn)"},
    {"LoopEnteredFromTwoBlocksKeepsItsPhi", R"(
OpSelectionMerge %l None
OpBranchConditional %y %t %f
%t = OpLabel
OpBranch %l
%f = OpLabel
OpBranch %l
%l = OpLabel
%i = OpPhi %int %i1 %t %i2 %f %i1st %e
OpLoopMerge %m %k None
OpBranch %h
%h = OpLabel
OpStore %out %i
OpSelectionMerge %sm None
OpBranchConditional %y %st %sm
%st = OpLabel
OpBranch %m
%sm = OpLabel
OpSelectionMerge %rm None
OpBranchConditional %c %rt %rm
%rt = OpLabel
OpReturn
%rm = OpLabel
OpBranch %k
%k = OpLabel
%i1st = OpIAdd %int %i %i1
OpBranch %e
%e = OpLabel
%less = OpSLessThan %bool %i1st %i4
OpBranchConditional %less %l %m
%m = OpLabel
OpReturn)"},
    {"DoWhileFalse", R"(
OpBranch %l
%l = OpLabel
OpLoopMerge %m %k None
OpBranch %t
%t = OpLabel
OpStore %out %i1
OpSelectionMerge %sm None
OpBranchConditional %y %st %sm
%st = OpLabel
OpBranch %m
%sm = OpLabel
OpStore %out %i2
OpBranch %k
%k = OpLabel
%no = OpLogicalNot %bool %c
%go = OpLogicalAnd %bool %no %y
OpBranchConditional %go %l %m
%m = OpLabel
OpStore %out %i3
OpReturn)"},
    {"LoopOfOneBlock", R"(
OpBranch %l
%l = OpLabel
%i = OpPhi %int %i0 %entry %i1st %l
%i1st = OpIAdd %int %i %i1
OpStore %out %i1st
%less = OpSLessThan %bool %i1st %n
OpLoopMerge %m %l None
OpBranchConditional %less %l %m
%m = OpLabel
OpReturn)"},
    {"LoopWithoutEnd", R"(
OpStore %v %i0
OpBranch %l
%l = OpLabel
OpLoopMerge %m %k None
OpBranch %t
%t = OpLabel
%i = OpLoad %int %v
%i1st = OpIAdd %int %i %i1
OpStore %v %i1st
OpStore %out %i1st
%many = OpSGreaterThan %bool %i1st %i3
%end = OpLogicalAnd %bool %many %y
OpSelectionMerge %sm None
OpBranchConditional %many %st %sm
%st = OpLabel
OpSelectionMerge %rm None
OpBranchConditional %c %rt %rm
%rt = OpLabel
OpKill
%rm = OpLabel
OpBranch %m
%sm = OpLabel
OpBranch %k
%k = OpLabel
OpBranch %l
%m = OpLabel
OpStore %out %i4
OpReturn)"},
    {"LoopsInsideOneAnother", R"(
OpBranch %l
%l = OpLabel
%i = OpPhi %int %i0 %entry %i1st %k
OpLoopMerge %m %k None
OpBranch %h
%h = OpLabel
%less = OpSLessThan %bool %i %i3
OpBranchConditional %less %t %m
%t = OpLabel
OpBranch %ll
%ll = OpLabel
%j = OpPhi %int %i0 %t %j1st %kk
OpLoopMerge %mm %kk None
OpBranch %hh
%hh = OpLabel
%lless = OpSLessThan %bool %j %i2
%both = OpLogicalAnd %bool %lless %c
OpBranchConditional %both %tt %mm
%tt = OpLabel
OpStore %out %j
OpSelectionMerge %sm None
OpSwitch %n %sm 1 %s1 2 %s2
%s1 = OpLabel
OpBranch %kk
%s2 = OpLabel
OpBranch %mm
%sm = OpLabel
OpStore %out %i4
OpBranch %kk
%kk = OpLabel
%j1st = OpIAdd %int %j %i1
OpBranch %ll
%mm = OpLabel
OpBranch %k
%k = OpLabel
%i1st = OpIAdd %int %i %i1
OpBranch %l
%m = OpLabel
OpReturn)"},
    {"ConditionalExitsThatHaveNoMergeOfTheirOwn", R"(
OpSelectionMerge %m None
OpBranchConditional %c %t %f
%t = OpLabel
OpStore %out %i1
OpBranchConditional %y %m %u
%u = OpLabel
OpStore %out %i2
OpBranch %m
%f = OpLabel
OpStore %out %i3
OpBranch %m
%m = OpLabel
OpStore %out %i4
OpReturn)",
     2},
    {"VariableWrittenOnce", R"(
OpStore %b %c
%load = OpLoad %bool %b
OpSelectionMerge %m None
OpBranchConditional %load %t %m
%t = OpLabel
OpStore %out %i1
OpBranch %m
%m = OpLabel
OpReturn)",
     0},
    {"VariableWrittenInTheArmThatStays", R"(
OpSelectionMerge %m None
OpBranchConditional %c %t %f
%t = OpLabel
OpStore %b %c
OpBranch %m
%f = OpLabel
OpStore %b %y
OpBranch %m
%m = OpLabel
%load = OpLoad %bool %b
OpSelectionMerge %mm None
OpBranchConditional %load %tt %mm
%tt = OpLabel
OpStore %out %i1
OpBranch %mm
%mm = OpLabel
OpReturn)",
     0},
    {"VariableWrittenTwiceVaries", R"(
OpStore %b %c
OpSelectionMerge %m None
OpBranchConditional %y %t %m
%t = OpLabel
%not = OpLogicalNot %bool %c
OpStore %b %not
OpBranch %m
%m = OpLabel
%load = OpLoad %bool %b
OpSelectionMerge %mm None
OpBranchConditional %load %tt %mm
%tt = OpLabel
OpStore %out %i1
OpBranch %mm
%mm = OpLabel
OpReturn)",
     2},
    {"DeadMergeWithCodeInIt", R"(
OpSelectionMerge %m None
OpBranchConditional %y %t %f
%t = OpLabel
OpStore %out %i1
OpKill
%f = OpLabel
OpStore %out %i2
OpReturn
%m = OpLabel
OpStore %out %i3
OpSelectionMerge %mm None
OpBranchConditional %c %tt %mm
%tt = OpLabel
OpBranch %mm
%mm = OpLabel
OpReturn)",
     1},
    {"BothWaysLeadToOneBlock", R"(
OpSelectionMerge %m None
OpBranchConditional %y %t %t
%t = OpLabel
OpStore %out %i1
OpBranch %m
%m = OpLabel
OpReturn)"},
};

std::vector<Constant> Values(bool c, bool d, int n) {
  return {shaders::ById(0, ConstantType::kBool, c),
          shaders::ById(1, ConstantType::kBool, d), shaders::Int(2, n)};
}

class ShapeTest : public ::testing::TestWithParam<Shape> {};

TEST_P(ShapeTest, SpecialisedModuleDoesWhatTheFrozenOneDoes) {
  const std::vector<uint32_t> spirv = shaders::Assemble(
      fmt::format("{}{}\nOpFunctionEnd\n", kHead, GetParam().body));
  ASSERT_OK(shaders::ValidateModule(spirv));
  const auto module = Prepare(spirv);
  ASSERT_OK(module);
  for (int values = 0; values < 16; ++values) {
    const std::vector<Constant> constants =
        Values((values & 1) != 0, (values & 2) != 0, values / 4);
    SCOPED_TRACE(
        fmt::format("c {} d {} n {}", values & 1, values >> 1 & 1, values / 4));
    const auto frozen = shaders::FreezeConstants(spirv, constants);
    ASSERT_OK(frozen);
    const std::vector<uint32_t> made = Specialised(*module, constants);
    ASSERT_FALSE(made.empty());
    for (uint64_t x = 0; x < 5; ++x) {
      const Trace expected = Interpret(*frozen, std::vector{x});
      const Trace actual = Interpret(made, std::vector{x});
      EXPECT_EQ(actual.stores, expected.stores) << "x " << x;
      EXPECT_EQ(actual.end, expected.end) << "x " << x;
    }
    if (values == 7) {
      const Shape& shape = GetParam();
      if (shape.conditional >= 0) {
        EXPECT_EQ(CountOps(made, spv::Op::OpBranchConditional),
                  static_cast<size_t>(shape.conditional));
      }
      if (shape.labels >= 0) {
        EXPECT_EQ(CountOps(made, spv::Op::OpLabel),
                  static_cast<size_t>(shape.labels));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ShapeTest, ::testing::ValuesIn(kShapes),
                         [](const auto& shape) {
                           return std::string(shape.param.name);
                         });

}  // namespace
}  // namespace kiln::specialise
