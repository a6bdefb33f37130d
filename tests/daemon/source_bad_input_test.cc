// SPDX-License-Identifier: Apache-2.0

// Sources that are wrong, by way of a search root and the whole daemon: each a
// clear error or a right result, no crash of the daemon, and nothing wrong
// cached. What the compiler makes of each text is in tests/shaders.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "proto/text.h"
#include "tests/daemon/live_fixture.h"

namespace kiln::daemon {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::StreamClient;

constexpr char kBadHeader[] =
    "#version 460\n#extension GL_GOOGLE_include_directive : require\n"
    "layout(location = 0) out vec4 o;\n";
constexpr char kMain[] = "void main() { o = vec4(1.0); }\n";

class SourceBadInputTest : public LiveFixture {
 protected:
  v1::Completion CompileFragment(const std::string& text) {
    root_.Write("bad.frag", text);
    return Compile(Shader("bad.frag", Stage::kFragment));
  }

  template <typename Matcher>
  void ExpectFails(const std::string& text, const Matcher& says) {
    const pid_t daemon = daemon_.pid();
    const v1::Completion completion = CompileFragment(text);
    EXPECT_EQ(completion.state(), v1::STATE_FAILED)
        << completion.ShortDebugString();
    EXPECT_THAT(TextOf(completion), says);
    EXPECT_TRUE(IsValidUtf8(TextOf(completion)));
    EXPECT_EQ(daemon_.pid(), daemon);
    ExpectRight(std::string(kBadHeader) + kMain);  // nothing bad was cached
  }

  void ExpectRight(const std::string& text) {
    const v1::Completion completion = CompileFragment(text);
    EXPECT_EQ(completion.state(), v1::STATE_READY) << TextOf(completion);
  }

