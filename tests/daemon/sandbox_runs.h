// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs of tests/daemon/sandbox_probe.cc, for the tests of this folder.

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "client/demo/child.h"
#include "tests/support/eventually.h"

namespace kiln::daemon {

inline constexpr char kSandboxProbe[] = KILN_BINARY_DIR "/sandbox_probe";

// "name=result" of each line that the probe printed, by name.
struct ProbeRun {
  std::map<std::string, std::string> results;
  int exit_code = -1;

  std::string operator[](const std::string& name) const {
    const auto found = results.find(name);
    return found == results.end() ? "not tried" : found->second;
  }
};

inline ProbeRun RunProbe(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment = {}) {
  ProbeRun run;
  auto child = demo::Child::Start(kSandboxProbe, {arguments, environment, ""});
  if (!child.ok()) {
    ADD_FAILURE() << child.status();
    return run;
  }
  // Stdout ends with the process; the last lines may come after that.
  (*child)->WaitForLine([](const std::string&) { return false; },
                        testing::kLongEnough);
  run.exit_code = (*child)->Wait(testing::kLongEnough).value_or(-1);
  for (const std::string& line : (*child)->lines()) {
    const size_t equals = line.find('=');
    if (equals != line.npos) {
      run.results[line.substr(0, equals)] = line.substr(equals + 1);
    }
  }
  return run;
}

// Why this machine lacks a layer of the sandbox; empty: it has it.
inline std::string WhyLacking(const std::string& layer) {
  const ProbeRun run = RunProbe({"attempt", "/nowhere"});
  const std::string result = run["layer_" + layer];
  return result == "ok" ? "" : layer + ": " + result;
}

}  // namespace kiln::daemon
