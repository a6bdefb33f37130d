// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/interrupt.h"
#include "client/cli/output.h"
#include "client/cli/program_session.h"
#include "client/cli/report_data.h"
#include "client/cli/report_html.h"
#include "client/cli/report_table.h"
#include "client/cli/selection.h"
#include "client/cli/variant_compiler.h"
#include "client/cli/variant_json.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/manifest.h"
#include "proto/status_macros.h"
#include "proto/target.h"
#include "proto/text.h"

namespace kiln::cli {
namespace {

using nlohmann::json;

struct ReportOptions {
  CommonOptions common;
  std::string program;
  std::vector<std::string> targets;
  std::string manifest;
  std::vector<std::string> features;
  std::vector<std::string> kinds;
  bool each_bit = false;
  std::string html;

  // Otherwise what the daemon has stored is shown.
  bool names_variants() const {
    return !manifest.empty() || !features.empty() || each_bit;
  }
};

bool WantsKind(const ReportOptions& options, const std::string& kind) {
  return options.kinds.empty() ||
         std::ranges::find(options.kinds, kind) != options.kinds.end();
}

// Everything but what is stored, in the order of the options.
// Errors: InvalidArgument or NotFound naming what is wrong.
absl::StatusOr<std::vector<VariantKey>> SelectKeys(
    const ReportOptions& options, const LoadedProgram& loaded) {
  const Program& program = loaded.program;
  std::vector<std::string> kinds = options.kinds;
  if (kinds.empty()) {
    for (const Kind& kind : program.kinds) {
      kinds.push_back(kind.value.name);
    }
  }
  std::vector<std::string> sets = {"all", "none"};
  sets.insert(sets.end(), options.features.begin(), options.features.end());
  if (options.each_bit) {
    for (const FeatureBit& feature : program.features) {
      sets.push_back(feature.name);
    }
  }
  std::vector<VariantKey> keys;
  for (const std::string& kind : kinds) {
    for (const std::string& set : sets) {
      KILN_ASSIGN_OR_RETURN(VariantKey key, SelectKey(program, loaded.id,
                                                      {kind, "", "", set, {}}));
      keys.push_back(std::move(key));
    }
  }
  if (!options.manifest.empty()) {
    KILN_ASSIGN_OR_RETURN(
        const Manifest manifest,
        LoadManifestFile(program, loaded.id, options.manifest));
    for (const VariantKey& key : manifest.keys) {
      if (WantsKind(options, key.kind)) {
        keys.push_back(key);
      }
    }
  }
  return keys;
}

// Those given, else those that the daemon has open, else the default one.
absl::StatusOr<std::vector<std::string>> SelectTargets(
    const ReportOptions& options, client::RpcClient& rpc) {
  std::vector<std::string> targets = options.targets;
  if (targets.empty()) {
    KILN_ASSIGN_OR_RETURN(const auto status, rpc.GetStatus());
    for (const v1::WorkerStatus& worker : status.workers()) {
      targets.push_back(worker.target());
    }
    std::ranges::sort(targets);
  }
  std::vector<std::string> unique;
  for (std::string& target : targets) {
    if (std::ranges::find(unique, target) == unique.end()) {
      unique.push_back(std::move(target));
    }
  }
  if (unique.empty()) {
    unique.emplace_back(kDefaultTarget);
  }
  return unique;
}

json RowJson(const ReportRow& row, const TargetReport& report) {
  json object = {{"target_spec", report.target}, {"device", report.device},
                 {"driver", report.driver},      {"whole", row.whole},
                 {"marks", row.Marks()},         {"ratio", json::object()}};
  for (const Figure figure : kFigures) {
    if (const auto ratio = row.Ratio(figure)) {
      object["ratio"][std::string(FigureName(figure))] = *ratio;
    }
  }
  return object;
}

json SummaryJson(const TargetReport& report) {
  json object = {{"target_spec", report.target}, {"kinds", json::object()}};
  for (const ReportTable& table : report.tables) {
    object["kinds"][table.kind] = {{"variants", table.Variants()},
                                   {"marked", table.Marked()}};
  }
  return object;
}

// One run of the command. Confined to one thread.
class ReportRun {
 public:
  ReportRun(const ReportOptions& options, Output& output,
            const LoadedProgram& loaded, std::vector<VariantKey> keys)
      : options_(options),
        output_(output),
        loaded_(loaded),
        keys_(std::move(keys)),
        report_{loaded.program.name, {}} {}

  // Compiles and prints the tables of one target.
  // Errors: as OpenProgramSession and AwaitCompletions.
  absl::Status Measure(client::RpcClient& rpc, const std::string& target) {
    KILN_ASSIGN_OR_RETURN(auto session,
                          OpenProgramSession(rpc, loaded_, target));
    const client::Session& opened = session->session();
    std::vector<VariantKey> keys = keys_;
    if (!options_.names_variants()) {
      KILN_ASSIGN_OR_RETURN(const std::vector<VariantKey> stored,
                            StoredKeys(rpc, *session, loaded_));
      std::ranges::copy_if(
          stored, std::back_inserter(keys),
          [&](const VariantKey& key) { return WantsKind(options_, key.kind); });
    }
    keys = WithWholeShaders(loaded_.program, std::move(keys));
    VariantCompiler compiler(*session, loaded_.program);
    KILN_ASSIGN_OR_RETURN(const auto completions, compiler.Compile(keys));
    report_.targets.push_back(MakeTargetReport(
        loaded_.program, target, opened.identity, keys, completions));
    Print(opened.target, keys, completions);
    return absl::OkStatus();
  }

