// SPDX-License-Identifier: Apache-2.0

// SPIR-V as a program's own stage: what is taken as it is, and every way in
// which one can be damaged, too new or not the stage's.

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/limits.h"
#include "proto/spirv_view.h"
#include "proto/text.h"
#include "tests/shaders/assembly.h"
#include "tests/shaders/constant_programs.h"

namespace kiln::shaders {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<uint32_t> Small() {
  return FragmentModule("void main() { color = vec4(1); }");
}

std::vector<uint32_t> Swapped(std::vector<uint32_t> words) {
  for (uint32_t& word : words) {
    word = __builtin_bswap32(word);
  }
  return words;
}

TEST(SpirvFrontEndTest, ValidModuleIsTakenWordForWord) {
  const std::vector<uint32_t> words = Small();
  const StageResult result = CompileSpirv(BytesOf(words));
  EXPECT_EQ(result.spirv, words);
  EXPECT_EQ(result.diagnostics, "");
}

TEST(SpirvFrontEndTest, ModuleOfTheOtherByteOrderBecomesTheSameModule) {
  const std::vector<uint32_t> words = Small();
  EXPECT_EQ(CompileSpirv(BytesOf(Swapped(words))).spirv, words);
}

TEST(SpirvFrontEndTest, ContractionIsForbiddenInSpirvToo) {
  Program program = SpirvProgram(BytesOf(FragmentModule(
      "void main() { color = gl_FragCoord * 2.0 + gl_FragCoord; }")));
  const size_t plain = CompileStage(program, Stage::kFragment).spirv.size();
  program.no_contraction = true;
  EXPECT_GT(CompileStage(program, Stage::kFragment).spirv.size(), plain);
}

// Nothing shorter than the whole is ever taken.
TEST(SpirvFrontEndTest, ModuleTruncatedAtAnyByteIsRefusedWithAMessage) {
  for (const bool swap : {false, true}) {
    const std::vector<uint32_t> words = Small();
    const std::string whole = BytesOf(swap ? Swapped(words) : words);
    ASSERT_TRUE(CompileSpirv(whole).ok());
    for (size_t size = 0; size < whole.size(); ++size) {
      const StageResult result = CompileSpirv(whole.substr(0, size));
      ASSERT_FALSE(result.ok()) << size << " of " << whole.size();
      ASSERT_THAT(result.diagnostics, StartsWith("shader.spv: error: "))
          << size;
    }
  }
}

// Each word in turn replaced by others that mean something elsewhere.
TEST(SpirvFrontEndTest, ModuleWithAnyWordReplacedIsTakenWholeOrRefused) {
  const std::vector<uint32_t> words = Small();
  for (size_t i = 0; i < words.size(); ++i) {
    for (const uint32_t word :
         {0u, 1u, 0xFFFFFFFFu, 0x00010000u, words[i] ^ 1, words[i] + 0x10000}) {
      std::vector<uint32_t> damaged = words;
      damaged[i] = word;
      const StageResult result = CompileSpirv(BytesOf(damaged));
      ASSERT_TRUE(result.ok() ? result.spirv == damaged
                              : !result.diagnostics.empty())
          << "word " << i << " as " << word;
      ASSERT_TRUE(IsValidUtf8(result.diagnostics));
    }
  }
}

TEST(SpirvFrontEndTest, TruncationSaysWhere) {
  const std::string whole = BytesOf(Small());
  EXPECT_THAT(CompileSpirv("").diagnostics, HasSubstr("is empty"));
  EXPECT_THAT(CompileSpirv(whole.substr(0, 12)).diagnostics,
              HasSubstr("cut off in its header, after 12 bytes"));
  EXPECT_THAT(CompileSpirv(whole.substr(0, whole.size() - 1)).diagnostics,
              HasSubstr("no whole number of words"));
  EXPECT_THAT(CompileSpirv(whole.substr(0, 24)).diagnostics,
              HasSubstr("cut off in the instruction at byte 20"));
}

TEST(SpirvFrontEndTest, TextInsteadOfAModuleIsRefusedAsNoSpirv) {
  EXPECT_THAT(CompileSpirv("#version 450\nvoid main() {}\n").diagnostics,
              HasSubstr("not SPIR-V"));
}

TEST(SpirvFrontEndTest, NewerVersionIsRefusedWithBothVersions) {
  std::vector<uint32_t> words = Small();
  for (const auto& [version, text] :
       {std::pair{0x00010700u, "SPIR-V 1.7, this build reads up to 1.6"},
        std::pair{0x00020000u, "SPIR-V 2.0, this build reads up to 1.6"},
        std::pair{0x00000100u, "no version"},
        std::pair{0x01010600u, "no version"},
        std::pair{0x00010601u, "no version"}}) {
    words[1] = version;
    EXPECT_THAT(CompileSpirv(BytesOf(words)).diagnostics, HasSubstr(text));
  }
  words[1] = 0x00010600u;
  EXPECT_TRUE(CompileSpirv(BytesOf(words)).ok());
}

TEST(SpirvFrontEndTest, ModuleOverTheLimitIsRefusedBeforeItIsRead) {
  std::vector<uint32_t> words = Small();
  words.resize(limits::kModuleBytes / sizeof(uint32_t) + 1, 0x00010000);
  EXPECT_THAT(CompileSpirv(BytesOf(words)).diagnostics,
              AllOf(HasSubstr("over the limit of 16777216"),
                    StartsWith("shader.spv: error: ")));
}

TEST(SpirvFrontEndTest, InvalidModuleIsRefusedInTheValidatorsWords) {
  std::vector<uint32_t> words = Small();
  words[3] = 3;  // the id bound
  EXPECT_THAT(CompileSpirv(BytesOf(words)).diagnostics,
              HasSubstr("invalid SPIR-V: "));
}

TEST(SpirvFrontEndTest, NamedOneOfSeveralEntryPointsIsTaken) {
  const std::string many = BytesOf(Assemble(kManyEntries));
  for (const auto& [stage, entry] :
       {std::pair{Stage::kFragment, "red"}, std::pair{Stage::kFragment, "sum"},
        std::pair{Stage::kVertex, "red"}, std::pair{Stage::kCompute, "work"}}) {
    const StageResult result = CompileSpirv(many, stage, entry);
    EXPECT_TRUE(result.ok()) << result.diagnostics;
    EXPECT_EQ(BytesOf(result.spirv), many);
  }
}

TEST(SpirvFrontEndTest, MissingEntryPointIsRefusedWithThoseThatThereAre) {
  const std::string many = BytesOf(Assemble(kManyEntries));
  EXPECT_THAT(
      CompileSpirv(many, Stage::kFragment, "main").diagnostics,
      HasSubstr("entry point missing: there is no 'main' for the fragment "
                "stage; the module has 'red' (fragment), 'sum' (fragment), "
                "'red' (vertex), 'work' (compute)"));
}

TEST(SpirvFrontEndTest, EntryPointOfAnotherStageIsRefusedWithItsStage) {
  const std::string many = BytesOf(Assemble(kManyEntries));
  EXPECT_THAT(CompileSpirv(many, Stage::kFragment, "work").diagnostics,
              HasSubstr("stage mismatch: entry point 'work' is a compute one"));
  EXPECT_THAT(CompileSpirv(BytesOf(Small()), Stage::kVertex).diagnostics,
              HasSubstr("stage mismatch: entry point 'main' is a fragment one, "
                        "and the program uses it as its vertex stage"));
}

TEST(SpirvFrontEndTest, TwoEntryPointsOfOneNameAndStageAreRefused) {
  std::string text(kManyEntries);
  const size_t at = text.find("\"sum\"");
  text.replace(at, 5, "\"red\"");
  const StageResult result =
      CompileSpirv(BytesOf(Assemble(text)), Stage::kFragment, "red");
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.diagnostics, HasSubstr("share the same name"));
}

