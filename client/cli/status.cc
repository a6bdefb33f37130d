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

json SandboxJson(const v1::WorkerStatus& worker) {
  json layers = json::array();
  for (const v1::SandboxLayer& layer : worker.sandbox()) {
    layers.push_back({{"name", layer.name()},
                      {"holds", layer.holds()},
                      {"detail", layer.detail()}});
  }
  return layers;
}

// One line a layer of the worker above it.
std::string SandboxLines(const v1::WorkerStatus& worker) {
  std::string text;
  for (const v1::SandboxLayer& layer : worker.sandbox()) {
    text += fmt::format("\n    sandbox {:<13} {}{}", layer.name(),
                        layer.holds() ? "" : "LACKING: ", layer.detail());
  }
  return text;
}

json QueueJson(const v1::GetStatusResponse& status) {
  const v1::QueueStatus& queue = status.queue();
  return {{"on_screen", queue.on_screen()},
          {"warm_up", queue.warm_up()},
          {"speculative", queue.speculative()},
          {"background_running", queue.background_running()},
          {"background_limit", queue.background_limit()},
          {"workers", queue.workers()},
          {"clients",
           {{"playing", queue.playing()},
            {"loading", queue.loading()},
            {"idle", queue.idle()}}}};
}

// Null where the kernel does not say.
json PressureJson(const v1::PressureStatus& pressure) {
  json object = {{"cpu", nullptr}, {"memory", nullptr}, {"io", nullptr}};
  if (pressure.has_cpu()) {
    object["cpu"] = pressure.cpu();
  }
  if (pressure.has_memory()) {
    object["memory"] = pressure.memory();
  }
  if (pressure.has_io()) {
    object["io"] = pressure.io();
  }
  object["background"] = pressure.background();
  return object;
}

std::string QueueText(const v1::GetStatusResponse& status) {
  const v1::QueueStatus& queue = status.queue();
  return fmt::format(
      "\n  queue     {} on screen, {} warm-up, {} speculative"
      "\n  clients   {} playing, {} loading, {} idle"
      "\n  workers   {} at a time, background {} of at most {}",
      queue.on_screen(), queue.warm_up(), queue.speculative(), queue.playing(),
      queue.loading(), queue.idle(), queue.workers(),
      queue.background_running(), queue.background_limit());
}

std::string PressureText(const v1::PressureStatus& pressure) {
  auto shown = [](bool known, double value) {
    return known ? fmt::format("{:.1f} %", value) : std::string("unknown");
  };
  return fmt::format(
      "\n  pressure  cpu {}, memory {}, io {}{}{}",
      shown(pressure.has_cpu(), pressure.cpu()),
      shown(pressure.has_memory(), pressure.memory()),
      shown(pressure.has_io(), pressure.io()),
      pressure.background().empty() ? "" : ": background is compiled ",
      pressure.background() == "held" ? "not at all" : pressure.background());
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
  object["queue"] = QueueJson(status);
  object["pressure"] = PressureJson(status.pressure());
  object["workers"] = json::array();
  for (const v1::WorkerStatus& worker : status.workers()) {
    object["workers"].push_back({{"pid", worker.pid()},
                                 {"target", worker.target()},
                                 {"state", worker.state()},
                                 {"job", worker.job()},
                                 {"jobs_done", worker.jobs_done()},
                                 {"sandbox", SandboxJson(worker)}});
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
  text += QueueText(status) + PressureText(status.pressure());
  for (const v1::WorkerStatus& worker : status.workers()) {
    text += fmt::format("\n  worker    pid {}, {}, {}{}{}, {} done",
                        worker.pid(), worker.target(), worker.state(),
                        worker.job().empty() ? "" : " ", worker.job(),
                        worker.jobs_done());
    text += SandboxLines(worker);
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
