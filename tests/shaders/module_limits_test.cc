// SPDX-License-Identifier: Apache-2.0

// KNOWN_FAULTS 15: values that make a driver divide by zero, abort or overrun
// its stack are refused before it sees them, by name, value and limit. Each
// refused value is one that would take for ever if anything ran as long as it
// is large.

#include "shaders/module_limits.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spirv-tools/libspirv.hpp>

#include "proto/program_file.h"
#include "shaders/freeze.h"
#include "tests/shaders/constant_programs.h"
#include "tests/support/status_matchers.h"

namespace kiln::shaders {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// About what a desktop device has.
constexpr ModuleLimits kDesktop = {.workgroup_size = {1024, 1024, 64},
                                   .workgroup_invocations = 1024,
                                   .shared_bytes = 32768,
                                   .private_bytes = 65536,
                                   .interface_components = 128,
                                   .descriptors = 1000};

absl::Status Check(const std::vector<uint32_t>& spirv,
                   const std::vector<Constant>& constants,
                   const ModuleLimits& limits = kDesktop) {
  return CheckModuleLimits(spirv, constants, limits);
}

template <typename Message>
auto Refused(Message message) {
  return StatusIs(absl::StatusCode::kInvalidArgument, message);
}

// Workgroup by id, and shared memory as large as it.
std::vector<uint32_t> WorkgroupModule() {
  return ComputeModule(
      "layout(local_size_x_id = 5) in;\nshared uint bins[gl_WorkGroupSize.x];",
      "bins[gl_LocalInvocationID.x] = gl_LocalInvocationID.x; barrier();\n"
      "result[gl_GlobalInvocationID.x] = float(bins[0]);");
}

std::vector<uint32_t> SharedModule(std::string_view type = "int") {
  return ComputeModule(
      fmt::format("layout(local_size_x = 64) in;\n"
                  "layout(constant_id = 0) const {} n = {}(16);\n"
                  "shared float big[n];",
                  type, type),
      "big[gl_LocalInvocationIndex] = 1.0; barrier(); result[0] = big[0];");
}

std::vector<uint32_t> PrivateModule() {
  return ComputeModule(
      "layout(local_size_x = 64) in;\nlayout(constant_id = 0) const int n = "
      "16;",
      "float p[n]; for (int i = 0; i < n; i++) p[i] = result[i];\n"
      "result[0] = p[int(result[1])];");
}

TEST(ModuleLimitsTest, WorkgroupOfZeroOrTooManyIsRefusedWithNameAndLimit) {
  const std::vector<uint32_t> spirv = WorkgroupModule();
  EXPECT_OK(Check(spirv, {Uint(5, 1)}));
  EXPECT_OK(Check(spirv, {Uint(5, 1024)}));
  EXPECT_THAT(Check(spirv, {Uint(5, 0)}),
              Refused(AllOf(HasSubstr("constant_id 5 = 0: the workgroup would "
                                      "be 0 x 1 x 1"),
                            HasSubstr("limit of 1024 in x"))));
  EXPECT_THAT(
      Check(spirv, {Uint(5, 1025)}),
      Refused("constant_id 5 = 1025: the workgroup would be 1025 x 1 x 1, over "
              "the limit of 1024 in x"));
  EXPECT_THAT(Check(spirv, {Uint(5, 100000)}), Refused("= 100000"));
  EXPECT_THAT(Check(spirv, {Uint(5, 0xffffffff)}), Refused("= 4294967295"));
}

TEST(ModuleLimitsTest, ConstantIsCalledAsTheRequestCallsIt) {
  EXPECT_THAT(
      Check(WorkgroupModule(), {ById(5, ConstantType::kUint32, 0, "GROUP")}),
      Refused("constant GROUP = 0: the workgroup"));
}

TEST(ModuleLimitsTest, EveryDimensionAndTheProductAreChecked) {
  const std::vector<uint32_t> spirv = ComputeModule(
      "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) "
      "in;",
      "result[0] = 1.0;");
  EXPECT_OK(Check(spirv, {Uint(0, 4), Uint(1, 4), Uint(2, 64)}));
  EXPECT_THAT(Check(spirv, {Uint(1, 1025)}),
              Refused(AllOf(HasSubstr("constant_id 1 = 1025"),
                            HasSubstr("limit of 1024 in y"),
                            Not(HasSubstr("constant_id 0")))));
  EXPECT_THAT(Check(spirv, {Uint(2, 65)}), Refused("limit of 64 in z"));
  EXPECT_THAT(Check(spirv, {Uint(0, 64), Uint(1, 32)}),
              Refused(AllOf(HasSubstr("constant_id 0 = 64, constant_id 1 = 32"),
                            HasSubstr("2048 invocations, over the limit of "
                                      "1024"))));
  // A product that is zero in 32 bits, and one that is in 64.
  ModuleLimits huge = ModuleLimits::OfNoDevice();
  huge.workgroup_invocations = 1024;
  EXPECT_THAT(Check(spirv, {Uint(0, 65536), Uint(1, 65536)}, huge),
              Refused("4294967296 invocations"));
  EXPECT_THAT(
      Check(spirv, {Uint(0, 1U << 31), Uint(1, 1U << 31), Uint(2, 4)}, huge),
      Refused("invocations, over the limit"));
}

TEST(ModuleLimitsTest, LiteralWorkgroupIsCheckedToo) {
  const std::vector<uint32_t> spirv = ComputeModule(
      "layout(local_size_x = 512, local_size_y = 2) in;", "result[0] = 1.0;");
  EXPECT_OK(Check(spirv, {}));
  EXPECT_THAT(Check(spirv, {}, ModuleLimits()),
              Refused(AllOf(HasSubstr("512 x 2 x 1, over the limit of 128"),
                            Not(HasSubstr("constant")))));
}

// A module in SPIR-V assembly: a workgroup of 1 x 1 x 1 and an empty main.
std::vector<uint32_t> AssembleCompute(std::string_view decorations,
                                      std::string_view declarations) {
  const std::string text = fmt::format(R"(OpCapability Shader
OpCapability Int64
OpCapability Int16
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
{}
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%one = OpConstant %uint 1
{}
%type = OpTypeFunction %void
%main = OpFunction %void None %type
%label = OpLabel
OpReturn
OpFunctionEnd
)",
                                       decorations, declarations);
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_3);
  std::vector<uint32_t> spirv;
  EXPECT_TRUE(tools.Assemble(text, &spirv)) << text;
  EXPECT_OK(ValidateModule(spirv));
  return spirv;
}

