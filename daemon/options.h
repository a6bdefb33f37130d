// SPDX-License-Identifier: Apache-2.0
#pragma once

// kilnd's settings: command-line flags, and a TOML file with the same names.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kiln::daemon {

struct DaemonOptions {
  // Where clients connect. At most 107 bytes. Its folder is made (0700) if it
  // does not exist.
  std::string socket;

  // Where RocksDB and the instance lock live. Made (0700) if missing. One
  // kilnd a folder. Losing it costs recompiles, never correctness.
  std::string state;

  // The kiln-worker binary; default: beside kilnd.
  std::string worker;

  // Compiles at a time, over all targets. More than the cores only adds
  // memory; fewer leaves cores to the game. Range 1 to 256.
  uint32_t workers = 1;

  // Wall-clock limit of one compile attempt. Too low fails slow drivers; too
  // high lets a hanging one hold a worker. Range 1 s to 1 h.
  std::chrono::seconds job_timeout{60};

  // Data memory of one worker process in MiB (RLIMIT_DATA); 0: no limit.
  uint32_t worker_memory_mb = 4096;

  // What workers give up before they load a driver (worker/sandbox.h): "off";
  // "on", as far as the kernel lets us, and `kiln status` says how far; or
  // "require": a worker that lacks a layer compiles nothing, and its target
  // cannot be opened.
  std::string sandbox = "on";

  // Targets whose first worker starts with the daemon, not with the first
  // session.
  std::vector<std::string> warm_targets;

  // Search roots for the sources of recipes, in order: "NAME=FOLDER", or a
  // folder, which is then named as its last part.
  std::vector<std::string> roots;

  // Serves what is stored and compiles nothing: for installs without sources.
  bool sealed = false;

  // Runs workers under the Khronos validation layer.
  bool validate = false;

  // trace, debug, info, warn, error or off.
  std::string log_level = "info";
};

// Either options, or the exit code to end with (0 after --help or --version).
struct ParsedOptions {
  std::optional<DaemonOptions> options;
  int exit_code = 0;
};

// Parses flags, prints help, version or the error itself.
ParsedOptions ParseOptions(int argc, char** argv);

}  // namespace kiln::daemon
