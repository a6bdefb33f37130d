// SPDX-License-Identifier: Apache-2.0
#pragma once

// A stand-in for an engine process: loads the whole-shader set, then runs a
// frame loop over the level's surfaces, drawing each with the whole shader
// until its variant is there. Its pipelines are real ones of a real driver;
// its frames are simulated, since null hardware cannot draw (DESIGN section 1).

#include <atomic>
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
  // Loads the program as a recipe, whose sources kilnd finds in its search
  // roots.
  bool rooted = false;
  // Rooted, and goes on drawing with whatever is saved there until `stop`.
  bool live = false;
  // With `live`: ends the engine within a frame. Lifetime: that of the call.
  const std::atomic<bool>* stop = nullptr;
};

// Runs the engine until every variant has been swapped in, or, `live`, until it
// is stopped. What happens goes to stdout, one JSON object a line, as
// engine_lines.h lists them.
// Returns: DeadlineExceeded naming a variant that did not arrive, or what went
// wrong while loading. What does not compile ends an engine that is not `live`.
absl::Status RunEngine(const EngineOptions& options);

}  // namespace kiln::demo
