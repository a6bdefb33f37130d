// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/source_hash.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program.h"

namespace kiln::sources {
namespace {

using ::testing::ElementsAre;

Program TwoStages() {
  Program program;
  program.name = "test";
  program.stages = {{Stage::kVertex, "a.vert"}, {Stage::kFragment, "a.frag"}};
  program.defines = {{"A", "1"}, {"B", "2"}};
  program.files = {{"a.frag", "#include \"both.glsl\"\n#include <f.glsl>\n"},
                   {"a.vert", "#include \"both.glsl\"\n"},
                   {"both.glsl", "// both\n"},
                   {"f.glsl", "#include \"gone.glsl\"\n"},
                   {"unused.glsl", ""}};
  return program;
}

Digest HashOf(const Program& program) {
  return SourceSetHash(program, program.stages[1]);
}

// Golden: a change of layout must raise kSourceHashVersion.
TEST(SourceHashTest, BytesOfBothHashesStay) {
  const Program program = TwoStages();
  EXPECT_EQ(NameHash("lit/a.frag", program.defines).Hex(),
            "292e7242a6cb1379dbfa18edf422dd3ee2744b73929226aa21bdcaca252039ef");
  EXPECT_EQ(HashOf(program).Hex(),
            "b2fd39728a4d89e1a682e5b988130b1cee44a1c5f5828347ff30638c395cc5ba");
}

TEST(SourceHashTest, NameHashIsOfPathAndDefinesInAnyOrder) {
  const std::vector<Define> defines = {{"A", "1"}, {"B", ""}};
  const std::vector<Define> turned = {{"B", ""}, {"A", "1"}};
  EXPECT_EQ(NameHash("a", defines), NameHash("a", turned));
  // KNOWN_FAULTS 31: "A=1;B=" and "A=;B=1" must differ.
  const std::vector<Define> other = {{"A", ""}, {"B", "1"}};
  const std::vector<Define> one = {{"A", "1"}};
  EXPECT_NE(NameHash("a", defines), NameHash("a", other));
  EXPECT_NE(NameHash("a", defines), NameHash("a", one));
  EXPECT_NE(NameHash("a", defines), NameHash("b", defines));
}

TEST(SourceHashTest, EverythingTheStageIsMadeOfCounts) {
  const std::vector<std::function<void(Program&)>> changes = {
      [](Program&) {},
      [](Program& p) { p.stages[1].stage = Stage::kCompute; },
      [](Program& p) { p.stages[1].language = Language::kHlsl; },
      [](Program& p) { p.stages[1].entry = "other"; },
      [](Program& p) { p.stages[1].path = "f.glsl"; },
      [](Program& p) { p.defines[0].value = "2"; },
      [](Program& p) { p.defines.pop_back(); },
      [](Program& p) { p.no_contraction = true; },
      [](Program& p) { p.files[0].text += "\n"; },
      [](Program& p) { p.files[2].text = "// other\n"; },
      [](Program& p) { p.files[3].text = "#include <gone.glsl>\n"; },
      [](Program& p) { p.files[3].path = "gone.glsl"; },
      [](Program& p) {
        p.files.insert(p.files.begin() + 4, {"gone.glsl", ""});
      },
  };
  std::set<Digest> hashes;
  for (const auto& change : changes) {
    Program program = TwoStages();
    change(program);
    hashes.insert(HashOf(program));
  }
  EXPECT_EQ(hashes.size(), changes.size());
}

TEST(SourceHashTest, WhatTheStageCannotReachDoesNotCount) {
  const Digest before = HashOf(TwoStages());
  Program program = TwoStages();
  program.name = "other";
  program.files[1].text += "// vertex only\n";
  program.files[4].text = "// unused\n";
  std::swap(program.defines[0], program.defines[1]);
  EXPECT_EQ(HashOf(program), before);
  program.files[2].text = "";
  EXPECT_NE(HashOf(program), before);
  EXPECT_NE(SourceSetHash(program, program.stages[0]), before);
}

TEST(SourceHashTest, DeclaredIncludesDecideWhatIsReached) {
  Program program = TwoStages();
  program.includes = {{"a.frag", "both.glsl", false, "unused.glsl", ""},
                      {"a.frag", "f.glsl", true, "", "is a directory"},
                      {"a.vert", "both.glsl", false, "both.glsl", ""}};
  const ReachedSources reached = ReachedBy(program, program.stages[1]);
  ASSERT_EQ(reached.files.size(), 2u);
  EXPECT_EQ(reached.files[1]->path, "unused.glsl");
  EXPECT_THAT(reached.includes,
              ElementsAre(program.includes[0], program.includes[1]));
  const Digest before = HashOf(program);
  program.includes[2].problem = "no edge of this stage";
  EXPECT_EQ(HashOf(program), before);
  program.includes[1].problem = "is a pipe";
  EXPECT_NE(HashOf(program), before);
}

TEST(SourceHashTest, SpirvReachesItselfOnly) {
  Program program = TwoStages();
  program.stages[1].language = Language::kSpirv;
  EXPECT_EQ(ReachedBy(program, program.stages[1]).files.size(), 1u);
}

TEST(SourceHashTest, CircleOfIncludesEnds) {
  Program program = TwoStages();
  program.files[3].text = "#include \"a.frag\"\n#include \"f.glsl\"\n";
  EXPECT_EQ(ReachedBy(program, program.stages[1]).files.size(), 3u);
}

}  // namespace
}  // namespace kiln::sources
