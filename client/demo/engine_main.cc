// SPDX-License-Identifier: Apache-2.0

// kiln-demo-engine: one engine process of the demonstration, see engine.h.

#include <signal.h>

#include <atomic>
#include <iostream>

#include <CLI/CLI.hpp>

#include "client/demo/engine.h"
#include "proto/socket_path.h"
#include "proto/target.h"

namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set by a handler");

void RequestStop(int) {
  stop_requested = true;
}

}  // namespace

int main(int argc, char** argv) {
  kiln::demo::EngineOptions options;
  options.socket = kiln::DefaultSocketPath();
  options.target = kiln::kDefaultTarget;
  int64_t frame_ms = options.frame_time.count();
  int64_t deadline_s = options.deadline.count();
  CLI::App app(
      "kiln-demo-engine runs a frame loop that asks kilnd for variants and "
      "swaps them in.",
      "kiln-demo-engine");
  app.add_option("--program", options.program, "the scene's *.program.toml")
      ->required();
  app.add_option("--role", options.role, "what to call this process")
      ->capture_default_str();
  app.add_option("--socket", options.socket, "kilnd's socket")
      ->capture_default_str();
  app.add_option("--target", options.target, "device to compile for")
      ->capture_default_str();
  app.add_option("--frame-ms", frame_ms, "milliseconds a frame")
      ->capture_default_str();
  app.add_option("--frames-per-surface", options.frames_per_surface,
                 "frames until one more surface comes into view")
      ->capture_default_str();
  app.add_option("--deadline", deadline_s, "seconds until giving up")
      ->capture_default_str();
  app.add_flag("--reverse", options.reverse,
               "meet the surfaces in reverse order");
  app.add_flag("--rooted", options.rooted,
               "take the sources from kilnd's search roots");
  app.add_flag("--live", options.live,
               "--rooted, and draw on with what is saved there, until SIGTERM");
  CLI11_PARSE(app, argc, argv);
  options.frame_time = std::chrono::milliseconds(frame_ms);
  options.deadline = std::chrono::seconds(deadline_s);
  if (options.live) {
    options.stop = &stop_requested;
    signal(SIGTERM, RequestStop);
    signal(SIGINT, RequestStop);
  }
  try {  // libraries throw what we do not
    const absl::Status status = kiln::demo::RunEngine(options);
    if (!status.ok()) {
      std::cerr << "kiln-demo-engine: " << status.message() << '\n';
    }
    return status.ok() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "kiln-demo-engine: " << error.what() << '\n';
    return 1;
  }
}
