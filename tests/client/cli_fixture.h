// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs the `kiln` command as a process and keeps what it printed.

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/client/tiny_program.h"
#include "tests/support/daemon_process.h"
#include "tests/support/temp_dir.h"

namespace kiln::testing {

struct CommandResult {
  int exit_code = -1;
  std::vector<std::string> out;
  std::string err;
};

class CliTest : public ::testing::Test {
 protected:
  // `options`: of the daemon, which a test starts.
  explicit CliTest(DaemonProcessOptions options = {});

  // Runs `kiln arguments...` against the fixture's socket. Blocks: until it
  // ends; fails the test after a minute.
  CommandResult Run(std::vector<std::string> arguments);

  // The same with --json, parsed: every line has to be an object.
  std::vector<nlohmann::json> RunJson(std::vector<std::string> arguments,
                                      int expected_exit_code);

  // Writes a file below the fixture's folder, which is no search root.
  // Returns: its path.
  std::string Write(const std::string& path, const std::string& text) const;

  std::vector<std::string> RequestArguments(const std::string& features,
                                            bool wait) const;

  DaemonProcess daemon_;
  const TempDir folder_;
  std::string program_file_;  // the tiny program
};

}  // namespace kiln::testing