TEST(SpirvFrontEndTest, EntryPointWhoseNameIsNoUtf8IsShownAsUtf8) {
  std::vector<uint32_t> words = Small();
  ForEachInstruction(words, [&](const Instruction& instruction) {
    if (instruction.opcode == 15) {
      words[static_cast<size_t>(&instruction.words[3] - words.data())] =
          0x00FFFEFD;
    }
  });
  const StageResult result = CompileSpirv(BytesOf(words));
  EXPECT_FALSE(result.ok());
  EXPECT_TRUE(IsValidUtf8(result.diagnostics));
}

// Two constants of one id, of which one is changed.
std::vector<uint32_t> Repeated(std::string_view a, std::string_view b) {
  std::vector<uint32_t> spirv =
      FragmentModule(fmt::format("layout(constant_id = 3) const {};\n"
                                 "layout(constant_id = 4) const {};\n"
                                 "void main() {{ color = vec4(a + b); }}",
                                 a, b));
  ReplaceSpecId(spirv, 4, 3);
  return spirv;
}

TEST(SpirvFrontEndTest, ConstantIdWithTwoTypesIsRefusedWithBoth) {
  EXPECT_THAT(
      CompileSpirv(BytesOf(Repeated("int a = 1", "float b = 1.0"))).diagnostics,
      HasSubstr("constant_id 3 has two types: int `a` and float `b`"));
}

TEST(SpirvFrontEndTest, ConstantIdWithTwoDefaultsIsRefusedWithBoth) {
  EXPECT_THAT(
      CompileSpirv(BytesOf(Repeated("int a = 1", "int b = -2"))).diagnostics,
      HasSubstr("constant_id 3 has two defaults: 1 `a` and -2 `b`"));
}

TEST(SpirvFrontEndTest, ConstantIdWithTwoNamesIsRefusedWithBoth) {
  EXPECT_THAT(
      CompileSpirv(BytesOf(Repeated("int a = 1", "int b = 1"))).diagnostics,
      HasSubstr("constant_id 3 has two names: `a` and `b`"));
}

TEST(SpirvFrontEndTest, UnusedConstantIdIsTaken) {
  const StageResult result = CompileSpirv(
      BytesOf(FragmentModule("layout(constant_id = 9) const int unused = 1;\n"
                             "void main() { color = vec4(1); }")));
  EXPECT_TRUE(result.ok()) << result.diagnostics;
}

}  // namespace
}  // namespace kiln::shaders
