// SPDX-License-Identifier: Apache-2.0

// What an engine sees of sources that change while it runs: a real kilnd that
// watches a real folder.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/client.h"
#include "client/library.h"
#include "client/shader_program.h"
#include "proto/module_interface.h"
#include "tests/support/daemon_process.h"
#include "tests/support/eventually.h"
#include "tests/support/small_program.h"
#include "tests/support/source_folder.h"
#include "tests/support/status_matchers.h"

namespace kiln::client {
namespace {

using ::testing::AllOf;
using testing::Eventually;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::StatusIs;

constexpr std::chrono::seconds kFlush{60};

// A SmallProgram's fragment shader that multiplies by `factor`.
std::string Fragment(const std::string& factor) {
  std::string text = testing::kSmallFragment;
  const std::string line = "color = push.tint;";
  return text.replace(text.find(line), line.size(),
                      "color = push.tint * " + factor + ";");
}

// A fragment shader that takes surface shaders.
std::string SurfaceFragment(const std::string& grey) {
  return "#version 460\n"
         "#extension GL_GOOGLE_include_directive : require\n"
         "layout(constant_id = 2) const uint Features = 3u;\n"
         "layout(location = 0) out vec4 color;\n"
         "#include \"surfaces.glsl\"\n"
         "void main() { color = vec4(" +
         grey + "); kiln_surface(Features, color); }\n";
}

class ClientLiveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    recipe_ = testing::SmallProgram(Fragment("0.5"));
    for (const SourceFile& file : recipe_.files) {
      root_.Write(file.path, file.text);
    }
    recipe_.rooted = true;
    recipe_.files.clear();
    ASSERT_OK(daemon_.Start());
    client_ =
        Client::Connect({.socket = daemon_.socket(), .client_name = "test"});
  }

  Digest Ask() {
    auto program = client_->Register(recipe_);
    EXPECT_OK(program);
    VariantKey wanted;
    wanted.program = *program;
    wanted.kind = "opaque";
    wanted.features = 1;
    auto key = client_->Request(wanted);
    EXPECT_OK(key);
    return key.value_or(Digest());
  }

  // Polls until there was an event of this kind, and returns it.
  Event WaitFor(Event::Kind kind) {
    Event found;
    EXPECT_TRUE(Eventually([&] {
      std::vector<Event> events;
      client_->Poll(&events);
      for (Event& event : events) {
        if (event.kind == kind) {
          found = std::move(event);
          return true;
        }
      }
      return false;
    })) << "no event of kind "
        << static_cast<int>(kind);
    return found;
  }

  ShaderSource Path(const std::string& path) const {
    ShaderSource source;
    source.path = path;
    return source;
  }

  Program recipe_;
  testing::SourceFolder root_;
  testing::DaemonProcess daemon_{
      {{"--root", "project=" + root_.path().string()}, {}}};
  std::unique_ptr<Client> client_;
};

TEST_F(ClientLiveTest, SaveSwapsTheVariantAtAPoll) {
  const Digest key = Ask();
  EXPECT_EQ(WaitFor(Event::Kind::kVariantReady).id, key);
  const auto first = client_->Resolve(key);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(client_->StateOf(key).generation, 1u);
  root_.Save("small.frag", Fragment("0.25"));
  EXPECT_EQ(WaitFor(Event::Kind::kVariantReady).id, key);
  const auto second = client_->Resolve(key);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(client_->StateOf(key).generation, 2u);
  EXPECT_NE(second->artifact.key.program, first->artifact.key.program);
}

TEST_F(ClientLiveTest, BrokenSaveKeepsTheVariantAndTellsWhy) {
  const Digest key = Ask();
  WaitFor(Event::Kind::kVariantReady);
  const auto first = client_->Resolve(key);
  root_.Save("small.frag", Fragment("oops"));
  const Event failed = WaitFor(Event::Kind::kVariantFailed);
  EXPECT_THAT(failed.diagnostics, HasSubstr("project/small.frag:"));
  EXPECT_EQ(client_->Resolve(key), first);
  const VariantStatus broken = client_->StateOf(key);
  EXPECT_EQ(broken.state, VariantState::kReady);
  EXPECT_THAT(broken.message, HasSubstr("does not compile"));
  root_.Save("small.frag", Fragment("0.5"));
  EXPECT_EQ(WaitFor(Event::Kind::kRecovered).id, key);
  EXPECT_EQ(client_->Resolve(key), first);
  EXPECT_EQ(client_->StateOf(key).message, "");
}

