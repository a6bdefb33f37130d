// SPDX-License-Identifier: Apache-2.0

// `kiln quarantine`: what kilnd does not compile again, and letting it.

#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "client/cli/command.h"
#include "client/cli/output.h"
#include "kiln/v1/kiln.pb.h"

namespace kiln::cli {
namespace {

using nlohmann::json;

struct QuarantineOptions {
  CommonOptions common;
  bool crashed = false;
  std::string key;
  bool all = false;
};

std::string TimeText(uint64_t unix_ms) {
  return fmt::format("{:%F %T}Z",
                     fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)));
}

void PrintFailure(Output& output, const v1::FailedVariant& failure) {
  const std::string key = absl::BytesToHexString(failure.key_id());
  const std::string target = absl::BytesToHexString(failure.target());
  const std::string cause = failure.crashed() ? "crashed" : "refused";
  output.Result(
      {{"key_id", key},
       {"target", target},
       {"device", failure.device_name()},
       {"program", absl::BytesToHexString(failure.program_id())},
       {"label", failure.label()},
       {"cause", cause},
       {"code", absl::StatusCodeToString(
                    static_cast<absl::StatusCode>(failure.code()))},
       {"error", failure.message()},
       {"diagnostics", failure.diagnostics()},
       {"time", TimeText(failure.unix_ms())}},
      fmt::format("{} on {} {}: {}: {}", key.substr(0, 12),
                  failure.device_name().empty() ? target.substr(0, 12)
                                                : failure.device_name(),
                  failure.label(), cause, failure.message()));
}

int RunQuarantineList(const QuarantineOptions& options) {
  Output output(options.common.json);
  auto rpc = ConnectToDaemon(options.common);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  std::string page_token;
  do {
    const auto page = (*rpc)->ListFailures(page_token);
    if (!page.ok()) {
      return CallFailed(output, page.status());
    }
    for (const v1::FailedVariant& failure : page->failures()) {
      if (failure.crashed() || !options.crashed) {
        PrintFailure(output, failure);
      }
    }
    page_token = page->next_page_token();
  } while (!page_token.empty());
  return kOk;
}

int RunQuarantineLift(const QuarantineOptions& options) {
  Output output(options.common.json);
  if (options.key.empty() != options.all) {
    return BadInput(output, absl::InvalidArgumentError(
                                "give a KEY or --all, and not both"));
  }
  auto rpc = ConnectToDaemon(options.common);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  const auto lifted = (*rpc)->LiftFailures(options.key);
  if (!lifted.ok()) {
    return CallFailed(output, lifted.status());
  }
  output.Result({{"lifted", *lifted}},
                fmt::format("{} lifted; who asks next has {} compiled again",
                            *lifted, *lifted == 1 ? "it" : "them"));
  return kOk;
}

}  // namespace

void AddQuarantineCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<QuarantineOptions>();
  CLI::App* command = app.add_subcommand(
      "quarantine", "Show and lift what kilnd does not compile again");
  command->require_subcommand(1);
  command->footer(
      "A key that was refused, or that took two workers down, fails at once "
      "for all\n"
      "who ask, also after a restart, until a source, the driver or the "
      "compiler\n"
      "changes, or until it is lifted.\n"
      "Examples:\n"
      "  kiln quarantine list --crashed\n"
      "  kiln quarantine lift 3f2a");
  CLI::App* list = command->add_subcommand("list", "List them, by target");
  AddCommonOptions(*list, options->common);
  list->add_flag("--crashed", options->crashed,
                 "Only those that took workers down");
  list->footer(
      "Examples:\n"
      "  kiln quarantine list --json | jq -r '.label + \": \" + .error'");
  list->callback(
      [options, &exit_code] { exit_code = RunQuarantineList(*options); });
  CLI::App* lift =
      command->add_subcommand("lift", "Let keys be compiled once more");
  AddCommonOptions(*lift, options->common);
  lift->add_option("KEY", options->key,
                   "The first 4 or more digits of a key; all that start so");
  lift->add_flag("--all", options->all, "Every key");
  lift->footer(
      "Examples:\n"
      "  kiln quarantine lift 3f2a\n"
      "  kiln quarantine lift --all");
  lift->callback(
      [options, &exit_code] { exit_code = RunQuarantineLift(*options); });
}

}  // namespace kiln::cli
