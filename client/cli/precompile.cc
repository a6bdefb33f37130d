// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/interrupt.h"
#include "client/cli/output.h"
#include "client/cli/precompile_plan.h"
#include "client/cli/precompile_run.h"
#include "client/cli/root_argument.h"
#include "client/cli/root_walk.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/status_macros.h"
#include "proto/target.h"
#include "proto/text.h"

namespace kiln::cli {
namespace {

struct PrecompileOptions {
  CommonOptions common;
  std::vector<std::string> roots;
  bool all = false;
  std::string target = std::string(kDefaultTarget);
  PrecompileSettings settings;
};

// Which of the daemon's roots are covered.
struct Selection {
  std::vector<PlannedRoot> roots;    // all that are not missing, in order
  std::vector<std::string> wanted;   // names of those that are
  std::vector<std::string> missing;  // wanted, but not there
};

// The name of the root that `text`, of --roots, means: a name, or a folder,
// which becomes a root if it is none yet.
absl::StatusOr<std::string> NameOfRoot(client::RpcClient& rpc,
                                       const std::string& text) {
  KILN_ASSIGN_OR_RETURN(const auto listed, rpc.ListRoots(false));
  std::vector<std::string> names;
  for (const v1::SearchRoot& root : listed.roots()) {
    if (root.name() == text) {
      return text;
    }
    names.push_back(root.name());
  }
  KILN_ASSIGN_OR_RETURN(const RootArgument argument, ParseRootArgument(text));
  for (const v1::SearchRoot& root : listed.roots()) {
    if (IsSameFolder(root.folder(), argument.folder)) {
      return root.name();
    }
  }
  const absl::Status folder = CheckFolder(argument.folder);
  if (folder.code() == absl::StatusCode::kPermissionDenied ||
      folder.code() == absl::StatusCode::kUnavailable) {
    return absl::InvalidArgumentError(folder.message());
  }
  if (!folder.ok()) {
    return absl::InvalidArgumentError(fmt::format(
        "'{}' is no folder and no search root; there are {}",
        Shorten(text, 200),
        names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  KILN_RETURN_IF_ERROR(
      rpc.AddRoot(argument.name, argument.folder, "").status());
  return argument.name;
}

absl::StatusOr<Selection> SelectRoots(const PrecompileOptions& options,
                                      client::RpcClient& rpc) {
  std::vector<std::string> named;
  for (const std::string& text : options.roots) {
    KILN_ASSIGN_OR_RETURN(named.emplace_back(), NameOfRoot(rpc, text));
  }
  KILN_ASSIGN_OR_RETURN(const auto listed, rpc.ListRoots(false));
  if (listed.roots().empty()) {
    return absl::NotFoundError(
        "kilnd has no search roots; `kiln roots add FOLDER` adds one");
  }
  Selection selection;
  for (const v1::SearchRoot& root : listed.roots()) {
    const bool wanted =
        named.empty() ? options.all || !root.precompiled()
                      : std::ranges::find(named, root.name()) != named.end();
    // One that cannot be read is not there for kilnd, but not missing either.
    const bool missing =
        !root.exists() && absl::IsNotFound(CheckFolder(root.folder()));
    if (!missing) {
      selection.roots.push_back({root.name(), root.folder(), wanted});
    }
    if (wanted) {
      (missing ? selection.missing : selection.wanted).push_back(root.name());
    }
  }
  return selection;
}

// So that a sealed daemon says so once, not for every shader.
absl::Status CheckNotSealed(client::RpcClient& rpc) {
  KILN_ASSIGN_OR_RETURN(const auto status, rpc.GetStatus());
  return status.sealed() ? absl::FailedPreconditionError(
                               "kilnd is sealed: it compiles nothing")
                         : absl::OkStatus();
}

// The roots that the run was about, by whether something in them failed.
struct Coverage {
  std::vector<std::string> covered;
  std::vector<std::string> uncovered;
};

Coverage CoverageOf(const Selection& selection, const PrecompileRun& run) {
  std::set<std::string> failed;
  for (const std::string& path : run.failed_paths()) {
    failed.insert(path.substr(1, path.find('/', 1) - 1));  // "/root/..."
  }
  Coverage coverage;
  for (const std::string& name : selection.wanted) {
    (failed.contains(name) ? coverage.uncovered : coverage.covered)
        .push_back(name);
  }
  return coverage;
}

// So that a later run without --roots tries again what failed.
absl::Status Mark(client::RpcClient& rpc, const Coverage& coverage) {
  if (!coverage.uncovered.empty()) {
    KILN_RETURN_IF_ERROR(rpc.MarkRoots(coverage.uncovered, false));
  }
  return coverage.covered.empty() ? absl::OkStatus()
                                  : rpc.MarkRoots(coverage.covered, true);
}

int Precompile(const PrecompileOptions& options, Output& output,
               client::RpcClient& rpc, const Selection& selection) {
  auto session = client::BlockingSession::Open(rpc, options.target);
  if (!session.ok()) {
    return CallFailed(output, session.status());
  }
  CatchInterrupts();
  PrecompileRun run(output, rpc, **session, PlanPrecompile(selection.roots),
                    options.settings);
  absl::Status status = run.Run();
  Coverage coverage = CoverageOf(selection, run);
  if (status.ok()) {
    status = Mark(rpc, coverage);
  } else if (absl::IsAborted(status)) {
    coverage.covered.clear();
    Mark(rpc, coverage).IgnoreError();
  }
  run.PrintSummary(fmt::format("{}", fmt::join(selection.wanted, ", ")),
                   {{"roots", selection.wanted},
                    {"missing", selection.missing},
                    {"uncovered", coverage.uncovered},
                    {"marked", status.ok() && coverage.uncovered.empty()}});
  if (!coverage.uncovered.empty()) {
    output.Details(fmt::format("not covered: {}; the next run tries again",
                               fmt::join(coverage.uncovered, ", ")));
  }
  if (status.code() == absl::StatusCode::kAborted) {
    return kInterrupted;
  }
  if (!status.ok()) {
    return CallFailed(output, status);
  }
  return run.failed() == 0 ? kOk : kFailed;
}

int RunPrecompile(const PrecompileOptions& options) {
  Output output(options.common.json);
  if (auto spec = TargetSpec::Parse(options.target); !spec.ok()) {
    return BadInput(output, spec.status());
  }
  auto rpc = ConnectToDaemon(options.common);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  if (absl::Status status = CheckNotSealed(**rpc); !status.ok()) {
    return CallFailed(output, status);
  }
  const auto selection = SelectRoots(options, **rpc);
  if (!selection.ok()) {
    return CallFailed(output, selection.status());
  }
  for (const std::string& name : selection->missing) {
    output.Details(fmt::format("root {} is missing; it is passed over", name));
  }
  if (selection->wanted.empty()) {
    output.Result({{"roots", nlohmann::json::array()},
                   {"missing", selection->missing},
                   {"total", 0}},
                  selection->missing.empty()
                      ? "every search root was precompiled before; --all does "
                        "it again"
                      : "nothing to compile");
    return kOk;
  }
  return Precompile(options, output, **rpc, *selection);
}

}  // namespace

void AddPrecompileCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PrecompileOptions>();
  CLI::App* command = app.add_subcommand(
      "precompile", "Compile every shader of the search roots");
  AddCommonOptions(*command, options->common);
  CLI::Option* roots = command->add_option(
      "--roots", options->roots,
      "Roots by name or folder; a folder that is no root becomes one "
      "(default: every root that was not precompiled before)");
  command
      ->add_flag("--all", options->all,
                 "Every root, also those that were precompiled before")
      ->excludes(roots);
  command
      ->add_option("--target", options->target,
                   "Device: radv:<family>, lavapipe or gpu:<index>")
      ->capture_default_str();
  command
      ->add_option("--jobs", options->settings.jobs,
                   "Shaders asked for at a time (default: as many as kilnd "
                   "takes; its --workers says how many compile)")
      ->check(CLI::Range(1, 10000));
  command->add_flag("--whole", options->settings.whole,
                    "Also every program's whole shader: each kind, backdrop "
                    "and blend");
  command->footer(
      "Takes each *.program.toml, and each x.vert, x.frag and x.comp (also "
      "with .glsl,\n"
      ".hlsl or .spv behind it) that is no stage of such a program; hidden "
      "files are\n"
      "passed over, and so are symbolic links out of their root and absolute "
      "ones.\n"
      "Files that an earlier root hides are compiled too. What has not changed "
      "is up to\n"
      "date and costs no compile. Shows a progress bar on a terminal, and at "
      "the end\n"
      "what failed and why; a folder that cannot be read is a failure. A root "
      "of which\n"
      "nothing failed then counts as precompiled; any other is tried again by "
      "the next\n"
      "run. Ctrl-C ends it: kilnd drops what it has not begun. What engines "
      "draw "
      "now\n"
      "comes first.\n"
      "Exits with 1 if something failed.\n"
      "Examples:\n"
      "  kiln precompile\n"
      "  kiln precompile --roots engine ~/game/shaders --whole\n"
      "  kiln precompile --all --json | jq -r 'select(.state == \"failed\") | "
      ".shader'");
  command->callback(
      [options, &exit_code] { exit_code = RunPrecompile(*options); });
}

}  // namespace kiln::cli