TEST(ModuleLimitsTest, WorkgroupSizeBuiltInCountsBeforeTheExecutionMode) {
  const std::vector<uint32_t> spirv = AssembleCompute(
      "OpDecorate %x SpecId 5\nOpDecorate %size BuiltIn WorkgroupSize",
      "%x = OpSpecConstant %uint 2\n%v3uint = OpTypeVector %uint 3\n"
      "%size = OpSpecConstantComposite %v3uint %x %one %one");
  EXPECT_OK(Check(spirv, {Uint(5, 512)}));
  EXPECT_THAT(Check(spirv, {Uint(5, 100000)}),
              Refused("constant_id 5 = 100000: the workgroup would be 100000 x "
                      "1 x 1"));
}

TEST(ModuleLimitsTest, SharedArrayOverTheLimitIsRefusedWithItsName) {
  const std::vector<uint32_t> spirv = SharedModule();
  EXPECT_OK(Check(spirv, {Int(0, 8192)}));
  EXPECT_THAT(Check(spirv, {Int(0, 8193)}),
              Refused("constant n = 8193: array `big` would have 8193 "
                      "elements, 32772 bytes of shared memory, over the limit "
                      "of 32768"));
  EXPECT_THAT(Check(spirv, {Int(0, 1 << 28)}), Refused("n = 268435456"));
  // 2^32 bytes: zero to a driver that counts in 32 bits.
  EXPECT_THAT(Check(spirv, {Int(0, 1 << 30)}), Refused("4294967296 bytes"));
}

