// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "kiln/v1/kiln.pb.h"

namespace kiln::cli {
namespace {

using nlohmann::json;

// Sorted, so that two runs can be compared.
std::map<std::string, uint64_t> Counters(const v1::GetStatusResponse& status) {
  return {status.counters().begin(), status.counters().end()};
}

json StatusJson(const v1::GetStatusResponse& status, int search_roots) {
  json object = {{"daemon_version", status.daemon_version()},
                 {"pid", status.pid()},
                 {"uptime_ms", status.uptime_ms()},
                 {"socket", status.socket()},
                 {"state_folder", status.state_folder()},
                 {"draining", status.draining()},
                 {"sealed", status.sealed()},
                 {"search_roots", search_roots},
                 {"stored_artifacts", status.stored_artifacts()},
                 {"stored_bytes", status.stored_bytes()},
                 {"open_sessions", status.open_sessions()},
                 {"jobs_queued", status.jobs_queued()},
                 {"jobs_running", status.jobs_running()},
                 {"counters", Counters(status)}};
  object["workers"] = json::array();
  for (const v1::WorkerStatus& worker : status.workers()) {
    object["workers"].push_back({{"pid", worker.pid()},
                                 {"target", worker.target()},
                                 {"state", worker.state()},
                                 {"job", worker.job()},
                                 {"jobs_done", worker.jobs_done()}});
  }
  return object;
}

std::string StatusText(const v1::GetStatusResponse& status, int search_roots) {
  std::string text = fmt::format(
      "kilnd {}, pid {}, up {:.1f} s{}{}\n"
      "  socket    {}\n"
      "  state     {}\n"
      "  stored    {} artifacts, {:.1f} KB\n"
      "  roots     {}\n"
      "  sessions  {} open\n"
      "  jobs      {} queued, {} running",
      status.daemon_version(), status.pid(),
      static_cast<double>(status.uptime_ms()) / 1000.0,
      status.sealed() ? ", sealed: compiles nothing" : "",
      status.draining() ? ", stopping" : "", status.socket(),
      status.state_folder(), status.stored_artifacts(),
      static_cast<double>(status.stored_bytes()) / 1024.0, search_roots,
      status.open_sessions(), status.jobs_queued(), status.jobs_running());
  for (const v1::WorkerStatus& worker : status.workers()) {
    text += fmt::format("\n  worker    pid {}, {}, {}{}{}, {} done",
                        worker.pid(), worker.target(), worker.state(),
                        worker.job().empty() ? "" : " ", worker.job(),
                        worker.jobs_done());
  }
  for (const auto& [name, value] : Counters(status)) {
    text += fmt::format("\n  counter   {} = {}", name, value);
  }
  return text;
}

int RunStatus(const CommonOptions& options) {
  Output output(options.json);
  auto rpc = ConnectToDaemon(options);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  auto status = (*rpc)->GetStatus();
  if (!status.ok()) {
    return CallFailed(output, status.status());
  }
  auto roots = (*rpc)->ListRoots(/*with_files=*/false);
  if (!roots.ok()) {
    return CallFailed(output, roots.status());
  }
  output.Result(StatusJson(*status, roots->roots_size()),
                StatusText(*status, roots->roots_size()));
  return kOk;
}

}  // namespace

void AddStatusCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command =
      app.add_subcommand("status", "Show the daemon's state and counters");
  AddCommonOptions(*command, *options);
  command->footer(
      "Examples:\n"
      "  kiln status\n"
      "  kiln status --json | jq .counters");
  command->callback([options, &exit_code] { exit_code = RunStatus(*options); });
}

}  // namespace kiln::cli
