// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/cli/await.h"
#include "client/cli/command.h"
#include "client/cli/interrupt.h"
#include "client/cli/output.h"
#include "client/cli/program_session.h"
#include "client/cli/progress.h"
#include "client/cli/selection.h"
#include "client/cli/variant_json.h"
#include "proto/status_macros.h"
#include "proto/target.h"

namespace kiln::cli {
namespace {

struct RequestOptions {
  CommonOptions common;
  std::string program;
  KeyWords words;
  std::string target = std::string(kDefaultTarget);
  bool tuned = false;
  bool wait = false;
  double timeout_s = 0;
};

int PrintCompletion(Output& output, const Asked& asked,
                    const v1::Completion& completion) {
  output.Result(CompletionJson(asked, completion),
                CompletionText(asked, completion));
  output.Details(completion.failure().diagnostics());
  return completion.state() == v1::STATE_READY ? kOk : kFailed;
}

int PrintPending(Output& output, const Asked& asked) {
  output.Result(PendingJson(asked),
                fmt::format("{:<8} {}", "pending", AskedText(asked)));
  return kOk;
}

// With --wait: until it is settled.
int Wait(Output& output, client::BlockingSession& session, const Asked& asked,
         double timeout_s) {
  CatchInterrupts();
  StatusLine line;
  size_t tick = 0;
  v1::Completion result;
  AwaitOptions await;
  await.count = 1;
  await.timeout =
      std::chrono::milliseconds(static_cast<int64_t>(timeout_s * 1000.0));
  await.on_completion = [&](const v1::Completion& completion) {
    result = completion;
  };
  await.on_tick = [&] {
    line.Show(fmt::format("{} {}", SpinnerFrame(tick++), asked.label));
  };
  const absl::Status status = AwaitCompletions(session, await);
  line.Clear();
  if (status.ok()) {
    return PrintCompletion(output, asked, result);
  }
  if (status.code() == absl::StatusCode::kAborted) {
    PrintPending(output, asked);
    return kInterrupted;
  }
  if (status.code() == absl::StatusCode::kOutOfRange) {
    PrintPending(output, asked);
  }
  return CallFailed(output, status);
}

// Without --wait: what is there already, else "pending".
int Ask(Output& output, client::BlockingSession& session, const Asked& asked) {
  auto completed = session.CompletedBeforePong();
  if (!completed.ok()) {
    return CallFailed(output, completed.status());
  }
  return completed->empty()
             ? PrintPending(output, asked)
             : PrintCompletion(output, asked, completed->front());
}

// With --tuned: the override values that were measured to be fastest on the
// session's target, but for those that the command line names.
absl::Status TakeTuning(client::RpcClient& rpc, const client::Session& session,
                        const LoadedProgram& program,
                        const std::vector<std::string>& named,
                        VariantKey& key) {
  absl::StatusOr<Tuning> tuning = rpc.GetTuning(session.target, program.id);
  if (absl::IsNotFound(tuning.status())) {
    return absl::NotFoundError(fmt::format(
        "program {} was not tuned for target {}; `kiln tune` does that",
        program.program.name, session.target_spec));
  }
  KILN_RETURN_IF_ERROR(tuning.status());
  for (const OverrideValue& entry : tuning->overrides) {
    const bool is_named =
        std::ranges::any_of(named, [&](const std::string& text) {
          return text.starts_with(entry.name + "=");
        });
    if (!is_named) {
      key.overrides.push_back(entry);
    }
  }
  KILN_ASSIGN_OR_RETURN(key, NormaliseKey(program.program, std::move(key)));
  return absl::OkStatus();
}

int RunRequest(const RequestOptions& options) {
  Output output(options.common.json);
  auto program = LoadProgram(options.program);
  if (!program.ok()) {
    return BadInput(output, program.status());
  }
  auto key = SelectKey(program->program, program->id, options.words);
  if (!key.ok()) {
    return BadInput(output, key.status());
  }
  if (auto spec = TargetSpec::Parse(options.target); !spec.ok()) {
    return BadInput(output, spec.status());
  }
  auto rpc = ConnectToDaemon(options.common);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  auto session = OpenProgramSession(**rpc, *program, options.target);
  if (!session.ok()) {
    return CallFailed(output, session.status());
  }
  if (options.tuned) {
    if (absl::Status status = TakeTuning(**rpc, (*session)->session(), *program,
                                         options.words.overrides, *key);
        !status.ok()) {
      return CallFailed(output, status);
    }
  }
  const Asked asked = {KeyId(*key), (*session)->session().target,
                       KeyLabel(program->program, *key),
                       program->program.IsLiving()};
  if (absl::Status status = (*session)->Send({&*key, 1}, {.keep = true});
      !status.ok()) {
    return CallFailed(output, status);
  }
  return options.wait ? Wait(output, **session, asked, options.timeout_s)
                      : Ask(output, **session, asked);
}

}  // namespace

void AddRequestCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RequestOptions>();
  CLI::App* command =
      app.add_subcommand("request", "Ask for one variant of a program");
  AddCommonOptions(*command, options->common);
  command
      ->add_option("PROGRAM", options->program, "Path of a *.program.toml file")
      ->required();
  command->add_option("--kind", options->words.kind, "Kind, e.g. opaque")
      ->required();
  command->add_option("--backdrop", options->words.backdrop,
                      "Backdrop (default: the program's first)");
  command->add_option("--blend", options->words.blend,
                      "Blend (default: the program's first)");
  command
      ->add_option("--features", options->words.features,
                   "Feature bits by name, joined by commas; or all, or none")
      ->required();
  command
      ->add_option("--override", options->words.overrides,
                   "NAME=VALUE of a named override constant; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--target", options->target,
                   "Device: radv:<family>, lavapipe or gpu:<index>")
      ->capture_default_str();
  command->add_flag("--tuned", options->tuned,
                    "Take the overrides that `kiln tune` found for the target, "
                    "but for those named by --override");
  command->add_flag("--wait", options->wait,
                    "Wait until it is ready or has failed");
  command
      ->add_option("--timeout", options->timeout_s,
                   "Seconds to wait with --wait; 0: as long as it takes")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  command->footer(
      "Without --wait a variant that is not there yet is reported as pending, "
      "and\n"
      "the daemon goes on compiling it.\n"
      "Examples:\n"
      "  kiln request scene.program.toml --kind opaque --features "
      "Detail,Height --wait\n"
      "  kiln request scene.program.toml --kind blended --blend additive \\\n"
      "      --features none --target radv:navi21 --json\n"
      "  kiln request blur.program.toml --kind compute --features none \\\n"
      "      --target lavapipe --tuned --wait");
  command->callback(
      [options, &exit_code] { exit_code = RunRequest(*options); });
}

}  // namespace kiln::cli