TEST_F(ClientLiveTest, FailedKeyOfALivingProgramIsReadyOnceItCompiles) {
  root_.Write("small.frag", Fragment("oops"));
  const Digest key = Ask();
  WaitFor(Event::Kind::kVariantFailed);
  EXPECT_EQ(client_->StateOf(key).state, VariantState::kFailed);
  root_.Write("small.frag", Fragment("0.5"));
  WaitFor(Event::Kind::kVariantReady);
  EXPECT_NE(client_->Resolve(key), nullptr);
}

TEST_F(ClientLiveTest, AnotherDaemonGoesOnWhereTheFirstEnded) {
  const Digest key = Ask();
  WaitFor(Event::Kind::kVariantReady);
  daemon_.Kill();
  root_.Save("small.frag", Fragment("0.75"));  // nobody watches
  ASSERT_OK(daemon_.Start());
  WaitFor(Event::Kind::kVariantReady);
  EXPECT_EQ(client_->StateOf(key).generation, 2u);
  root_.Save("small.frag", Fragment("0.875"));
  WaitFor(Event::Kind::kVariantReady);
  EXPECT_EQ(client_->StateOf(key).generation, 3u);
}

TEST_F(ClientLiveTest, CompiledShadersAreInTheLibraryAndFollowTheirSources) {
  ASSERT_OK_AND_ASSIGN(const ShaderHandle lit,
                       client_->Compile(Path("small.frag")));
  ASSERT_OK_AND_ASSIGN(const ShaderHandle same,
                       client_->Compile(Path("small.frag")));
  EXPECT_EQ(lit, same);
  ShaderLibrary& library = client_->library();
  EXPECT_EQ(library.Generation(lit), 0u);
  EXPECT_TRUE(client_->HasPending());
  ASSERT_TRUE(client_->Flush(kFlush, nullptr));
  const ResolvedShader* shader = library.Resolve(lit);
  ASSERT_NE(shader, nullptr);
  EXPECT_EQ(shader->generation, 1u);
  ASSERT_NE(shader->code.interface, nullptr);
  EXPECT_EQ(shader->code.interface->constants.size(), 1u);
  const uint64_t hash = shader->pipeline_hash();
  root_.Save("small.frag", Fragment("0.25"));
  WaitFor(Event::Kind::kShaderReady);
  EXPECT_EQ(library.Generation(lit), 2u);
  EXPECT_NE(library.PipelineHash(lit), hash);
  client_->Release(lit);
  library.EndFrame();
  EXPECT_EQ(library.Resolve(lit), nullptr);
  EXPECT_EQ(client_->StateOf(lit).state, VariantState::kUnknown);
}

TEST_F(ClientLiveTest, ReleasedShaderCompilesAgainUnderALiveHandle) {
  ASSERT_OK_AND_ASSIGN(const ShaderHandle first,
                       client_->Compile(Path("small.frag")));
  ASSERT_TRUE(client_->Flush(kFlush, nullptr));
  client_->Release(first);
  client_->library().EndFrame();
  ASSERT_OK_AND_ASSIGN(const ShaderHandle again,
                       client_->Compile(Path("small.frag")));
  EXPECT_NE(again, first);
  ASSERT_TRUE(client_->Flush(kFlush, nullptr));
  EXPECT_EQ(client_->StateOf(again).state, VariantState::kReady);
  EXPECT_NE(client_->library().Resolve(again), nullptr);
  EXPECT_EQ(client_->library().Resolve(first), nullptr);
}

TEST_F(ClientLiveTest, ManyShadersAndTextsCompileAtOnce) {
  ShaderSource text;
  text.text =
      "#version 460\nlayout(local_size_x = LANES) in;\nvoid main() {}\n";
  text.stage = Stage::kCompute;
  text.defines = {{"LANES", "8"}};
  text.debug_name = "fill";
  ShaderSource broken = text;
  broken.defines.clear();
  ASSERT_OK_AND_ASSIGN(const auto handles,
                       client_->Compile(std::vector<ShaderSource>{
                           Path("small.frag"), text, broken}));
  ASSERT_TRUE(client_->Flush(kFlush, nullptr));
  EXPECT_NE(client_->library().Resolve(handles[0]), nullptr);
  EXPECT_NE(client_->library().Resolve(handles[1]), nullptr);
  EXPECT_EQ(client_->library().Resolve(handles[2]), nullptr);
  const ShaderStatus status = client_->StateOf(handles[2]);
  EXPECT_EQ(status.state, VariantState::kFailed);
  EXPECT_THAT(status.diagnostics, HasSubstr("fill"));
}

