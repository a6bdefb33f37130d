// SPDX-License-Identifier: Apache-2.0

// Two live engines on a small program in a search root, and every way in which
// its files come to change.

#include <signal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "client/demo/child.h"
#include "client/demo/event_tail.h"
#include "tests/support/daemon_process.h"
#include "tests/support/eventually.h"
#include "tests/support/small_program.h"
#include "tests/support/source_folder.h"
#include "tests/support/status_matchers.h"

namespace kiln::demo {
namespace {

using Json = nlohmann::json;
using testing::DaemonProcess;
using ::testing::HasSubstr;
using testing::kLongEnough;

// One kind; three surfaces (neither feature, Warm, Noisy) and the whole shader.
constexpr char kRecipe[] = R"(format = 1
name = "small"
rooted = true
[stages]
vertex = "small.vert"
fragment = "small.frag"
[features]
constant_id = 2
[[features.bit]]
bit = 0
name = "Warm"
owner = "material"
[[features.bit]]
bit = 1
name = "Noisy"
owner = "frame"
[[kind]]
name = "opaque"
[pipeline]
color_formats = ["r8g8b8a8_unorm"]
[push_constants]
bytes = 16
stages = ["fragment"]
)";
constexpr size_t kKeys = 4;

constexpr char kExtensionLine[] =
    "#extension GL_GOOGLE_include_directive : require\n";

// small.frag, with what `lines` include.
std::string Fragment(const std::string& lines) {
  std::string text = testing::kSmallFragment;
  const size_t end_of_version = text.find('\n') + 1;
  return text.insert(end_of_version, kExtensionLine + lines)
      .insert(text.find("color = push.tint;") + 17, " * kShade");
}

std::string Shade(const std::string& value) {
  return "const float kShade = " + value + ";\n";
}

class LiveEnginesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_.Write("small.program.toml", kRecipe);
    root_.Write("small.vert",
                testing::SmallProgram().FindFile("small.vert")->text);
    root_.Write("small.frag", Fragment("#include \"shade.glsl\"\n"));
    root_.Write("shade.glsl", Shade("0.5"));
    ASSERT_OK(daemon_.Start());
    for (const std::string role : {"game", "editor"}) {
      ASSERT_OK_AND_ASSIGN(
          engines_.emplace_back(),
          Child::Start(
              KILN_BINARY_DIR "/kiln-demo-engine",
              {{"--live", "--role", role, "--socket", daemon_.socket(),
                "--program", (root_.path() / "small.program.toml").string()},
               {},
               (daemon_.folder() / role).string()}));
    }
    for (const auto& engine : engines_) {
      ASSERT_TRUE(EventTail::FromStart(*engine).WaitForLines("settled", 1,
                                                             kLongEnough));
    }
  }

  std::vector<EventTail> FromNow() const {
    std::vector<EventTail> tails;
    for (const auto& engine : engines_) {
      tails.emplace_back(*engine);
    }
    return tails;
  }

  // After `change`, each engine swaps in every key's next version, once.
  template <typename Change>
  void ExpectReload(const std::string& what, Change change) {
    SCOPED_TRACE(what);
    const std::vector<EventTail> tails = FromNow();
    change();
    ++generation_;
    for (const EventTail& tail : tails) {
      ASSERT_TRUE(tail.WaitForKeys("reloaded", kKeys, kLongEnough));
      const std::vector<Json> lines = tail.Of("reloaded");
      EXPECT_EQ(lines.size(), kKeys);
      for (const Json& line : lines) {
        EXPECT_EQ(line["generation"], generation_) << line;
        EXPECT_EQ(line["feedback"], "cache hit") << line;
      }
    }
  }

  // After `change`, each engine shows for every key that it fails, and what the
  // compiler says about it once, and draws on with what it had.
  template <typename Change>
  void ExpectError(const std::string& diagnostic, Change change) {
    SCOPED_TRACE(diagnostic);
    const std::vector<EventTail> tails = FromNow();
    change();
    for (const EventTail& tail : tails) {
      ASSERT_TRUE(tail.WaitForKeys("error", kKeys, kLongEnough));
      std::string diagnostics;
      for (const Json& line : tail.Of("error")) {
        diagnostics += line["diagnostics"];
        EXPECT_EQ(line["drawn_with"],
                  line.contains("surface") ? "own" : "whole");
      }
      EXPECT_THAT(diagnostics, HasSubstr(diagnostic));
    }
    for (const EventTail& tail : FromNow()) {
      EXPECT_TRUE(tail.WaitForLines("frame", 2, kLongEnough)) << "stopped";
    }
    for (const EventTail& tail : tails) {
      EXPECT_TRUE(tail.Of("reloaded").empty());
    }
  }

  uint32_t generation_ = 1;
  testing::SourceFolder root_;
  DaemonProcess daemon_{{{"--root", "small=" + root_.path().string()}, {}}};
  std::vector<std::unique_ptr<Child>> engines_;
};

TEST_F(LiveEnginesTest, EverySaveReachesBothHoweverItIsMadeAndBeyondARestart) {
  ExpectReload("renamed over",
               [&] { root_.Save("shade.glsl", Shade("0.25")); });
  ExpectReload("written in place",
               [&] { root_.Write("shade.glsl", Shade("0.125")); });
  ExpectError("small/shade.glsl:2",
              [&] { root_.Save("shade.glsl", "\n" + Shade("nonsense")); });
  ExpectReload("mended", [&] { root_.Save("shade.glsl", Shade("0.75")); });
  ExpectError("extra.glsl", [&] {
    root_.Save("small.frag", Fragment("#include \"shade.glsl\"\n"
                                      "#include \"extra.glsl\"\n"));
  });
  ExpectReload("the include was created",
               [&] { root_.Write("extra.glsl", "// here now\n"); });
  EXPECT_EQ(daemon_.CounterValue("compiles_finished"), kKeys * generation_);
  EXPECT_EQ(daemon_.CounterValue("reloads"), 6u);
  ExpectReload("while there was no daemon", [&] {
    daemon_.Kill();
    root_.Save("shade.glsl", Shade("0.875"));
    ASSERT_OK(daemon_.Start());
  });
  ExpectReload("after the restart",
               [&] { root_.Save("shade.glsl", Shade("0.375")); });
  for (const auto& engine : engines_) {
    engine->Signal(SIGTERM);
    ASSERT_OK_AND_ASSIGN(const int code, engine->Wait(kLongEnough));
    EXPECT_EQ(code, 0);
  }
}

}  // namespace
}  // namespace kiln::demo