TEST(ModuleLimitsTest, ArrayOfNoneOrFewerElementsIsRefused) {
  EXPECT_THAT(Check(SharedModule(), {Int(0, 0)}),
              Refused("constant n = 0: array `big` would have 0 elements, "
                      "under the limit of 1"));
  EXPECT_THAT(Check(SharedModule(), {Int(0, -1)}),
              Refused("constant n = -1: array `big` would have -1 elements"));
  EXPECT_THAT(Check(PrivateModule(), {Int(0, -2147483647)}),
              Refused("-2147483647 elements"));
}

TEST(ModuleLimitsTest, UnsignedLengthIsNotTakenForANegativeOne) {
  EXPECT_THAT(Check(SharedModule("uint"), {Uint(0, 0xffffffff)}),
              Refused("constant n = 4294967295: array `big` would have "
                      "4294967295 elements, 17179869180 bytes"));
}

// `big`, a shared array of floats whose length is a constant of that type.
std::vector<uint32_t> SharedOf(std::string_view type) {
  return AssembleCompute(
      "OpName %n \"n\"\nOpName %big \"big\"\n"
      "OpDecorate %n SpecId 0",
      fmt::format("%length = {}\n%n = OpSpecConstant %length 1\n"
                  "%array = OpTypeArray %float %n\n"
                  "%pointer = OpTypePointer Workgroup %array\n"
                  "%big = OpVariable %pointer Workgroup",
                  type));
}

TEST(ModuleLimitsTest, LengthOfAnyIntegerTypeIsRead) {
  const std::vector<uint32_t> int16 = SharedOf("OpTypeInt 16 1");
  EXPECT_OK(Check(int16, {ById(0, ConstantType::kInt16, 8000)}));
  EXPECT_THAT(Check(int16, {ById(0, ConstantType::kInt16, 0xffff)}),
              Refused("constant n = -1: array `big` would have -1 elements"));
  const std::vector<uint32_t> uint16 = SharedOf("OpTypeInt 16 0");
  EXPECT_THAT(Check(uint16, {ById(0, ConstantType::kUint16, 0xffff)}),
              Refused("65535 elements"));
  const std::vector<uint32_t> uint64 = SharedOf("OpTypeInt 64 0");
  EXPECT_OK(Check(uint64, {ById(0, ConstantType::kUint64, 8192)}));
  // Its low word is 1, and times 4 it wraps to 4 in 64 bits.
  EXPECT_THAT(
      Check(uint64, {ById(0, ConstantType::kUint64, (uint64_t{1} << 62) + 1)}),
      Refused("constant n = 4611686018427387905: array `big`"));
  const std::vector<uint32_t> int64 = SharedOf("OpTypeInt 64 1");
  EXPECT_THAT(Check(int64, {ById(0, ConstantType::kInt64, uint64_t{1} << 63)}),
              Refused("-9223372036854775808 elements"));
}

TEST(ModuleLimitsTest, LocalArrayOverTheCapIsRefused) {
  const std::vector<uint32_t> spirv = PrivateModule();
  EXPECT_OK(Check(spirv, {Int(0, 16000)}));
  EXPECT_THAT(
      Check(spirv, {Int(0, 16385)}),
      Refused("constant n = 16385: array `p` would have 16385 elements, "
              "65540 bytes of memory per invocation, over the limit of "
              "65536"));
  EXPECT_THAT(Check(spirv, {Int(0, 0x7fffffff)}), Refused("2147483647"));
  EXPECT_THAT(Check(spirv, {ById(0, ConstantType::kUint32, 0xffffffff)}),
              Refused("4294967295"));
}

TEST(ModuleLimitsTest, GlobalVariableOfAnInvocationCountsAsLocal) {
  const std::vector<uint32_t> spirv = ComputeModule(
      "layout(constant_id = 0) const int n = 16;\nfloat table[n];",
      "table[int(result[0])] = 1.0; result[1] = table[int(result[2])];");
  EXPECT_THAT(Check(spirv, {Int(0, 1 << 20)}),
              Refused("array `table` would have 1048576 elements, 4194304 "
                      "bytes of memory per invocation"));
}

