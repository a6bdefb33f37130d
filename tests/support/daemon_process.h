// SPDX-License-Identifier: Apache-2.0
#pragma once

// A real kilnd in a folder of its own, for tests of whole behaviour.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/demo/child.h"
#include "client/rpc.h"
#include "tests/support/temp_dir.h"

namespace kiln::testing {

struct DaemonProcessOptions {
  std::vector<std::string> arguments;    // beside --socket and --state
  std::vector<std::string> environment;  // "NAME=value"
};

// Thread-compatible. The daemon is killed with the object; its log is shown if
// the test failed.
class DaemonProcess {
 public:
  explicit DaemonProcess(DaemonProcessOptions options = {})
      : options_(std::move(options)) {}

  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;  // owns a process
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  // Starts it and waits until it answers; also again, after it has ended.
  absl::Status Start();

  // Starts it without waiting: for daemons that refuse to run.
  absl::Status Launch();

  // SIGTERM. Returns: the exit code.
  absl::StatusOr<int> Stop();

  // SIGKILL, and waits for the end.
  void Kill();

  // SIGSTOP and SIGCONT.
  void Freeze();
  void Thaw();

  // For a daemon that was launched: its exit code.
  absl::StatusOr<int> Wait();

  pid_t pid() const { return child_->pid(); }

  std::string socket() const { return socket_; }

  void set_socket(std::string socket) { socket_ = std::move(socket); }

  std::filesystem::path folder() const { return folder_.path(); }

  std::filesystem::path state() const { return state_; }

  void set_state(std::filesystem::path state) { state_ = std::move(state); }

  // Everything it has logged.
  std::string Log() const;

  // A new connection to it.
  std::unique_ptr<client::RpcClient> Connect() const;

  // A counter of `kiln status`; fails the test if there is none.
  uint64_t CounterValue(const std::string& name) const;

  // The pids of its workers.
  std::vector<pid_t> Workers() const;

 private:
  DaemonProcessOptions options_;
  TempDir folder_;
  std::string socket_ = (folder_.path() / "s" / "kilnd.sock").string();
  std::filesystem::path state_ = folder_.path() / "state";
  std::unique_ptr<demo::Child> child_;
};

}  // namespace kiln::testing
