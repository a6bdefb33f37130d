// SPDX-License-Identifier: Apache-2.0

// Whole programs with many values: the scene, the generated uber shader, the
// case files and random shaders.

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spirv-tools/optimizer.hpp>

#include "proto/program_file.h"
#include "shaders/freeze.h"
#include "tests/shaders/constant_programs.h"
#include "tests/shaders/specialise/expect_specialised.h"
#include "tests/shaders/specialise/interpreter.h"
#include "tests/shaders/specialise/random_glsl.h"
#include "tests/support/status_matchers.h"

namespace kiln::specialise {
namespace {

namespace fs = std::filesystem;

using shaders::ById;
using shaders::Int;
using shaders::Uint;
using ::testing::HasSubstr;
using ::testing::Not;

std::string FileText(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Empty where there is no such file.
std::vector<uint32_t> Uber(Stage stage) {
  const fs::path path =
      fs::path(KILN_SOURCE_DIR) / "../shared/bench" /
      (stage == Stage::kVertex ? "uber17.vert" : "uber17.frag");
  if (!fs::exists(path)) {
    return {};
  }
  Program program;
  program.name = "uber17";
  program.stages = {{stage, "main"}};
  program.files = {{"main", FileText(path)}};
  return shaders::ModuleOf(program, stage);
}

std::vector<uint32_t> Scene(Stage stage) {
  const auto scene =
      LoadProgramFile(KILN_SOURCE_DIR "/shaders/scene/scene.program.toml");
  EXPECT_OK(scene);
  return shaders::ModuleOf(*scene, stage);
}

TEST(VariantsTest, SceneIsValidForRandomKeysAndSmallerWithoutBlocks) {
  const auto fragment = Prepare(Scene(Stage::kFragment));
  ASSERT_OK(fragment);
  std::mt19937 random(17);  // NOLINT: the same keys in every run
  size_t whole = 0;
  size_t none = 0;
  for (int i = 0; i < 18; ++i) {
    const uint32_t features = i == 0   ? 0x1ffff
                              : i == 1 ? 0
                                       : random() % 0x20000;
    const std::vector<uint32_t> made = Specialised(
        *fragment, std::vector{Uint(0, i / 2 % 3), Uint(1, random() % 2),
                               Uint(2, features)});
    whole = i == 0 ? made.size() : whole;
    none = i == 1 ? made.size() : none;
  }
  EXPECT_LT(none * 3, whole);
  const auto vertex = Prepare(Scene(Stage::kVertex));
  ASSERT_OK(vertex);
  for (uint32_t kind = 0; kind < 3; ++kind) {
    Specialised(*vertex, std::vector{Uint(0, kind), Uint(1, kind % 2)});
  }
}

TEST(VariantsTest, UberShaderIsValidForRandomMasks) {
  const std::vector<uint32_t> spirv = Uber(Stage::kFragment);
  if (spirv.empty()) {
    GTEST_SKIP() << "../shared/bench is not there";
  }
  const auto module = Prepare(spirv);
  ASSERT_OK(module);
  std::mt19937 random(3);  // NOLINT: the same masks in every run
  for (int i = 0; i < 8; ++i) {
    const uint32_t mask = i == 0 ? 0xffffffff : random() & random();
    EXPECT_LT(Specialised(*module, std::vector{Uint(2, mask)}).size(),
              spirv.size());
  }
  Specialised(Uber(Stage::kVertex), {});
}

// Bits that no code tests do not make another module.
TEST(VariantsTest, MasksThatSelectTheSameCodeGiveTheSameModule) {
  const std::vector<uint32_t> spirv = Uber(Stage::kFragment);
  if (spirv.empty()) {
    GTEST_SKIP() << "../shared/bench is not there";
  }
  const auto module = Prepare(spirv);
  ASSERT_OK(module);
  std::map<std::vector<uint32_t>, uint32_t> modules;
  for (uint32_t mask = 0; mask < 64; ++mask) {
    // Bits 17 on select nothing.
    const uint32_t given = (mask & 7) | (mask >> 3) << 17;
    const auto made = Specialise(*module, std::vector{Uint(2, given)});
    ASSERT_OK(made);
    modules.try_emplace(*made, mask & 7);
    EXPECT_EQ(modules.at(*made), mask & 7);
  }
  EXPECT_EQ(modules.size(), 8u);
}

// The depth kind shades nothing, whatever blocks it has.
TEST(VariantsTest, BlocksOfAKindThatDoesNotReachThemDoNotCount) {
  const auto module = Prepare(Scene(Stage::kFragment));
  ASSERT_OK(module);
  std::vector<std::vector<uint32_t>> made;
  for (const uint32_t features : {0u, 1u << 10, 1u << 7 | 1u << 16}) {
    made.push_back(Specialised(
        *module, std::vector{Uint(0, 2), Uint(1, 0), Uint(2, features)}));
  }
  EXPECT_EQ(made[0], made[1]);
  EXPECT_EQ(made[0], made[2]);
}

// What SPIRV-Tools makes of a module: phis in place of variables, and no
// glslang's shapes. Empty where that is not valid.
std::vector<uint32_t> Optimised(const std::vector<uint32_t>& spirv) {
  spvtools::Optimizer optimizer(SPV_ENV_VULKAN_1_3);
  optimizer.RegisterPerformancePasses();
  std::vector<uint32_t> made;
  return optimizer.Run(spirv.data(), spirv.size(), &made) &&
                 shaders::ValidateModule(made).ok()
             ? made
             : std::vector<uint32_t>();
}

// Those that the module declares, with any values.
std::vector<Constant> RandomValues(const std::vector<uint32_t>& spirv,
                                   uint32_t bits) {
  std::vector<Constant> values = {ById(0, ConstantType::kBool, bits & 1),
                                  ById(1, ConstantType::kBool, bits >> 1 & 1),
                                  ById(2, ConstantType::kBool, bits >> 2 & 1),
                                  Int(3, static_cast<int32_t>(bits >> 3 & 3)),
                                  Uint(4, bits >> 5 & 7)};
  const std::set<uint32_t> ids = shaders::SpecializationIds(spirv);
  std::erase_if(values, [&](const Constant& constant) {
    return !ids.contains(constant.id);
  });
  return values;
}

void ExpectDoesWhatItsFrozenModuleDoes(const std::vector<uint32_t>& spirv,
                                       std::mt19937& random) {
  const auto module = Prepare(spirv);
  ASSERT_OK(module);
  for (int round = 0; round < 4; ++round) {
    const std::vector<Constant> constants = RandomValues(spirv, random());
    const auto frozen = shaders::FreezeConstants(spirv, constants,
                                                 shaders::Revalidation::kNever);
    ASSERT_OK(frozen);
    const std::vector<uint32_t> made = Specialised(*module, constants);
    ASSERT_FALSE(made.empty());
    for (uint64_t input = 0; input < 6; ++input) {
      const std::vector<uint64_t> inputs = {input, input * 3 % 4};
      const Trace expected = Interpret(*frozen, inputs);
      ASSERT_THAT(expected.end, Not(HasSubstr("unknown")));
      ASSERT_EQ(Interpret(made, inputs), expected) << "input " << input;
    }
  }
}

TEST(VariantsTest, RandomShadersDoWhatTheirFrozenModulesDo) {
  std::mt19937 random(5);  // NOLINT: the same values in every run
  for (uint32_t seed = 0; seed < 120; ++seed) {
    const std::string text = RandomGlsl(seed).Make();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    const std::vector<uint32_t> spirv =
        shaders::ModuleOf(shaders::FragmentProgram(text), Stage::kFragment);
    ExpectDoesWhatItsFrozenModuleDoes(spirv, random);
    const std::vector<uint32_t> optimised =
        seed % 3 == 0 ? Optimised(spirv) : std::vector<uint32_t>();
    if (!optimised.empty()) {
      SCOPED_TRACE("optimised");
      ExpectDoesWhatItsFrozenModuleDoes(optimised, random);
    }
    ASSERT_FALSE(HasFailure());
  }
}

// Everything among the case files that the front end takes, with its defaults.
TEST(VariantsTest, CaseFilesAreValid) {
  const fs::path cases = fs::path(KILN_SOURCE_DIR) / "../shared/cases";
  if (!fs::exists(cases)) {
    GTEST_SKIP() << "../shared/cases is not there";
  }
  size_t compiled = 0;
  for (const auto& entry : fs::recursive_directory_iterator(cases)) {
    const fs::path& path = entry.path();
    const bool fragment = path.extension() == ".frag";
    const std::string text = path.string();
    // These eat the front end's memory or time before anything is made.
    const bool heavy = text.find("/01-") != std::string::npos ||
                       text.find("/12-") != std::string::npos ||
                       text.find("/17-") != std::string::npos ||
                       text.find("/37-") != std::string::npos ||
                       text.find("/38-") != std::string::npos;
    if (heavy || !fs::is_regular_file(path) ||
        (!fragment && path.extension() != ".comp")) {
      continue;
    }
    Program program;
    program.name = "case";
    const Stage stage = fragment ? Stage::kFragment : Stage::kCompute;
    program.stages = {{stage, "main"}};
    program.files = {{"main", FileText(path)}};
    const shaders::StageResult made = shaders::CompileStage(program, stage);
    if (!made.ok()) {
      continue;
    }
    SCOPED_TRACE(text);
    const auto prepared = Prepare(made.spirv);
    if (!prepared.ok()) {
      continue;  // declares what no device holds
    }
    Specialised(*prepared, {});
    ++compiled;
  }
  EXPECT_GT(compiled, 8u);
}

TEST(VariantsTest, ErrorsAreThoseOfFreezing) {
  const std::vector<uint32_t> spirv = shaders::ComputeModule(
      "layout(local_size_x_id = 5) in;\n"
      "layout(constant_id = 0) const int n = 4;\n"
      "layout(constant_id = 1) const bool b = true;\n"
      "layout(std430, binding = 1) buffer Input { float row[n]; float tail; "
      "};\nshared float cell[n];",
      "cell[0] = 1.0; barrier(); result[0] = b ? row[0] + tail : cell[1];");
  const auto module = Prepare(spirv);
  ASSERT_OK(module);
  for (const std::vector<Constant>& constants :
       std::vector<std::vector<Constant>>{
           {Int(9, 1)},
           {Int(0, 1), Int(0, 2)},
           {Int(0, -1)},
           {Int(0, 5)},
           {Uint(5, 0)},
           {Int(1, 2)},
           {shaders::ByName("m", ConstantType::kInt32, 1)},
           {shaders::ByName("n", ConstantType::kFloat32, 1)}}) {
    const auto frozen = shaders::FreezeConstants(spirv, constants);
    const auto made = Specialise(*module, constants);
    ASSERT_FALSE(frozen.ok());
    EXPECT_EQ(made.status(), frozen.status());
  }
  EXPECT_OK(Specialise(*module, std::vector{Int(0, 3)},
                       shaders::Revalidation::kAlways));
  const auto scene = Prepare(Scene(Stage::kVertex));
  ASSERT_OK(scene);
  EXPECT_THAT(Specialise(*scene, std::vector{Uint(99, 1)}),
              kiln::testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                      "no specialization constant"));
}

TEST(VariantsTest, WordsThatAreNoModuleAreRefused) {
  EXPECT_THAT(Prepare({}), kiln::testing::StatusIs(
                               absl::StatusCode::kInvalidArgument, "SPIR-V"));
  std::vector<uint32_t> cut = Scene(Stage::kVertex);
  cut.pop_back();
  cut.back() = 9u << 16;
  EXPECT_THAT(Prepare(cut), kiln::testing::StatusIs(
                                absl::StatusCode::kInvalidArgument, "SPIR-V"));
}

// A thousand values each made of the one before, two hundred blocks inside each
// other: neither takes the stack.
TEST(VariantsTest, DeepModulesTakeNoStack) {
  std::string sum = "int r = 0;\n";
  for (int i = 0; i < 1000; ++i) {
    sum += "r += x;\n";
  }
  std::string nest;
  for (int i = 0; i < 200; ++i) {
    nest += i % 2 == 0 ? "if (A) {\n" : "if (x > 1) {\n";
  }
  nest += "r = 1;\n" + std::string(200, '}');
  const std::vector<uint32_t> spirv = shaders::FragmentModule(
      "layout(constant_id = 0) const bool A = true;\n"
      "layout(location = 0) flat in int x;\nvoid main() {\n" +
      sum + nest + "\ncolor = vec4(r);\n}");
  for (const uint64_t a : {0u, 1u}) {
    const std::vector<uint32_t> made =
        Specialised(spirv, std::vector{ById(0, ConstantType::kBool, a)});
    EXPECT_EQ(CountOps(made, spv::Op::OpBranchConditional), a == 0 ? 0u : 100u);
  }
}

}  // namespace
}  // namespace kiln::specialise
