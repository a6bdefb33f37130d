// SPDX-License-Identifier: Apache-2.0
#include "client/demo/cast.h"

#include <signal.h>

#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "client/rpc.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/status_macros.h"

namespace kiln::demo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kEngineDeadline{180};
constexpr seconds kDaemonDeadline{20};

absl::StatusOr<v1::GetStatusResponse> AskDaemon(const std::string& socket) {
  KILN_ASSIGN_OR_RETURN(auto rpc,
                        client::RpcClient::Create(
                            {.socket = socket, .client_name = "kiln-demo"}));
  return rpc->GetStatus();
}

// Of all threads, from what the scheduler counts: running, then waiting to.
std::chrono::nanoseconds BusyTime(uint32_t pid) {
  std::chrono::nanoseconds total{0};
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(
           fmt::format("/proc/{}/task", pid), error)) {
    int64_t running = 0;
    int64_t waiting = 0;
    std::ifstream(thread.path() / "schedstat") >> running >> waiting;
    total += std::chrono::nanoseconds(running + waiting);
  }
  return total;
}

}  // namespace

Cast::Cast(const DemonstrationOptions& options)
    : options_(options),
      socket_((options.folder / "kilnd.sock").string()),
      scene_(options.folder / "scene") {}

absl::Status Cast::CopyScene() const {
  std::error_code error;
  std::filesystem::copy(
      std::filesystem::absolute(options_.program).parent_path(), scene_,
      std::filesystem::copy_options::recursive, error);
  return error ? absl::NotFoundError(
                     fmt::format("cannot copy the folder of '{}': {}",
                                 options_.program.string(), error.message()))
               : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Child>> Cast::StartDaemon() const {
  const ChildOptions daemon{
      {"--socket", socket_, "--state", (options_.folder / "state").string(),
       "--warm-target", options_.target, "--root",
       fmt::format("scene={}", scene_.string())},
      {},
      (options_.folder / "kilnd.log").string()};
  KILN_ASSIGN_OR_RETURN(
      auto child, Child::Start((options_.binaries / "kilnd").string(), daemon));
  const auto deadline = std::chrono::steady_clock::now() + kDaemonDeadline;
  while (true) {
    const absl::Status status = AskDaemon(socket_).status();
    if (status.ok()) {
      return child;
    }
    if (std::chrono::steady_clock::now() > deadline) {
      return status;
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
}

absl::Status Cast::StopDaemon(Child& daemon) const {
  daemon.Signal(SIGTERM);
  KILN_ASSIGN_OR_RETURN(const int code, daemon.Wait(kDaemonDeadline));
  if (code != 0) {
    return absl::InternalError(
        fmt::format("kilnd ended with {}; its log is {}", code,
                    (options_.folder / "kilnd.log").string()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Child>> Cast::StartEngine(
    const std::string& role, const std::vector<std::string>& arguments) const {
  ChildOptions engine{
      {"--role", role, "--socket", socket_, "--target", options_.target,
       "--program", (scene_ / options_.program.filename()).string()},
      {},
      (options_.folder / (role + ".log")).string()};
  engine.arguments.insert(engine.arguments.end(), arguments.begin(),
                          arguments.end());
  return Child::Start((options_.binaries / "kiln-demo-engine").string(),
                      engine);
}

absl::Status Cast::AwaitEnd(const std::string& role, Child& engine) const {
  KILN_ASSIGN_OR_RETURN(const int code, engine.Wait(kEngineDeadline));
  // The pipe may hold lines that were written just before the end.
  engine.WaitForLine(
      [](const std::string& line) {
        return line.find("\"done\"") != line.npos;
      },
      seconds(2));
  if (code != 0) {
    return absl::InternalError(fmt::format("{} ended with {}; its log is in {}",
                                           role, code,
                                           options_.folder.string()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, uint64_t>> Cast::Counters() const {
  KILN_ASSIGN_OR_RETURN(const v1::GetStatusResponse status, AskDaemon(socket_));
  return std::map<std::string, uint64_t>(status.counters().begin(),
                                         status.counters().end());
}

absl::StatusOr<std::map<uint32_t, std::chrono::nanoseconds>> Cast::WorkerTimes()
    const {
  KILN_ASSIGN_OR_RETURN(const v1::GetStatusResponse status, AskDaemon(socket_));
  std::map<uint32_t, std::chrono::nanoseconds> times;
  for (const v1::WorkerStatus& worker : status.workers()) {
    times[worker.pid()] = BusyTime(worker.pid());
  }
  return times;
}

}  // namespace kiln::demo