  static std::string Including(const std::string& name) {
    return std::string(kBadHeader) + "#include \"" + name + "\"\n" + kMain;
  }
};

TEST_F(SourceBadInputTest, CirclesOfIncludesNameTheChain) {
  root_.Write("x.glsl", "#include \"y.glsl\"\n");
  root_.Write("y.glsl", "#include \"x.glsl\"\n");
  ExpectFails(Including("x.glsl"), AllOf(HasSubstr("circular include"),
                                         HasSubstr("project/x.glsl")));
  ExpectFails(Including("bad.frag"), HasSubstr("circular include"));
  ExpectFails(Including("./sub/../bad.frag"), HasSubstr("circular include"));
  ExpectFails(Including("/project/bad.frag"), HasSubstr("circular include"));
}

TEST_F(SourceBadInputTest, IncludesThatDoNotEndSayTheLimit) {
  for (int i = 0; i < 10000; ++i) {
    root_.Write("deep/d" + std::to_string(i) + ".glsl",
                "#include \"d" + std::to_string(i + 1) + ".glsl\"\n");
  }
  ExpectFails(Including("deep/d0.glsl"),
              AllOf(HasSubstr("more than"), HasSubstr("d0.glsl")));
  root_.Write("bomb/f0.glsl", "\n");
  for (int i = 1; i <= 30; ++i) {
    const std::string below =
        "#include \"f" + std::to_string(i - 1) + ".glsl\"\n";
    root_.Write("bomb/f" + std::to_string(i) + ".glsl", below + below);
  }
  ExpectFails(Including("bomb/f30.glsl"), HasSubstr("more than"));
}

TEST_F(SourceBadInputTest, NothingOutsideTheRootsIsReadable) {
  testing::SourceFolder outside;
  outside.Write("secret.env", "hunter2\n");
  std::filesystem::create_symlink(outside.path() / "secret.env",
                                  root_.path() / "link.glsl");
  std::filesystem::create_symlink(outside.path(), root_.path() / "folder");
  const std::string up =
      std::filesystem::relative(outside.path(), root_.path());
  for (const std::string& name :
       {up + "/secret.env", (outside.path() / "secret.env").string(),
        std::string("link.glsl"), std::string("folder/secret.env"),
        std::string("../../etc/passwd"), std::string("/etc/passwd")}) {
    SCOPED_TRACE(name);
    const v1::Completion completion = CompileFragment(Including(name));
    EXPECT_EQ(completion.state(), v1::STATE_FAILED);
    EXPECT_THAT(TextOf(completion), ::testing::Not(HasSubstr("hunter2")));
    EXPECT_THAT(TextOf(completion), HasSubstr("bad.frag:4"));
    // Nor as a shader of its own.
    Program alone = Shader(name, Stage::kFragment);
    if (alone.Validate().ok()) {
      const v1::Completion secret = Compile(alone);
      EXPECT_EQ(secret.state(), v1::STATE_FAILED);
      EXPECT_THAT(TextOf(secret), ::testing::Not(HasSubstr("hunter2")));
    }
  }
}

TEST_F(SourceBadInputTest, WhatIsNoFileIsNamedAsSuch) {
  std::filesystem::create_directory(root_.path() / "folder.glsl");
  ExpectFails(Including("folder.glsl"), HasSubstr("folder"));
  ASSERT_EQ(mkfifo((root_.path() / "pipe.glsl").c_str(), 0600), 0);
  ExpectFails(Including("pipe.glsl"), HasSubstr("is a pipe"));
  ExpectFails(Including("missing.glsl"), HasSubstr("missing.glsl"));
  if (geteuid() != 0) {  // root reads everything
    root_.Write("locked.glsl", "\n");
    std::filesystem::permissions(root_.path() / "locked.glsl",
                                 std::filesystem::perms::none);
    ExpectFails(Including("locked.glsl"), HasSubstr("locked.glsl"));
  }
  std::filesystem::create_directory(root_.path() / "stage.frag");
  const v1::Completion completion =
      Compile(Shader("stage.frag", Stage::kFragment));
  EXPECT_EQ(completion.state(), v1::STATE_FAILED);
  EXPECT_THAT(TextOf(completion), HasSubstr("stage.frag"));
}

TEST_F(SourceBadInputTest, TextOfEditorsOfAllKindsIsRight) {
  ExpectRight("\xEF\xBB\xBF" + std::string(kBadHeader) + kMain);  // BOM
  root_.Write("bom.glsl", "\xEF\xBB\xBF// begins with a BOM\n");
  ExpectRight(Including("bom.glsl"));
  std::string crlf;
  for (const char c : Including("shade.glsl")) {
    crlf += c == '\n' ? "\r\n" : std::string(1, c);
  }
  ExpectRight(crlf);
  std::string text = Including("tail.glsl");
  root_.Write("tail.glsl", "#ifdef X\n#endif");  // no final line end
  text.pop_back();
  ExpectRight(text);
  ExpectRight(std::string(kBadHeader) + "// caf\xE9 in Latin-1\n" + kMain);
}

// 20 MB of what people and generators write: functions with much said of each.
TEST_F(SourceBadInputTest, TwentyMegabytesOfTextAreRight) {
  std::string text(kBadHeader);
  for (int i = 0; text.size() < (20u << 20); ++i) {
    const std::string number = std::to_string(i);
    for (int line = 0; line < 60; ++line) {
      text += "// " + std::to_string(line) + ": what lobe " + number +
              " of the fit is, where its sample lies and what it costs\n";
    }
    text += "#define LOBE_" + number + " 0.5\n";
    text += "float Lobe" + number + "(float x) {\n  return x * LOBE_" + number +
            " + 1.0;\n}\n";
  }
  ExpectRight(text + "void main() { o = vec4(Lobe0(Lobe1(0.25))); }\n");
  ExpectFails(text + "void main() { o = vec4(Lobe0(Lobe1(no))); }\n",
              HasSubstr("'no' : undeclared identifier"));
}

TEST_F(SourceBadInputTest, SurfaceNameOverTheLimitIsNamedAsTheFault) {
  EXPECT_THAT(daemon_.Connect()
                  ->RegisterSurface(Digest(), std::string(257, 'n'),
                                    "void surface() {}\n", kLiveTarget)
                  .status(),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("name is over 256 bytes")));
}

// With jobs that may take 5 s, and a root of the same folder.
class MacroBombTest : public SourceBadInputTest {
 protected:
  void SetUp() override { ASSERT_OK(short_.Start()); }

  // `first` doubled `doublings` times, as macro D<doublings>.
  static std::string Doubled(const std::string& first, int doublings) {
    std::string text = "#define D0 " + first + "\n";
    for (int i = 1; i <= doublings; ++i) {
      const std::string below = "D" + std::to_string(i - 1);
      text +=
          "#define D" + std::to_string(i) + " " + below + " " + below + "\n";
    }
    return text;
  }