TEST(ModuleLimitsTest, SmallArraysThatTogetherAreTooLargeAreRefused) {
  const std::vector<uint32_t> spirv = ComputeModule(
      "layout(constant_id = 0) const int n = 16;\n"
      "layout(constant_id = 1) const int m = 16;\n"
      "shared float a[n]; shared vec3 b[m];",
      "a[0] = 1.0; b[0] = vec3(2.0); barrier(); result[0] = a[1] + b[1].x;");
  // A vec3 takes 16 bytes in an array.
  EXPECT_OK(Check(spirv, {Int(0, 4096), Int(1, 1024)}));
  EXPECT_THAT(Check(spirv, {Int(0, 4096), Int(1, 1025)}),
              Refused(AllOf(HasSubstr("n = 4096"), HasSubstr("m = 1025"),
                            HasSubstr("32784 bytes of shared memory in 2 "
                                      "variables, over the limit of 32768"))));
}

TEST(ModuleLimitsTest, NestedArraysMultiplyWithoutWrapping) {
  const std::vector<uint32_t> spirv = ComputeModule(
      "layout(constant_id = 0) const int n = 2;\n"
      "shared vec4 grid[n][n][n];",
      "grid[0][0][0] = vec4(1.0); barrier(); result[0] = grid[1][1][1].x;");
  EXPECT_OK(Check(spirv, {Int(0, 12)}));
  EXPECT_THAT(Check(spirv, {Int(0, 13)}), Refused("35152 bytes"));
  EXPECT_THAT(Check(spirv, {Int(0, 1 << 20)}), Refused("over the limit"));
  // 2^(3 * 20 + 4) bytes: zero in 64 bits.
  EXPECT_THAT(Check(spirv, {Int(0, 1 << 20)}),
              Refused("18446744073709551615 bytes"));
}

TEST(ModuleLimitsTest, ArrayInsideAStructureIsNamedByItsPath) {
  const std::vector<uint32_t> spirv = ComputeModule(
      "layout(constant_id = 0) const int n = 4;\n"
      "struct Cell { uint count; float items[n]; };\nshared Cell cells[8];",
      "cells[0].items[0] = 1.0; barrier(); result[0] = cells[1].items[1];");
  EXPECT_OK(Check(spirv, {}));
  EXPECT_THAT(Check(spirv, {Int(0, 0)}),
              Refused("array `cells.items` would have 0 elements"));
  EXPECT_THAT(Check(spirv, {Int(0, 5000)}),
              Refused(AllOf(HasSubstr("constant n = 5000"),
                            HasSubstr("array `cells` would have 8 elements, "
                                      "160032 bytes"))));
}

TEST(ModuleLimitsTest, LengthThatIsComputedNamesWhatItIsComputedFrom) {
  const std::vector<uint32_t> spirv = ComputeModule(
      "layout(constant_id = 0) const int tile = 4;\n"
      "layout(constant_id = 1) const uint count = 4;\n"
      "layout(constant_id = 2) const bool wide = false;\n"
      "layout(constant_id = 3) const int other = 4;\n"
      "const int Total = (tile + 2) * int(count) * (wide ? 2 : 1);\n"
      "shared float a[Total]; shared float b[other];",
      "a[0] = 1.0; b[0] = 2.0; barrier(); result[0] = a[0] + b[1];");
  EXPECT_OK(Check(spirv, {Int(0, 1000)}));
  EXPECT_THAT(
      Check(spirv, {Int(0, 1000), Uint(1, 8), ById(2, ConstantType::kBool, 1)}),
      Refused(AllOf(HasSubstr("constant tile = 1000, constant count = 8, "
                              "constant wide = true: array `a` would have "
                              "16032 elements"),
                    Not(HasSubstr("other")))));
  EXPECT_THAT(Check(spirv, {Int(0, -2)}),
              Refused(AllOf(HasSubstr("tile = -2"), HasSubstr("0 elements"))));
}

