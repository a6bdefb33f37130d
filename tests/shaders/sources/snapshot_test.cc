// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/snapshot.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shaders/compiler.h"
#include "shaders/sources/source_hash.h"
#include "tests/shaders/sources/source_tree.h"
#include "tests/support/small_program.h"

namespace kiln::sources {
namespace {

using ::kiln::testing::kInvalid;
using ::kiln::testing::StatusIs;
using ::testing::HasSubstr;

Program Recipe() {
  Program recipe = testing::SmallProgram();
  recipe.rooted = true;
  recipe.files.clear();
  recipe.stages = {{Stage::kVertex, "lit/a.vert"},
                   {Stage::kFragment, "/project/lit/a.frag"}};
  recipe.derivation = "lit/derive.comp";
  return recipe;
}

void WriteSources(SourceTree& tree) {
  tree.Write("engine/lit/a.vert",
             "#version 450\n#include \"shared.glsl\"\n"
             "void main() { gl_Position = vec4(one()); }\n");
  tree.Write("project/lit/a.frag",
             "#version 450\n#include <lit/shared.glsl>\n"
             "#ifdef DEBUG\n#include \"gone.glsl\"\n#endif\n"
             "layout(location = 0) out vec4 c;\n"
             "void main() { c = vec4(one()); }\n");
  tree.Write("engine/lit/shared.glsl", "float one() { return 1.0; }\n");
  tree.Write("engine/lit/unrelated.glsl", "nonsense\n");
}

absl::StatusOr<Program> Snapshot(SourceTree& tree, const Program& recipe) {
  KILN_ASSIGN_OR_RETURN(
      const SourceSet set,
      ResolveSources(tree.roots, tree.cache, EntriesOf(recipe)));
  return MakeSnapshot(recipe, set);
}

TEST(SnapshotTest, IsAWholeProgramOfTheFilesItsStagesReach) {
  SourceTree tree;
  WriteSources(tree);
  ASSERT_OK(Recipe().Validate());
  ASSERT_OK_AND_ASSIGN(const Program program, Snapshot(tree, Recipe()));
  EXPECT_FALSE(program.rooted);
  EXPECT_EQ(program.derivation, "");
  EXPECT_EQ(program.stages[0].path, "engine/lit/a.vert");
  EXPECT_EQ(program.stages[1].path, "project/lit/a.frag");
  EXPECT_EQ(program.files.size(), 3u);
  EXPECT_EQ(program.FindFile("engine/lit/unrelated.glsl"), nullptr);
  EXPECT_EQ(program.includes.size(), 3u);
  ASSERT_OK_AND_ASSIGN(const Program again,
                       DecodeProgram(EncodeProgram(program)));
  EXPECT_EQ(again.includes, program.includes);
}

TEST(SnapshotTest, CompilesAsTheRootsSayAndSaysWhyAnIncludeDoesNot) {
  SourceTree tree;
  WriteSources(tree);
  Program recipe = Recipe();
  ASSERT_OK_AND_ASSIGN(const Program program, Snapshot(tree, recipe));
  for (const Stage stage : {Stage::kVertex, Stage::kFragment}) {
    const shaders::StageResult result = shaders::CompileStage(program, stage);
    EXPECT_TRUE(result.ok()) << result.diagnostics;
  }
  recipe.defines = {{"DEBUG", "1"}};
  ASSERT_OK_AND_ASSIGN(const Program debug, Snapshot(tree, recipe));
  EXPECT_THAT(shaders::CompileStage(debug, Stage::kFragment).diagnostics,
              HasSubstr("project/lit/a.frag:4: error: '#include' : "
                        "'gone.glsl' included from 'project/lit/a.frag': no "
                        "such file beside it or in a search root"));
}

TEST(SnapshotTest, EqualSourcesGiveAnEqualProgramWhateverElseIsThere) {
  SourceTree tree;
  WriteSources(tree);
  ASSERT_OK_AND_ASSIGN(const Program before, Snapshot(tree, Recipe()));
  tree.Write("plugin/lit/shared.glsl", "// shadowed\n");
  tree.Write("plugin/other.glsl", "");
  ASSERT_OK(tree.roots.Add("more", (tree.folder / "more").string()));
  ASSERT_OK_AND_ASSIGN(const Program after, Snapshot(tree, Recipe()));
  EXPECT_EQ(EncodeProgram(before), EncodeProgram(after));
  tree.Write("engine/lit/shared.glsl", "float one() { return 2.0; }\n");
  ASSERT_OK_AND_ASSIGN(const Program edited, Snapshot(tree, Recipe()));
  EXPECT_NE(EncodeProgram(before), EncodeProgram(edited));
}

TEST(SnapshotTest, ProgramThatIsNoRecipeAndASetOfAnotherAreRefused) {
  SourceTree tree;
  WriteSources(tree);
  ASSERT_OK_AND_ASSIGN(const SourceSet set, tree.Resolve("lit/a.vert"));
  EXPECT_THAT(MakeSnapshot(testing::SmallProgram(), set),
              StatusIs(kInvalid, "no recipe"));
  EXPECT_THAT(MakeSnapshot(Recipe(), set),
              StatusIs(kInvalid, "has no '/project/lit/a.frag'"));
}

TEST(SnapshotTest, FilesOfASetThatNoStageReachesAreLeftOut) {
  SourceTree tree;
  WriteSources(tree);
  Program recipe = Recipe();
  std::vector<SourceEntry> entries = EntriesOf(recipe);
  entries.push_back({"lit/unrelated.glsl"});
  ASSERT_OK_AND_ASSIGN(const SourceSet set,
                       ResolveSources(tree.roots, tree.cache, entries));
  EXPECT_EQ(set.files.size(), 4u);
  ASSERT_OK_AND_ASSIGN(const Program program, MakeSnapshot(recipe, set));
  ASSERT_OK_AND_ASSIGN(const Program plain, Snapshot(tree, recipe));
  EXPECT_EQ(EncodeProgram(program), EncodeProgram(plain));
}

}  // namespace
}  // namespace kiln::sources