  v1::Completion CompileShort(const std::string& name,
                              const std::string& text) {
    root_.Write(name, text);
    auto id = short_.Connect()->RegisterProgram(Shader(name, Stage::kFragment));
    EXPECT_OK(id);
    StreamClient client(short_.socket());
    EXPECT_OK(client.Attach(kLiveTarget));
    AskShader(client, id.value_or(Digest()));
    return Next(client);
  }

  // Asked for twice, as what took too long once may be luck the next time.
  void ExpectStopped(const std::string& text) {
    const std::string says = "took over 5 s in the front end";
    for (uint64_t times : {1, 2}) {
      const v1::Completion bomb = CompileShort("bomb.frag", text);
      EXPECT_EQ(bomb.state(), v1::STATE_FAILED);
      EXPECT_THAT(TextOf(bomb), HasSubstr(says));
      EXPECT_EQ(short_.CounterValue("jobs_timed_out"), times);
      EXPECT_EQ(
          CompileShort("right.frag", std::string(kBadHeader) + kMain).state(),
          v1::STATE_READY);
    }
  }

  testing::DaemonProcess short_{
      {{"--job-timeout", "5", "--root", "project=" + root_.path().string()},
       {}}};
};

TEST_F(MacroBombTest, DoublingInAnIfIsStoppedEachTimeItIsAskedFor) {
  ExpectStopped(std::string(kBadHeader) + Doubled("1+", 32) +
                "#if D32 0\n#endif\n" + kMain);
}

TEST_F(MacroBombTest, DoublingInAnExpressionEndsWithAClearFailure) {
  const v1::Completion bomb = CompileShort(
      "bomb.frag", std::string(kBadHeader) + Doubled("+0.001", 22) +
                       "void main() { o = vec4(0.0 D22); }\n");
  EXPECT_EQ(bomb.state(), v1::STATE_FAILED);
  EXPECT_THAT(TextOf(bomb), HasSubstr("front end"));
  EXPECT_EQ(CompileShort("right.frag", std::string(kBadHeader) + kMain).state(),
            v1::STATE_READY);
}

TEST_F(SourceBadInputTest, TextThatIsNoTextFailsWithItsLine) {
  ExpectFails(std::string(kBadHeader) + std::string("float a;\0\n", 10) + kMain,
              AllOf(HasSubstr("NUL"), HasSubstr("bad.frag")));
  ExpectFails(std::string(kBadHeader) + "float caf\xE9 = 1.0;\n" + kMain,
              HasSubstr("bad.frag:4"));
  ExpectFails(std::string(kBadHeader) +
                  "#define F \"shade.glsl\"\n#include F\n" + kMain,
              AllOf(HasSubstr("bad.frag:5"), HasSubstr("include")));
  ExpectFails(std::string(kBadHeader), HasSubstr("entry point"));  // no main
}

TEST_F(SourceBadInputTest, MacrosByTheThousandEndSomehow) {
  std::string defines(kBadHeader);
  for (int i = 0; i < 100000; ++i) {
    defines += "#define D" + std::to_string(i) + " 1\n";
  }
  ExpectRight(defines + kMain);
  Program many = Shader("small.frag", Stage::kFragment);
  for (int i = 0; i < 100000; ++i) {
    many.defines.push_back({"D" + std::to_string(i), "1"});
  }
  EXPECT_THAT(daemon_.Connect()->RegisterProgram(many).status().message(),
              AnyOf(HasSubstr("defines"), HasSubstr("limit")));
}

TEST_F(SourceBadInputTest, ModulesOfOthersAreCheckedBeforeAnythingElse) {
  root_.Write("noise.spv", std::string(4096, '\x5a'));
  root_.Write("empty.spv", "");
  root_.Write("short.spv", std::string("\x03\x02\x23\x07\x00\x00\x01", 7));
  for (const char* name : {"noise.spv", "empty.spv", "short.spv"}) {
    SCOPED_TRACE(name);
    const v1::Completion completion = Compile(Shader(name, Stage::kFragment));
    EXPECT_EQ(completion.state(), v1::STATE_FAILED);
    EXPECT_THAT(TextOf(completion), HasSubstr(name));
  }
  EXPECT_EQ(Count("workers_crashed"), 0u);
}

}  // namespace
}  // namespace kiln::daemon