  const Report& report() const { return report_; }

  bool failed() const { return failed_; }

 private:
  void Print(const Digest& target, const std::vector<VariantKey>& keys,
             const std::vector<v1::Completion>& completions) {
    const TargetReport& report = report_.targets.back();
    size_t i = 0;
    for (const ReportTable& table : report.tables) {
      for (const ReportRow& row : table.rows) {
        if (output_.json()) {
          json object = CompletionJson(
              {KeyId(keys[i]), target, KeyLabel(loaded_.program, keys[i]),
               loaded_.program.IsLiving()},
              completions[i]);
          object.update(RowJson(row, report));
          output_.Result(object, "");
        }
        failed_ |= !row.failure.empty();
        output_.Details(completions[i].failure().diagnostics());
        ++i;
      }
    }
    output_.Result(SummaryJson(report), TargetReportText(report));
  }

  const ReportOptions& options_;
  Output& output_;
  const LoadedProgram& loaded_;
  const std::vector<VariantKey> keys_;
  Report report_;
  bool failed_ = false;
};

// Requires: checked input.
int MeasureAll(const ReportOptions& options, Output& output, ReportRun& run) {
  auto rpc = ConnectToDaemon(options.common);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  auto targets = SelectTargets(options, **rpc);
  if (!targets.ok()) {
    return CallFailed(output, targets.status());
  }
  int exit_code = kOk;
  for (const std::string& target : *targets) {
    const absl::Status status = run.Measure(**rpc, target);
    if (status.code() == absl::StatusCode::kAborted) {
      return kInterrupted;
    }
    if (!status.ok()) {  // the other targets may still be there
      exit_code = std::max(exit_code, CallFailed(output, status));
    }
  }
  if (!options.html.empty()) {
    const absl::Status status =
        WriteWholeFile(options.html, ReportPage(run.report()));
    if (!status.ok()) {
      return BadInput(output, status);
    }
  }
  return run.failed() ? std::max<int>(exit_code, kFailed) : exit_code;
}

// Found out before minutes of compiling. Empty: no page is wanted.
absl::Status CheckPagePath(const std::string& file) {
  std::error_code error;
  const auto folder = std::filesystem::path(file).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
    return absl::NotFoundError(fmt::format("--html: '{}' is not a folder",
                                           ToValidUtf8(folder.string())));
  }
  return absl::OkStatus();
}

int RunReport(const ReportOptions& options) {
  Output output(options.common.json);
  auto program = LoadProgram(options.program);
  if (!program.ok()) {
    return BadInput(output, program.status());
  }
  auto keys = SelectKeys(options, *program);
  if (!keys.ok()) {
    return BadInput(output, keys.status());
  }
  for (const std::string& target : options.targets) {
    if (auto spec = TargetSpec::Parse(target); !spec.ok()) {
      return BadInput(output, spec.status());
    }
  }
  if (absl::Status status = CheckPagePath(options.html); !status.ok()) {
    return BadInput(output, status);
  }
  CatchInterrupts();
  ReportRun run(options, output, *program, *std::move(keys));
  return MeasureAll(options, output, run);
}

void AddReportOptions(CLI::App& command, ReportOptions& options) {
  AddCommonOptions(command, options.common);
  command
      .add_option("PROGRAM", options.program, "Path of a *.program.toml file")
      ->required();
  command
      .add_option("--target", options.targets,
                  "Device: radv:<family>, lavapipe or gpu:<index>; may be "
                  "repeated (default: every target the daemon has open)")
      ->allow_extra_args(false);
  command.add_option("--manifest", options.manifest,
                     "File with one key a line: kind/backdrop/blend FEATURES");
  command
      .add_option("--features", options.features,
                  "Feature bits by name, joined by commas: a variant of every "
                  "kind; may be repeated")
      ->allow_extra_args(false);
  command
      .add_option("--kind", options.kinds,
                  "Kind to show; may be repeated (default: every kind)")
      ->allow_extra_args(false);
  command.add_flag("--each-bit", options.each_bit,
                   "A variant of every kind for each single feature");
  command.add_option("--html", options.html,
                     "Also write the report as one self-contained page");
}

}  // namespace

void AddReportCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand(
      "report", "Show what variants cost beside the whole shader");
  AddReportOptions(*command, *options);
  command->footer(
      "A table a kind: instructions, registers, spills, waves, code and blob "
      "bytes and\n"
      "compile time, each with its ratio to the whole shader of the same "
      "kind, backdrop\n"
      "and blend. Always shows the whole shader and the one without a block; "
      "without\n"
      "--manifest, --features and --each-bit also every variant that the "
      "daemon has\n"
      "stored. What is missing is compiled. Variants with at most half the "
      "registers or\n"
      "at least twice the waves are marked and counted.\n"
      "Examples:\n"
      "  kiln report scene.program.toml\n"
      "  kiln report scene.program.toml --manifest scene.manifest --html "
      "report.html\n"
      "  kiln report scene.program.toml --kind opaque --features "
      "Detail,Height --each-bit\n"
      "  kiln report scene.program.toml --target radv:vangogh --target "
      "radv:navi21 --json");
  command->callback([options, &exit_code] { exit_code = RunReport(*options); });
}

}  // namespace kiln::cli
