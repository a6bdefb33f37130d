// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
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
#include "proto/target.h"

namespace kiln::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Sent at a time, so that the first compiles while the last is being sent.
constexpr size_t kWarmBatch = 256;

struct WarmOptions {
  CommonOptions common;
  std::string program;
  std::string all_of;
  std::vector<std::string> kinds;
  std::string target = std::string(kDefaultTarget);
};

// Counts the completions of one warm-up and shows them as they come.
class WarmReport {
 public:
  WarmReport(Output& output, std::vector<Asked> asked)
      : output_(output), asked_(std::move(asked)) {}

  void Completed(const v1::Completion& completion) {
    if (completion.request_id() >= asked_.size()) {
      return;
    }
    const Asked& asked = asked_[completion.request_id()];
    ++done_;
    if (completion.state() != v1::STATE_READY) {
      ++failed_;
    } else if (completion.origin() == v1::ORIGIN_STORE) {
      ++warm_;
    } else {
      ++compiled_;
    }
    last_ = asked.label;
    // On a terminal the bar stands for what went well.
    if (output_.json() || !line_.visible() ||
        completion.state() != v1::STATE_READY) {
      line_.Clear();
      output_.Result(CompletionJson(asked, completion),
                     CompletionText(asked, completion));
      output_.Details(completion.failure().diagnostics());
    }
  }

  void Show() {
    line_.Show(fmt::format("{} {}", ProgressBar(done_, asked_.size()), last_));
  }

  void PrintSummary() {
    line_.Clear();
    const double seconds =
        std::chrono::duration<double>(Clock::now() - start_).count();
    output_.Result(
        {{"total", asked_.size()},
         {"warm", warm_},
         {"compiled", compiled_},
         {"failed", failed_},
         {"unfinished", asked_.size() - done_},
         {"seconds", seconds}},
        fmt::format("{} variants: {} warm, {} compiled, {} failed{} "
                    "in {:.1f} s",
                    asked_.size(), warm_, compiled_, failed_,
                    done_ < asked_.size()
                        ? fmt::format(", {} unfinished", asked_.size() - done_)
                        : "",
                    seconds));
  }

  size_t failed() const { return failed_; }

 private:
  Output& output_;
  const std::vector<Asked> asked_;  // by request id
  StatusLine line_;
  const Clock::time_point start_ = Clock::now();
  size_t done_ = 0;
  size_t warm_ = 0;
  size_t compiled_ = 0;
  size_t failed_ = 0;
  std::string last_;
};

int WarmAll(Output& output, client::BlockingSession& session,
            const Program& program, const std::vector<VariantKey>& keys) {
  CatchInterrupts();
  std::vector<Asked> asked;
  for (const VariantKey& key : keys) {
    asked.push_back({KeyId(key), session.session().target,
                     KeyLabel(program, key), program.IsLiving()});
  }
  WarmReport report(output, std::move(asked));
  report.Show();
  size_t sent = 0;
  AwaitOptions await;
  await.count = keys.size();
  await.on_completion = [&](const v1::Completion& completion) {
    report.Completed(completion);
  };
  await.on_tick = [&] { report.Show(); };
  await.send_more = [&] {
    const size_t count =
        std::min({keys.size() - sent, kWarmBatch, session.room()});
    const size_t begin = std::exchange(sent, sent + count);
    return session.Send(std::span(keys).subspan(begin, count),
                        {Urgency::kWarmUp});
  };
  const absl::Status status = AwaitCompletions(session, await);
  report.PrintSummary();
  if (status.code() == absl::StatusCode::kAborted) {
    return kInterrupted;
  }
  if (!status.ok()) {
    return CallFailed(output, status);
  }
  return report.failed() == 0 ? kOk : kFailed;
}

int RunWarm(const WarmOptions& options) {
  Output output(options.common.json);
  auto program = LoadProgram(options.program);
  if (!program.ok()) {
    return BadInput(output, program.status());
  }
  auto keys = SelectSubsets(program->program, program->id, options.all_of,
                            options.kinds);
  if (!keys.ok()) {
    return BadInput(output, keys.status());
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
  return WarmAll(output, **session, program->program, *keys);
}

}  // namespace

void AddWarmCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<WarmOptions>();
  CLI::App* command = app.add_subcommand(
      "warm", "Make every variant of a set of features ready");
  AddCommonOptions(*command, options->common);
  command
      ->add_option("PROGRAM", options->program, "Path of a *.program.toml file")
      ->required();
  command
      ->add_option(
          "--all-of", options->all_of,
          "Features by name, joined by commas; every subset of them is "
          "asked for (at most 12)")
      ->required();
  command
      ->add_option("--kind", options->kinds,
                   "Kind to warm; may be repeated (default: every kind)")
      ->allow_extra_args(false);
  command
      ->add_option("--target", options->target,
                   "Device: radv:<family>, lavapipe or gpu:<index>")
      ->capture_default_str();
  command->footer(
      "Shows a progress bar on a terminal and one line per variant elsewhere. "
      "A\n"
      "variant that fails is reported and the others go on. What engines draw "
      "now\n"
      "comes first. Ctrl-C ends it: the daemon drops what it has not begun.\n"
      "Examples:\n"
      "  kiln warm scene.program.toml --all-of Detail,Height,Water\n"
      "  kiln warm scene.program.toml --all-of Detail --kind opaque --kind "
      "depth");
  command->callback([options, &exit_code] { exit_code = RunWarm(*options); });
}

}  // namespace kiln::cli