TEST(ModuleLimitsTest, ArrayOfABufferIsHeldTo32Bits) {
  const std::vector<uint32_t> spirv = ComputeModule(
      "layout(constant_id = 0) const int n = 4;\n"
      "layout(std430, binding = 1) buffer Input { vec4 rows[n]; };",
      "result[0] = rows[int(result[1])].x;");
  EXPECT_OK(Check(spirv, {Int(0, 1 << 20)}));
  EXPECT_THAT(Check(spirv, {Int(0, 1 << 30)}),
              Refused(AllOf(HasSubstr("constant n = 1073741824"),
                            HasSubstr("17179869184 bytes"))));
}

TEST(ModuleLimitsTest, DescriptorArraysAndInterfacesHaveLimits) {
  const std::vector<uint32_t> textures = FragmentModule(
      "layout(constant_id = 0) const int n = 4;\n"
      "layout(binding = 0) uniform sampler2D maps[n];\n"
      "void main() { color = texture(maps[1], vec2(0.5)); }");
  EXPECT_OK(Check(textures, {Int(0, 1000)}));
  EXPECT_THAT(Check(textures, {Int(0, 1001)}),
              Refused("constant n = 1001: array `maps` would have 1001 "
                      "elements, 1001 descriptors, over the limit of 1000"));
  const std::vector<uint32_t> inputs = FragmentModule(
      "layout(constant_id = 0) const int n = 4;\n"
      "layout(location = 0) in vec3 rows[n];\n"
      "void main() { color = vec4(rows[1], 1.0); }");
  EXPECT_OK(Check(inputs, {Int(0, 42)}));
  EXPECT_THAT(Check(inputs, {Int(0, 43)}),
              Refused("constant n = 43: array `rows` would have 43 elements, "
                      "129 components, over the limit of 128"));
  EXPECT_THAT(FreezeConstants(inputs, std::vector<Constant>{Int(0, 1 << 30)}),
              Refused("components"));
}

TEST(ModuleLimitsTest, CountOfALoopIsNoSize) {
  const std::vector<uint32_t> spirv = ComputeModule(
      "layout(constant_id = 0) const int n = 16;",
      "float s = result[0]; for (int i = 0; i < n; i++) s += sin(s);\n"
      "result[0] = s;");
  EXPECT_OK(Check(spirv, {Int(0, 200000)}));
  EXPECT_OK(Check(spirv, {Int(0, -1)}));
}

TEST(ModuleLimitsTest, UnknownConstantIsRefused) {
  EXPECT_THAT(Check(SharedModule(), {Int(9, 1)}), Refused("constant_id 9"));
  EXPECT_THAT(CheckModuleLimits({}, std::vector<Constant>{}, kDesktop),
              Refused("no SPIR-V"));
}

TEST(ModuleLimitsTest, LimitsOfNoDeviceCatchWhatIsWrongOnAll) {
  const ModuleLimits none = ModuleLimits::OfNoDevice();
  EXPECT_OK(Check(SharedModule(), {Int(0, 1 << 29)}, none));
  EXPECT_THAT(Check(SharedModule(), {Int(0, 1 << 30)}, none),
              Refused("4294967296"));
  EXPECT_THAT(Check(WorkgroupModule(), {Uint(5, 0)}, none),
              Refused("0 x 1 x 1"));
}

TEST(ModuleLimitsTest, SceneFitsWhatEveryDeviceHas) {
  const auto scene =
      LoadProgramFile(KILN_SOURCE_DIR "/shaders/scene/scene.program.toml");
  ASSERT_OK(scene);
  for (const Stage stage : {Stage::kVertex, Stage::kFragment}) {
    EXPECT_OK(Check(ModuleOf(*scene, stage), {}, ModuleLimits()));
  }
}

}  // namespace
}  // namespace kiln::shaders
