// SPDX-License-Identifier: Apache-2.0
#include "daemon/live_programs.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/daemon/live_programs_fixture.h"

namespace kiln::daemon {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class LiveProgramsTest : public LiveProgramsFixture {
 protected:
  std::string FragmentOf(const ProgramState& state) {
    for (const SourceFile& file : state.program->program().files) {
      if (file.path.ends_with("small.frag")) {
        return file.text;
      }
    }
    ADD_FAILURE() << "no fragment shader";
    return "";
  }
};

TEST_F(LiveProgramsTest, GenerationGoesUpWithEverySnapshotAndOnlyThen) {
  const Digest id = Register(recipe_);
  ASSERT_OK_AND_ASSIGN(const ProgramState first, programs_->Current(id));
  EXPECT_OK(first.status);
  EXPECT_EQ(first.generation, 1u);
  EXPECT_EQ(programs_->Current(id)->generation, 1u);

  SaveFragment("edited");
  ASSERT_OK_AND_ASSIGN(const ProgramState second, programs_->Current(id));
  EXPECT_EQ(second.generation, 2u);
  EXPECT_NE(second.program->id(), first.program->id());
  EXPECT_THAT(FragmentOf(second), HasSubstr("// edited"));

  // Undone: the old snapshot, but later than the edit.
  source_.Save("small.frag", testing::kSmallFragment);
  ASSERT_OK_AND_ASSIGN(const ProgramState third, programs_->Current(id));
  EXPECT_EQ(third.generation, 3u);
  EXPECT_EQ(third.program->id(), first.program->id());

  // Saved again with the same text: nothing happened.
  source_.Save("small.frag", testing::kSmallFragment);
  EXPECT_EQ(programs_->Current(id)->generation, 3u);
}

TEST_F(LiveProgramsTest, SourceThatIsGoneIsAGenerationOfItsOwn) {
  const Digest id = Register(recipe_);
  ASSERT_OK_AND_ASSIGN(const ProgramState before, programs_->Current(id));
  source_.Remove("small.frag");
  ASSERT_OK_AND_ASSIGN(const ProgramState gone, programs_->Current(id));
  EXPECT_THAT(gone.status, StatusIs(absl::StatusCode::kNotFound, "small.frag"));
  EXPECT_EQ(gone.generation, 2u);
  source_.Save("small.frag", testing::kSmallFragment);
  ASSERT_OK_AND_ASSIGN(const ProgramState back, programs_->Current(id));
  EXPECT_OK(back.status);
  EXPECT_EQ(back.generation, 3u);
  EXPECT_EQ(back.program->id(), before.program->id());
}

TEST_F(LiveProgramsTest, LastSeenLooksAtNoFile) {
  const Digest id = Register(recipe_);
  EXPECT_FALSE(programs_->LastSeen(id).has_value());
  ASSERT_OK(programs_->Current(id));
  SaveFragment("edited");
  EXPECT_EQ(programs_->LastSeen(id)->generation, 1u);
  EXPECT_EQ(programs_->CurrentAll().states.at(id).generation, 2u);
  EXPECT_EQ(programs_->LastSeen(id)->generation, 2u);
}

TEST_F(LiveProgramsTest, SurfacesThatWereReadBeforeAnotherChangeAreNotSet) {
  recipe_.surface = {"surfaces.glsl", "surface", "inout vec4 c"};
  const Digest id = Register(recipe_);
  ASSERT_OK_AND_ASSIGN(const surface::SurfaceSet read, programs_->Surfaces(id));
  surface::SurfaceSet one = read;
  ASSERT_OK(one.Add("one", "void surface(inout vec4 c) { c.r = 1.0; }\n"));
  surface::SurfaceSet other = read;
  ASSERT_OK(other.Add("other", "void surface(inout vec4 c) { c.g = 1.0; }\n"));
  ASSERT_OK_AND_ASSIGN(const bool first,
                       programs_->SetSurfaces(id, read.Hash(), one));
  EXPECT_TRUE(first);
  ASSERT_OK_AND_ASSIGN(const bool second,
                       programs_->SetSurfaces(id, read.Hash(), other));
  EXPECT_FALSE(second);
  EXPECT_EQ(*programs_->Surfaces(id), one);
}

// A header that a surface includes was checked when the surface came in, and
// then only the surface's text was; what a save puts into it has the same
// rules.
TEST_F(LiveProgramsTest, SaveBringsNothingInThatNoSurfaceMayHave) {
  recipe_.surface = {"surfaces.glsl", "surface", "inout vec4 c"};
  source_.Save("small.frag", std::string(testing::kSmallFragment) +
                                 "#include \"surfaces.glsl\"\n");
  source_.Save("helper.glsl", "// nothing yet\nfloat one() { return 1.0; }\n");
  const Digest id = Register(recipe_);
  surface::SurfaceSet set;
  const Digest empty = set.Hash();
  ASSERT_OK(set.Add("rust",
                    "#include <helper.glsl>\n"
                    "void surface(inout vec4 c) { c.r = one(); }\n"));
  ASSERT_OK(programs_->SetSurfaces(id, empty, set));
  ASSERT_OK_AND_ASSIGN(const ProgramState before, programs_->Current(id));
  ASSERT_OK(before.status);
  for (const std::string bad :
       {"layout(binding = 9) uniform sampler2D t;",
        "#extension GL_EXT_ray_query : enable", "#pragma optimize(off)",
        "void main() {}", "buffer B { float b; };"}) {
    source_.Save("helper.glsl",
                 "// " + bad + "\n" + bad + "\nfloat one() { return 1.0; }\n");
    ASSERT_OK_AND_ASSIGN(const ProgramState now, programs_->Current(id));
    EXPECT_THAT(now.status, StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("project/helper.glsl:2: ")))
        << bad;
    source_.Save("helper.glsl",
                 "// nothing yet\nfloat one() { return 1.0; }\n");
    ASSERT_OK_AND_ASSIGN(const ProgramState mended, programs_->Current(id));
    ASSERT_OK(mended.status);
    EXPECT_EQ(mended.program->id(), before.program->id());
  }
}

