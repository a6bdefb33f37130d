// SPDX-License-Identifier: Apache-2.0
#pragma once

// The demonstration: a game and an editor share one private daemon; each
// variant is compiled once (rounds.h); after a restart nothing is compiled; a
// saved include changes what both draw, a broken one nothing (live_act.h).
// Every claim it prints is checked against the daemon's counters and the
// drivers' own feedback.

#include <filesystem>
#include <string>

#include "absl/status/status.h"

namespace kiln::demo {

struct DemonstrationOptions {
  std::filesystem::path binaries;  // the folder of kilnd and kiln-demo-engine
  std::filesystem::path program;   // shaders/scene/scene.program.toml
  std::filesystem::path folder;    // socket, state and logs go here
  std::string target;
  bool json = false;  // one JSON object a line instead of tables
  // Claims about time are printed and decide nothing: a busy machine is no
  // fault.
  bool any_speed = false;
};

// Returns: OK when every claim held. Errors: FailedPrecondition naming the
// first claim that did not; what went wrong otherwise.
absl::Status RunDemonstration(const DemonstrationOptions& options);

}  // namespace kiln::demo
