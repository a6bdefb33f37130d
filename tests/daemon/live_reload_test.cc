// SPDX-License-Identifier: Apache-2.0

// What clients see of a save: every one that uses a shader gets the next
// version of it, nobody else gets anything, and what does not compile replaces
// nothing.

#include <set>

#include "proto/variant_key.h"
#include "tests/daemon/live_fixture.h"

namespace kiln::daemon {
namespace {

using testing::Eventually;
using ::testing::HasSubstr;
using testing::MakeRequest;
using testing::StreamClient;

class LiveReloadTest : public LiveFixture {
 protected:
  void SetUp() override {
    LiveFixture::SetUp();
    program_ = Register(Recipe());
  }

  void Attach(StreamClient& client) {
    ASSERT_OK(client.Attach(kLiveTarget));
    ASSERT_TRUE(client.Ask({MakeRequest(program_, "opaque", 1)}));
  }

  Digest program_;
};

TEST_F(LiveReloadTest, SaveGivesEveryClientTheNextVersionOnce) {
  StreamClient game(daemon_.socket());
  StreamClient editor(daemon_.socket());
  Attach(game);
  Attach(editor);
  const v1::Completion first = Next(game);
  ASSERT_EQ(first.state(), v1::STATE_READY) << first.ShortDebugString();
  EXPECT_EQ(first.generation(), 1u);
  EXPECT_NE(first.variant().program_id(), program_.raw());
  EXPECT_EQ(Next(editor).variant().key_id(), first.variant().key_id());

  root_.Save("shade.glsl", ShadeGlsl("0.25"));
  const v1::Completion next = Next(game);
  EXPECT_EQ(next.state(), v1::STATE_READY) << next.ShortDebugString();
  EXPECT_EQ(next.request_id(), first.request_id());
  EXPECT_EQ(next.generation(), 2u);
  EXPECT_NE(next.variant().key_id(), first.variant().key_id());
  EXPECT_EQ(Next(editor).variant().key_id(), next.variant().key_id());
  EXPECT_EQ(Count("compiles_started"), 2u);
  EXPECT_EQ(Count("reloads"), 1u);  // a write, a rename: one change
}

TEST_F(LiveReloadTest, BrokenSaveIsToldToAllAndUndoneWithoutACompile) {
  StreamClient game(daemon_.socket());
  StreamClient editor(daemon_.socket());
  Attach(game);
  Attach(editor);
  const v1::Completion first = Next(game);
  ASSERT_EQ(first.state(), v1::STATE_READY) << first.ShortDebugString();
  ASSERT_EQ(Next(editor).state(), v1::STATE_READY);

  root_.Save("shade.glsl", "\n" + ShadeGlsl("nonsense"));
  for (StreamClient* client : {&game, &editor}) {
    const v1::Completion broken = Next(*client);
    EXPECT_EQ(broken.state(), v1::STATE_FAILED);
    EXPECT_EQ(broken.generation(), 2u);
    EXPECT_THAT(TextOf(broken), HasSubstr("project/shade.glsl:2:"));
    EXPECT_THAT(TextOf(broken), HasSubstr("nonsense"));
  }
  root_.Save("shade.glsl", ShadeGlsl("0.5"));
  for (StreamClient* client : {&game, &editor}) {
    const v1::Completion fixed = Next(*client);
    EXPECT_EQ(fixed.state(), v1::STATE_READY) << fixed.ShortDebugString();
    EXPECT_EQ(fixed.origin(), v1::ORIGIN_STORE);
    EXPECT_EQ(fixed.variant().key_id(), first.variant().key_id());
  }
  EXPECT_EQ(Count("compiles_finished"), 1u);
}

TEST_F(LiveReloadTest, WhatNobodyIncludesChangesNothing) {
  StreamClient client(daemon_.socket());
  Attach(client);
  ASSERT_EQ(Next(client).state(), v1::STATE_READY);
  root_.Save("other.glsl", "// not ours\n");
  root_.Save("shade.glsl", ShadeGlsl("0.5"));  // touched, and the same
  ASSERT_TRUE(Eventually([&] { return Count("source_changes") > 0; }));
  // The next answer is that to a request made after both.
  root_.Save("shade.glsl", ShadeGlsl("0.125"));
  EXPECT_EQ(Next(client).generation(), 2u);
  EXPECT_EQ(Count("reloads"), 1u);
}

TEST_F(LiveReloadTest, RequestAfterASaveIsNeverAnsweredWithWhatWasBefore) {
  std::set<std::string> keys;
  for (int i = 0; i < 5; ++i) {
    root_.Write("shade.glsl", ShadeGlsl("0." + std::to_string(i + 1)));
    StreamClient client(daemon_.socket());
    Attach(client);
    const v1::Completion completion = Next(client);
    ASSERT_EQ(completion.state(), v1::STATE_READY) << TextOf(completion);
    EXPECT_TRUE(keys.insert(completion.variant().key_id()).second);
  }
}

TEST_F(LiveReloadTest, IncludeThatAppearsIsNoticed) {
  root_.Write("optional.frag",
              "#version 460\n"
              "#extension GL_GOOGLE_include_directive : require\n"
              "layout(location = 0) out vec4 o;\n"
              "#ifdef MISSING\n#include \"later/extra.glsl\"\n#endif\n"
              "void main() { o = vec4(1.0); }\n");
  StreamClient client(daemon_.socket());
  ASSERT_OK(client.Attach(kLiveTarget));
  AskShader(client, Register(Shader("optional.frag", Stage::kFragment)));
  const v1::Completion first = Next(client);
  ASSERT_EQ(first.state(), v1::STATE_READY) << TextOf(first);
  root_.Write("later/extra.glsl", "// here now\n");
  const v1::Completion second = Next(client);
  EXPECT_EQ(second.state(), v1::STATE_READY) << TextOf(second);
  EXPECT_NE(second.front_end().program_id(), first.front_end().program_id());
}

TEST_F(LiveReloadTest, RootAddedBeforeOthersTakesOverAtOnce) {
  testing::SourceFolder engine;
  engine.Write("shade.glsl", ShadeGlsl("0.75"));
  // Beside its includer a name means that file: so this one asks by root.
  root_.Write("angled.frag",
              "#version 460\n"
              "#extension GL_GOOGLE_include_directive : require\n"
              "layout(location = 0) out vec4 o;\n#include <shade.glsl>\n"
              "void main() { o = Shade(vec4(1.0)); }\n");
  StreamClient client(daemon_.socket());
  ASSERT_OK(client.Attach(kLiveTarget));
  AskShader(client, Register(Shader("angled.frag", Stage::kFragment)));
  const v1::Completion first = Next(client);
  ASSERT_EQ(first.state(), v1::STATE_READY) << TextOf(first);
  ASSERT_OK(
      daemon_.Connect()->AddRoot("engine", engine.path().string(), "project"));
  const v1::Completion second = Next(client);
  EXPECT_EQ(second.state(), v1::STATE_READY) << TextOf(second);
  EXPECT_NE(second.front_end().modules(0).digest(),
            first.front_end().modules(0).digest());
  // What it hides keeps its full name.
  EXPECT_EQ(Compile(Shader("/project/angled.frag", Stage::kFragment)).state(),
            v1::STATE_READY);
}

TEST_F(LiveReloadTest, RestartedDaemonRemembersRootsAndWhatItCompiled) {
  testing::SourceFolder plugin;
  plugin.Write("p.comp", "#version 460\nvoid main() {}\n");
  ASSERT_OK(daemon_.Connect()->AddRoot("plugin", plugin.path().string(), ""));
  ASSERT_EQ(Compile(Shader("p.comp", Stage::kCompute)).state(),
            v1::STATE_READY);
  ASSERT_OK(daemon_.Stop());
  ASSERT_OK(daemon_.Start());
  const v1::Completion again = Compile(Shader("p.comp", Stage::kCompute));
  EXPECT_EQ(again.state(), v1::STATE_READY) << TextOf(again);
  EXPECT_EQ(again.origin(), v1::ORIGIN_STORE);
  EXPECT_EQ(Count("stages_compiled"), 0u);
}

TEST_F(LiveReloadTest, StageThatDidNotChangeIsNotCompiledAgain) {
  StreamClient client(daemon_.socket());
  Attach(client);
  ASSERT_EQ(Next(client).state(), v1::STATE_READY);
  EXPECT_EQ(Count("stages_compiled"), 2u);
  root_.Save("shade.glsl", ShadeGlsl("0.25"));
  ASSERT_EQ(Next(client).state(), v1::STATE_READY);
  EXPECT_EQ(Count("stages_compiled"), 3u);
}

// The answer to what was asked before a save is about the text of before it,
// also when the save comes while it compiles.
TEST_F(LiveReloadTest, FileThatChangesDuringItsCompileIsCachedAsNeither) {
  std::string slow =
      "#version 460\n#extension GL_GOOGLE_include_directive : require\n"
      "layout(location = 0) out vec4 o;\n";
  for (int i = 0; i < 12000; ++i) {
    slow += "const float c" + std::to_string(i) + " = " + std::to_string(i) +
            ".5;\n";
  }
  slow += "#include \"shade.glsl\"\nvoid main() { o = Shade(vec4(c7)); }\n";
  root_.Write("slow.frag", slow);
  StreamClient client(daemon_.socket());
  ASSERT_OK(client.Attach(kLiveTarget));
  AskShader(client, Register(Shader("slow.frag", Stage::kFragment)));
  ASSERT_TRUE(Eventually([&] {
    const auto status = daemon_.Connect()->GetStatus();
    return status.ok() && status->jobs_running() > 0;
  }));
  root_.Save("shade.glsl", ShadeGlsl("0.0625"));
  v1::Completion last = Next(client);
  while (last.generation() < 2) {
    last = Next(client);
  }
  ASSERT_EQ(last.state(), v1::STATE_READY) << TextOf(last);
  // Both texts, each compiled alone and never seen by this daemon's store.
  auto module_of = [&](const std::string& factor) {
    root_.Save("shade.glsl", ShadeGlsl(factor));
    const v1::Completion completion =
        Compile(Shader("slow.frag", Stage::kFragment));
    EXPECT_EQ(completion.origin(), v1::ORIGIN_STORE);
    return completion.front_end().modules(0).digest();
  };
  const std::string edited = module_of("0.0625");
  EXPECT_EQ(last.front_end().modules(0).digest(), edited);
  EXPECT_NE(module_of("0.5"), edited);
}

TEST_F(LiveReloadTest, OneHeaderOf200ShadersCompilesExactlyItsDependents) {
  constexpr int kShaders = 200;
  constexpr int kHeaders = 5;
  for (int i = 0; i < kHeaders; ++i) {
    root_.Write("lib/h" + std::to_string(i) + ".glsl",
                "const float H" + std::to_string(i) + " = 1.0;\n");
  }
  StreamClient client(daemon_.socket());
  ASSERT_OK(client.Attach(kLiveTarget));
  int dependents = 0;
  for (int i = 0; i < kShaders; ++i) {
    const int header = i * 7 % kHeaders;
    const std::string n = std::to_string(header);
    dependents += header == 3 ? 1 : 0;
    const std::string name = "fx/s" + std::to_string(i) + ".frag";
    root_.Write(name,
                "#version 460\n"
                "#extension GL_GOOGLE_include_directive : require\n"
                "layout(location = 0) out vec4 o;\n#include <lib/h" +
                    n + ".glsl>\nvoid main() { o = vec4(H" + n + " + " +
                    std::to_string(i) + ".0); }\n");
    AskShader(client, Register(Shader(name, Stage::kFragment)),
              static_cast<uint64_t>(i));
  }
  for (int i = 0; i < kShaders; ++i) {
    ASSERT_EQ(Next(client).state(), v1::STATE_READY);
  }
  const uint64_t before = Count("stages_compiled");
  EXPECT_EQ(before, static_cast<uint64_t>(kShaders));
  root_.Save("lib/h3.glsl", "const float H3 = 2.0;\n");
  std::set<uint64_t> told;
  for (int i = 0; i < dependents; ++i) {
    const v1::Completion completion = Next(client);
    EXPECT_EQ(completion.generation(), 2u);
    told.insert(completion.request_id());
  }
  EXPECT_EQ(told.size(), static_cast<size_t>(dependents));
  for (const uint64_t request : told) {
    EXPECT_EQ(request * 7 % kHeaders, 3u);
  }
  EXPECT_EQ(Count("stages_compiled") - before,
            static_cast<uint64_t>(dependents));
}

}  // namespace
}  // namespace kiln::daemon
