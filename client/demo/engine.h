// SPDX-License-Identifier: Apache-2.0
#pragma once

// A stand-in for an engine process: loads the whole-shader set, then runs a
// frame loop over the level's surfaces, drawing each with the whole shader
// until its variant is there. Its pipelines are real ones of a real driver;
// its frames are simulated, since null hardware cannot draw (DESIGN section 1).

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/status.h"

namespace kiln::demo {

struct EngineOptions {
  std::string role = "game";  // the client's name
  std::string socket;
  std::string target;
  std::filesystem::path program;
  // The order in which surfaces come into view.
  bool reverse = false;
  // A new surface comes into view every so many frames.
  uint32_t frames_per_surface = 4;
  std::chrono::milliseconds frame_time{8};
  // Gives up when the variants have not arrived by then.
  std::chrono::seconds deadline{120};
};

// Runs the engine until every variant has been swapped in, writing what
// happens to stdout as one JSON object a line:
//   {"event":"loaded", ...}     the whole-shader set is there
//   {"event":"frame", "frame":n, "whole":k, "connection":"ready"}  now and then
//   {"event":"variant", ...}    one swapped in: who, when, how the driver
//   answered
//   {"event":"done", ...}
// Returns: DeadlineExceeded naming a variant that did not arrive, or what went
// wrong while loading.
absl::Status RunEngine(const EngineOptions& options);

}  // namespace kiln::demo