// So has what the shader itself brings: its macros.
TEST_F(LiveProgramsTest, SaveGivesNoSurfaceAMacroItMayNotUse) {
  recipe_.surface = {"surfaces.glsl", "surface", "inout vec4 c"};
  const std::string text =
      std::string(testing::kSmallFragment) + "#include \"surfaces.glsl\"\n";
  source_.Save("small.frag", "#define TINT vec4(1.0)\n" + text);
  const Digest id = Register(recipe_);
  surface::SurfaceSet set;
  const Digest empty = set.Hash();
  ASSERT_OK(set.Add("rust", "void surface(inout vec4 c) { c = TINT; }\n"));
  ASSERT_OK(programs_->SetSurfaces(id, empty, set));
  ASSERT_OK_AND_ASSIGN(const ProgramState before, programs_->Current(id));
  ASSERT_OK(before.status);
  source_.Save(
      "small.frag",
      "#define TINT c; } layout(binding = 1) uniform U {vec4 u;\n" + text);
  ASSERT_OK_AND_ASSIGN(const ProgramState now, programs_->Current(id));
  EXPECT_THAT(now.status, StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("rust:1: 'TINT'")));
}

// Every look, from any thread, is at what was saved before it, and a later
// generation is never of an older text.
TEST_F(LiveProgramsTest, LooksOfManyThreadsAreNeverAtAnOlderSave) {
  const Digest id = Register(recipe_);
  constexpr int kSaves = 40;
  SaveFragment("save 0;");
  std::atomic<int> saved{0};
  std::atomic<bool> done{false};
  auto save_of = [&](const ProgramState& state) {
    const std::string text = FragmentOf(state);
    return std::stoi(text.substr(text.rfind("save ") + 5));
  };
  auto look = [&](bool all) {
    uint64_t generation = 0;
    int seen = 0;
    while (!done) {
      const int before = saved;
      ProgramState state;
      if (all) {
        const LivePrograms::Look found = programs_->CurrentAll();
        const auto at = found.states.find(id);
        if (at == found.states.end()) {
          continue;  // looked at during a save
        }
        state = at->second;
      } else {
        auto current = programs_->Current(id);
        if (!current.ok()) {
          EXPECT_THAT(current, StatusIs(absl::StatusCode::kUnavailable, ""));
          continue;
        }
        state = *current;
      }
      ASSERT_OK(state.status);
      ASSERT_GE(state.generation, generation);
      const int save = save_of(state);
      ASSERT_GE(save, before) << "stale";
      ASSERT_GE(save, seen) << "older than this thread's last look";
      ASSERT_TRUE(state.generation > generation || save == seen)
          << "another text under generation " << generation;
      generation = state.generation;
      seen = save;
    }
  };
  std::vector<std::thread> threads;
  for (const bool all : {false, true, false, true}) {
    threads.emplace_back(look, all);
  }
  for (int save = 1; save <= kSaves; ++save) {
    SaveFragment("save " + std::to_string(save) + ";");
    saved = save;
    std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(save_of(*programs_->Current(id)), kSaves);
}

}  // namespace
}  // namespace kiln::daemon
