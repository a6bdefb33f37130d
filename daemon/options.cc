// SPDX-License-Identifier: Apache-2.0
#include "daemon/options.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <thread>

#include <CLI/CLI.hpp>

#include "daemon/exit_codes.h"
#include "daemon/version.h"
#include "proto/socket_path.h"
#include "proto/target.h"

namespace kiln::daemon {
namespace {

constexpr const char* kDescription =
    R"(kilnd compiles shader variants for the engines of this machine, once each,
keeps them, and tells every client when one is ready.

Run it as the user whose engines use it; one per state folder. It stops on
SIGTERM or Ctrl-C within 5 seconds and loses nothing it has announced.)";

constexpr const char* kFooter =
    R"(Every flag can stand in the --config file under the same name:
  workers = 4
  warm-target = ["radv:vangogh", "gpu:0"]
  root = ["engine=/opt/engine/shaders", "project=/home/me/game/shaders"]

Search roots: sources of programs that say `rooted = true` are found there, in
order. kilnd watches the folders and recompiles what a save changes for every
client that uses it. More can be added while it runs: kiln roots add.
A sealed kilnd never opens a source or starts a compiler; what is not stored is
a miss that says so.

Workers give up network, files, processes and privileges before they load a
driver. What the kernel or a container does not let them give up is named in the
log and by kiln status. With --sandbox=require such a worker is refused.

Exit codes: 0 stopped on request, 1 failed while starting or running, 2 bad
flags or settings, 3 another kilnd holds the state folder or the socket.

Examples:
  kilnd
  kilnd --socket /tmp/k/kilnd.sock --state /tmp/k/state --workers 2
  kiln status --socket /tmp/k/kilnd.sock)";

std::string DefaultWorker() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "kiln-worker").string();
}

}  // namespace

ParsedOptions ParseOptions(int argc, char** argv) {
  DaemonOptions options;
  options.socket = DefaultSocketPath();
  options.state = DefaultStateFolder();
  options.worker = DefaultWorker();
  options.workers = std::max(1u, std::thread::hardware_concurrency());
  int64_t job_timeout_s = options.job_timeout.count();

  CLI::App app(kDescription, "kilnd");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string(kVersion));
  app.set_config("--config", "", "TOML file with the same names as these flags")
      ->check(CLI::ExistingFile);
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.add_option("--socket", options.socket, "Unix socket to serve on")
      ->capture_default_str();
  app.add_option("--state", options.state, "folder for the database and lock")
      ->capture_default_str();
  app.add_option("--worker", options.worker, "path of kiln-worker")
      ->capture_default_str();
  app.add_option("--workers", options.workers, "compiles at a time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--job-timeout", job_timeout_s, "seconds one compile may take")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option("--worker-memory", options.worker_memory_mb,
                 "MiB a worker may use; 0: no limit")
      ->capture_default_str();
  app.add_option("--sandbox", options.sandbox,
                 "confine workers: as far as the kernel lets us (on), all or "
                 "nothing (require), or off")
      ->check(CLI::IsMember({"on", "off", "require"}))
      ->capture_default_str();
  app.add_option("--warm-target", options.warm_targets,
                 "open this target at start (may be repeated)");
  app.add_option("--root", options.roots,
                 "search root for shader sources, NAME=FOLDER or FOLDER; the "
                 "first wins (may be repeated)");
  app.add_flag("--sealed", options.sealed,
               "serve what is stored: no sources, no compiler");
  app.add_flag("--validate", options.validate,
               "run workers under the Khronos validation layer");
  app.add_option("--log-level", options.log_level, "how much to log")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  try {  // CLI11 reports by exception only
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return {std::nullopt, code == 0 ? kExitOk : kExitUsage};
  }
  for (const std::string& target : options.warm_targets) {
    if (const auto spec = TargetSpec::Parse(target); !spec.ok()) {
      std::cerr << "kilnd: --warm-target: " << spec.status().message() << '\n';
      return {std::nullopt, kExitUsage};
    }
  }
  if (options.sandbox == "require" && options.worker_memory_mb == 0) {
    std::cerr
        << "kilnd: --sandbox=require and --worker-memory=0 exclude each other: "
           "a limit of memory is part of the sandbox\n";
    return {std::nullopt, kExitUsage};
  }
  if (options.sealed && !options.roots.empty()) {
    std::cerr
        << "kilnd: --sealed and --root exclude each other: a sealed kilnd "
           "has no sources\n";
    return {std::nullopt, kExitUsage};
  }
  options.job_timeout = std::chrono::seconds(job_timeout_s);
  return {options, kExitOk};
}

}  // namespace kiln::daemon
