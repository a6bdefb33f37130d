// SPDX-License-Identifier: Apache-2.0

// The `kiln` command on a terminal: progress bar, and Ctrl-C.

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct TerminalResult {
  int exit_code = -1;
  std::string text;  // stdout and stderr, as the terminal got them
};

class CliTerminalTest : public CliTest {
 protected:
  // Runs `kiln` on a pseudo-terminal. Presses Ctrl-C once `interrupt_at` was
  // printed (empty: never).
  TerminalResult RunOnTerminal(std::vector<std::string> arguments,
                               const char* term,
                               const std::string& interrupt_at = "") {
    arguments.insert(arguments.begin(), KILN_BINARY_DIR "/kiln");
    arguments.insert(arguments.end(), {"--socket", daemon_.socket()});
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
      argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    int master = -1;
    const pid_t child = forkpty(&master, nullptr, nullptr, nullptr);
    if (child == 0) {
      setenv("TERM", term, 1);
      execv(argv[0], argv.data());
      _exit(127);
    }
    TerminalResult result;
    bool pressed = interrupt_at.empty();
    char buffer[4096];
    ssize_t count = 0;
    while ((count = read(master, buffer, sizeof(buffer))) > 0) {
      result.text.append(buffer, static_cast<size_t>(count));
      if (!pressed && result.text.find(interrupt_at) != std::string::npos) {
        pressed = true;
        EXPECT_EQ(write(master, "\x03", 1), 1);
      }
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    result.exit_code =
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    close(master);
    return result;
  }
};

TEST_F(CliTerminalTest, WarmDrawsABarAndTakesItAway) {
  ASSERT_OK(daemon_.Start());
  const TerminalResult result =
      RunOnTerminal({"warm", program_file_, "--all-of", "Red,Green"}, "xterm");
  EXPECT_EQ(result.exit_code, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("\r\x1b[K["));
  EXPECT_THAT(result.text, HasSubstr("/8"));
  EXPECT_THAT(result.text, HasSubstr("\r\x1b[K8 variants: 0 warm, 8 compiled"));
}

TEST_F(CliTerminalTest, DumbTerminalGetsPlainLines) {
  ASSERT_OK(daemon_.Start());
  const TerminalResult result =
      RunOnTerminal({"warm", program_file_, "--all-of", "Red"}, "dumb");
  EXPECT_EQ(result.exit_code, 0) << result.text;
  EXPECT_THAT(result.text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(result.text, HasSubstr("ready"));
}

TEST_F(CliTerminalTest, WaitingRequestShowsASpinner) {
  ASSERT_OK(daemon_.Start());
  const TerminalResult result =
      RunOnTerminal(RequestArguments("Red", true), "xterm");
  EXPECT_EQ(result.exit_code, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("\r\x1b[K- tiny opaque"));
}

TEST_F(CliTerminalTest, PrecompileDrawsABarAndTakesItAway) {
  ASSERT_OK(daemon_.Start());
  Write("engine/a.vert", "#version 460\nvoid main() {}\n");
  Write("engine/b.vert", "#version 460\nvoid main() { oops(); }\n");
  const TerminalResult result = RunOnTerminal(
      {"precompile", "--roots", (folder_ / "engine").string()}, "xterm");
  EXPECT_EQ(result.exit_code, 1) << result.text;
  EXPECT_THAT(result.text, HasSubstr("\r\x1b[K["));
  EXPECT_THAT(result.text, HasSubstr("/2 "));
  EXPECT_THAT(result.text, HasSubstr("\r\x1b[K1 of 2 shaders failed:"));
}

TEST_F(CliTerminalTest, CtrlCLeavesPrecompileCleanlyAndTheRootUncovered) {
  ASSERT_OK(daemon_.Start());
  // Too many to be through with them before the key is pressed.
  for (int i = 0; i < 400; ++i) {
    Write("engine/" + std::to_string(i) + ".vert",
          "#version 460\nvoid main() { gl_PointSize = " + std::to_string(i) +
              ".0; }\n");
  }
  const TerminalResult result = RunOnTerminal(
      {"precompile", "--jobs", "1", "--roots", (folder_ / "engine").string()},
      "xterm", "/400");
  EXPECT_EQ(result.exit_code, 130) << result.text;
  EXPECT_THAT(result.text, HasSubstr("unfinished"));
  EXPECT_EQ(RunJson({"roots"}, 0)[0]["precompiled"], false);
}

TEST_F(CliTerminalTest, CtrlCLeavesWarmCleanlyAndTheDaemonServing) {
  ASSERT_OK(daemon_.Start());
  // The scene's variants are slow enough that it cannot be finished.
  const TerminalResult result = RunOnTerminal(
      {"warm", KILN_SOURCE_DIR "/shaders/scene/scene.program.toml", "--all-of",
       "Detail,Height,ProbeVolume,Reflections,SunShadows,Water"},
      "xterm", "/132");
  EXPECT_EQ(result.exit_code, 130) << result.text;
  EXPECT_THAT(result.text, HasSubstr("unfinished"));
  EXPECT_EQ(Run({"status"}).exit_code, 0);
}

}  // namespace
}  // namespace kiln::testing
