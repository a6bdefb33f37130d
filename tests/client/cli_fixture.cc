// SPDX-License-Identifier: Apache-2.0
#include "tests/client/cli_fixture.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "client/demo/child.h"
#include "tests/support/eventually.h"
#include "tests/support/status_matchers.h"

namespace kiln::testing {

CliTest::CliTest(DaemonProcessOptions options)
    : daemon_(std::move(options)),
      program_file_(WriteProgramFile(TinyProgram(), folder_.path())) {}

CommandResult CliTest::Run(std::vector<std::string> arguments) {
  CommandResult result;
  arguments.insert(arguments.end(), {"--socket", daemon_.socket()});
  demo::ChildOptions options;
  options.arguments = std::move(arguments);
  const TempDir errors;
  options.stderr_file = errors / "stderr";
  auto child = demo::Child::Start(KILN_BINARY_DIR "/kiln", options);
  EXPECT_OK(child);
  if (!child.ok()) {
    return result;
  }
  auto exit_code = (*child)->Wait(kLongEnough);
  EXPECT_OK(exit_code);
  result.exit_code = exit_code.value_or(-1);
  // Its output has ended with it; this waits for the last line to be read.
  (*child)->WaitForLine([](const std::string&) { return false; }, kLongEnough);
  result.out = (*child)->lines();
  std::ostringstream text;
  text << std::ifstream(options.stderr_file).rdbuf();
  result.err = std::move(text).str();
  return result;
}

std::vector<nlohmann::json> CliTest::RunJson(std::vector<std::string> arguments,
                                             int expected_exit_code) {
  arguments.emplace_back("--json");
  const CommandResult result = Run(std::move(arguments));
  EXPECT_EQ(result.exit_code, expected_exit_code) << result.err;
  std::vector<nlohmann::json> objects;
  for (const std::string& line : result.out) {
    objects.push_back(nlohmann::json::parse(line, nullptr, false));
    EXPECT_TRUE(objects.back().is_object()) << line;
  }
  return objects;
}

std::string CliTest::Write(const std::string& path,
                           const std::string& text) const {
  const std::filesystem::path file = folder_ / path;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
  return file.string();
}

std::vector<std::string> CliTest::RequestArguments(const std::string& features,
                                                   bool wait) const {
  std::vector<std::string> arguments = {"request", program_file_, "--kind",
                                        "opaque",  "--features",  features};
  if (wait) {
    arguments.emplace_back("--wait");
  }
  return arguments;
}

}  // namespace kiln::testing
