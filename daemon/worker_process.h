// SPDX-License-Identifier: Apache-2.0
#pragma once

// One kiln-worker child: started by spawn and exec, never by a bare fork
// (KNOWN_FAULTS 29), spoken to over a socketpair, its stderr kept as a tail for
// crash reports. What to run on it is worker_pool.h's business.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace kiln::worker::v1 {
class WorkerCommand;
class WorkerReport;
}  // namespace kiln::worker::v1

namespace kiln::daemon {

struct WorkerSpawnOptions {
  std::string binary;
  std::string target;
  uint32_t memory_mb = 0;  // 0: no limit
  bool validate = false;
  bool no_compiler = false;    // refuses every job
  std::string sandbox = "on";  // "off", "on" or "require": options.h
  // CPU time of one job, all threads together; 0: no limit.
  std::chrono::seconds job_cpu{0};
};

// How a worker ended.
struct WorkerExit {
  // "crashed (signal 11)", "killed by signal 9", "exited with code 1".
  std::string cause;
  // SIGKILL or SIGTERM that the daemon did not send: somebody or the kernel's
  // out-of-memory killer did, so the job is not to blame at once.
  bool killed_from_outside = false;
  // The job used more CPU time than it may: a timeout, as that of the clock.
  bool over_cpu_limit = false;
  // The last of what it wrote to stderr. Valid UTF-8.
  std::string stderr_tail;
};

// Confined to the io thread. Kept alive by its own pending reads until the
// child is gone and `on_exit` has been called, exactly once.
class WorkerProcess {
 public:
  struct Callbacks {
    std::function<void(const worker::v1::WorkerReport&)> on_report;
    std::function<void(const WorkerExit&)> on_exit;
  };

  // Errors: NotFound or PermissionDenied naming the binary.
  static absl::StatusOr<std::shared_ptr<WorkerProcess>> Spawn(
      boost::asio::io_context& io, const WorkerSpawnOptions& options,
      Callbacks callbacks);

  virtual ~WorkerProcess() = default;
  virtual pid_t pid() const = 0;

  // Queues a command. Never blocks; a dead child drops it.
  virtual void Send(const worker::v1::WorkerCommand& command) = 0;

  // SIGKILL; `on_exit` follows.
  virtual void Kill() = 0;
};

}  // namespace kiln::daemon
