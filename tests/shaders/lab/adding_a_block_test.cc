// SPDX-License-Identifier: Apache-2.0

// shaders/scene/ADDING_A_BLOCK.md is true: its edits, made on a scratch copy of
// the folder in its order, add a block that compiles, agrees with the schema,
// breaks no rule, is derived, is seen, and never changes a picture.

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program_file.h"
#include "shaders/compiler.h"
#include "shaders/lab/prove.h"
#include "shaders/lint.h"
#include "shaders/schema_check.h"
#include "tests/shaders/lab/lab_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::lab {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string ReadFile(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteFile(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

// One fenced piece of the page: `file`, how it is put in (after, before,
// replace, new), the place, and the text.
struct Edit {
  std::string step;  // "1. Its bit: `features.glsl`"
  std::string file;
  std::string how;
  std::string where;
  std::string text;
};

std::vector<Edit> ReadEdits(const std::string& page) {
  static const std::regex kFence(
      R"re(^```\w+ file="([^"]+)" (new|(after|before|replace)="(.*)")$)re");
  std::vector<Edit> edits;
  std::istringstream lines(page);
  std::string step;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.starts_with("## ")) {
      step = line.substr(3);
    } else if (std::regex_match(line, match, kFence)) {
      Edit& edit = edits.emplace_back();
      edit = {step, match[1], match[3].matched ? match[3] : match[2], match[4],
              ""};
      while (std::getline(lines, line) && line != "```") {
        edit.text += line + "\n";
      }
    }
  }
  return edits;
}

class AddingABlockTest : public LabTest {
 protected:
  AddingABlockTest() {
    fs::create_directories(scratch_ / "shaders");
    fs::copy(fs::path(KILN_SOURCE_DIR) / "shaders" / "scene", scene_,
             fs::copy_options::recursive);
    edits_ = ReadEdits(ReadFile(scene_ / "ADDING_A_BLOCK.md"));
  }

  // Makes one edit; its place must be there exactly once.
  void Make(const Edit& edit) {
    SCOPED_TRACE(edit.step + ": " + edit.file + " " + edit.where);
    const fs::path file = scene_ / edit.file;
    ASSERT_EQ(fs::exists(file), edit.how != "new");
    std::string text = edit.how == "new" ? "" : ReadFile(file);
    const size_t at = text.find(edit.where);
    ASSERT_NE(at, text.npos);
    if (edit.how == "replace") {
      ASSERT_EQ(text.find(edit.where, at + 1), text.npos);
      // A replacement is a piece of a line, without its end.
      text.replace(at, edit.where.size(),
                   edit.text.substr(0, edit.text.size() - 1));
    } else if (edit.how == "new") {
      text = edit.text;
    } else {
      const size_t line = text.rfind('\n', at) + 1;
      const size_t next = text.find('\n', at) + 1;
      text.insert(edit.how == "after" ? next : line, edit.text);
    }
    WriteFile(file, text);
  }

  void MakeAll() {
    for (const Edit& edit : edits_) {
      Make(edit);
    }
  }

  absl::StatusOr<Program> Load() {
    return LoadProgramFile(scene_ / "scene.program.toml");
  }

  // What shader and schema disagree about; a stage that does not compile is
  // one line, too.
  std::vector<std::string> Disagreements() {
    const auto program = Load();
    if (!program.ok()) {
      return {std::string(program.status().message())};
    }
    std::vector<shaders::StageResult> results;
    for (const StageSource& source : program->stages) {
      results.push_back(shaders::CompileStage(*program, source.stage));
      if (!results.back().ok()) {
        return {results.back().diagnostics};
      }
    }
    std::vector<shaders::StageModule> modules;
    for (size_t i = 0; i < results.size(); ++i) {
      modules.push_back({program->stages[i].stage, results[i].spirv});
    }
    return shaders::CompareSchema(*program, modules);
  }

  // Whether scene_features.cc builds beside the scratch copy's gates.glsl.
  bool DerivationBuilds() {
    const std::string command =
        "c++ -std=c++20 -fsyntax-only -I'" + scratch_.string() + "' '" +
        (scene_ / "scene_features.cc").string() + "' 2>/dev/null";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  const testing::TempDir folder_;
  const fs::path scratch_ = folder_.path();
  const fs::path scene_ = scratch_ / "shaders" / "scene";
  std::vector<Edit> edits_;
};

TEST_F(AddingABlockTest, UntilTheLastStepSomethingSaysWhatIsMissing) {
  EXPECT_THAT(Disagreements(), IsEmpty());
  EXPECT_TRUE(DerivationBuilds());
  ASSERT_THAT(edits_, SizeIs(::testing::Gt(8u)));
  std::string step = edits_.front().step;
  for (const Edit& edit : edits_) {
    if (edit.step != step) {
      EXPECT_TRUE(!Disagreements().empty() || !DerivationBuilds())
          << "nobody would notice that a step is missing after " << step;
      step = edit.step;
    }
    Make(edit);
  }
  EXPECT_THAT(Disagreements(), IsEmpty());
  EXPECT_TRUE(DerivationBuilds());
}

TEST_F(AddingABlockTest, TheNewBlockKeepsTheRulesAndNeverChangesAPicture) {
  MakeAll();
  ASSERT_OK_AND_ASSIGN(const Program program, Load());
  ASSERT_NE(program.FindFeature("Rim"), nullptr);
  ASSERT_OK_AND_ASSIGN(const auto findings, shaders::LintProgram(program));
  EXPECT_THAT(findings, IsEmpty());

  ProveOptions options;
  options.cases = 8;
  options.width = 64;
  options.height = 48;
  options.kinds = {"opaque"};
  options.one_draw = true;
  options.output = folder_ / "out";
  ASSERT_OK_AND_ASSIGN(const ProveReport report,
                       Prove(*device_, program, options));
  EXPECT_THAT(report.differences, IsEmpty());
  const auto rim =
      std::ranges::find(report.bits, std::string("Rim"), &BitReport::name);
  ASSERT_NE(rim, report.bits.end());
  EXPECT_GT(rim->cleared, 0u);
  EXPECT_GT(rim->set, 0u);
}

// The block without its gate is what the proof is for; also, that it shows.
TEST_F(AddingABlockTest, BlockThatForgetsItsGateIsCaught) {
  MakeAll();
  std::string text = ReadFile(scene_ / "blocks" / "rim.glsl");
  const std::string gate = " && GateRim(MaterialLayers())";
  ASSERT_NE(text.find(gate), text.npos);
  text.erase(text.find(gate), gate.size());
  WriteFile(scene_ / "blocks" / "rim.glsl", text);
  ASSERT_OK_AND_ASSIGN(const Program program, Load());
  ProveOptions options;
  options.cases = 24;
  options.width = 64;
  options.height = 48;
  options.kinds = {"opaque"};
  options.output = folder_ / "out";
  options.differences_written = 1;
  options.on_case = [](const CaseProgress& progress) { return progress.same; };
  ASSERT_OK_AND_ASSIGN(const ProveReport report,
                       Prove(*device_, program, options));
  ASSERT_THAT(report.differences, Not(IsEmpty()));
  EXPECT_THAT(report.differences[0].blamed, ::testing::Contains("Rim"));
}

}  // namespace
}  // namespace kiln::lab
