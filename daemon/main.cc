// SPDX-License-Identifier: Apache-2.0

// kilnd: flags, log, exit code. What it does is in daemon.h.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <exception>
#include <iostream>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "daemon/daemon.h"
#include "daemon/exit_codes.h"
#include "daemon/options.h"

namespace kiln::daemon {
namespace {

// One line an event on stderr: time, level, what happened, then key=value.
void StartLog(const std::string& level) {
  auto logger = spdlog::stderr_color_mt("kilnd");
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v",
                      spdlog::pattern_time_type::utc);
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

// A reader of our log that goes away must not take us with it, and no file of
// ours may land on a descriptor that something else will write text to.
void GuardStandardStreams() {
  signal(SIGPIPE, SIG_IGN);
  int fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) {
    fd = open("/dev/null", O_RDWR);
  }
  close(fd);
}

int Main(int argc, char** argv) {
  GuardStandardStreams();
  const ParsedOptions parsed = ParseOptions(argc, argv);
  if (!parsed.options) {
    return parsed.exit_code;
  }
  StartLog(parsed.options->log_level);
  const absl::Status status = RunDaemon(*parsed.options);
  if (status.ok()) {
    return kExitOk;
  }
  std::cerr << "kilnd: " << status.message() << '\n';
  switch (status.code()) {
    case absl::StatusCode::kAlreadyExists:
      return kExitAlreadyRunning;
    case absl::StatusCode::kInvalidArgument:
      return kExitUsage;
    default:
      return kExitFailed;
  }
}

}  // namespace
}  // namespace kiln::daemon

int main(int argc, char** argv) {
  try {  // libraries throw what we do not
    return kiln::daemon::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "kilnd: " << error.what() << '\n';
    return kiln::daemon::kExitFailed;
  }
}