TEST_F(ClientLiveTest, DebugNameIsInTheDiagnosticsOfAPathToo) {
  root_.Write("small.frag", Fragment("oops"));
  ShaderSource source = Path("small.frag");
  source.debug_name = "night lit";
  ASSERT_OK_AND_ASSIGN(const ShaderHandle handle, client_->Compile(source));
  EXPECT_THAT(
      WaitFor(Event::Kind::kShaderFailed).diagnostics,
      AllOf(StartsWith("in night lit:\n"), HasSubstr("project/small.frag:")));
  EXPECT_THAT(client_->StateOf(handle).diagnostics,
              StartsWith("in night lit:\n"));
}

TEST_F(ClientLiveTest, SurfacesAreJudgedOnceAndToldAsEvents) {
  root_.Write("small.frag", SurfaceFragment("0.0"));
  recipe_.surface = {"surfaces.glsl", "surface", "inout vec4 c"};
  const Digest key = Ask();
  WaitFor(Event::Kind::kVariantReady);
  ASSERT_OK_AND_ASSIGN(const Digest program, client_->Register(recipe_));
  ASSERT_OK(client_->RegisterSurface(
      program, "red", "void surface(inout vec4 c) { c.r = 1.0; }\n"));
  ASSERT_OK(client_->RegisterSurface(
      program, "bad", "\nvoid surface(inout vec4 c) { c.r = vec3(1.0); }\n"));
  const Event accepted = WaitFor(Event::Kind::kSurfaceAccepted);
  EXPECT_EQ(accepted.label, "red");
  EXPECT_EQ(accepted.surface_index, 1u);
  const Event rejected = WaitFor(Event::Kind::kSurfaceRejected);
  EXPECT_EQ(rejected.label, "bad");
  EXPECT_THAT(rejected.diagnostics, HasSubstr("bad:2:"));
  EXPECT_TRUE(Eventually([&] {
    client_->Poll(nullptr);
    return client_->StateOf(key).generation == 2;
  }));
  EXPECT_THAT(client_->RegisterSurface(Digest(), "none", ""),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ClientLiveTest, SurfaceWaitsUntilTheProgramCompiles) {
  root_.Write("small.frag", SurfaceFragment("oops"));
  recipe_.surface = {"surfaces.glsl", "surface", "inout vec4 c"};
  Ask();
  WaitFor(Event::Kind::kVariantFailed);
  ASSERT_OK_AND_ASSIGN(const Digest program, client_->Register(recipe_));
  ASSERT_OK(client_->RegisterSurface(
      program, "red", "void surface(inout vec4 c) { c.r = 1.0; }\n"));
  std::vector<Event> events;
  // Long enough for an answer, which is none.
  EXPECT_FALSE(client_->Flush(std::chrono::seconds(2), &events));
  for (const Event& event : events) {
    EXPECT_NE(event.kind, Event::Kind::kSurfaceRejected) << event.message;
  }
  root_.Save("small.frag", SurfaceFragment("0.0"));
  EXPECT_EQ(WaitFor(Event::Kind::kSurfaceAccepted).label, "red");
}

TEST_F(ClientLiveTest, AnotherDaemonIsToldTheLatestTextOfASurface) {
  root_.Write("small.frag", SurfaceFragment("0.0"));
  recipe_.surface = {"surfaces.glsl", "surface", "inout vec4 c"};
  ASSERT_OK_AND_ASSIGN(const Digest program, client_->Register(recipe_));
  ASSERT_OK(client_->RegisterSurface(
      program, "red", "\nvoid surface(inout vec4 c) { c.r = vec3(1.0); }\n"));
  WaitFor(Event::Kind::kSurfaceRejected);
  ASSERT_OK(client_->RegisterSurface(
      program, "red", "void surface(inout vec4 c) { c.r = 1.0; }\n"));
  EXPECT_EQ(WaitFor(Event::Kind::kSurfaceAccepted).surface_index, 1u);
  EXPECT_TRUE(client_->Flush(kFlush, nullptr));
  daemon_.Kill();
  ASSERT_OK(daemon_.Start());
  // Told last, so that its answer comes after those to what is told again.
  ASSERT_OK(client_->RegisterSurface(
      program, "green", "void surface(inout vec4 c) { c.g = 1.0; }\n"));
  std::vector<Event> events;
  EXPECT_TRUE(client_->Flush(kFlush, &events));
  for (const Event& event : events) {
    EXPECT_NE(event.kind, Event::Kind::kSurfaceRejected) << event.label;
  }
}

}  // namespace
}  // namespace kiln::client
