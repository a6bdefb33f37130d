// SPDX-License-Identifier: Apache-2.0
#include "shaders/lint.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/program_session.h"
#include "shaders/compiler.h"
#include "shaders/schema_check.h"

namespace kiln::cli {
namespace {

using nlohmann::json;

struct LintOptions {
  CommonOptions common;
  std::string program;
};

// What the schema, the text and the modules disagree on. Requires: a program
// whose stages compile.
std::vector<std::string> CheckSchema(const Program& program) {
  std::vector<shaders::StageResult> results;
  for (const StageSource& source : program.stages) {
    results.push_back(shaders::CompileStage(program, source.stage));
  }
  std::vector<shaders::StageModule> modules;
  for (size_t i = 0; i < results.size(); ++i) {
    modules.push_back({program.stages[i].stage, results[i].spirv});
  }
  return shaders::CompareSchema(program, modules);
}

void PrintFinding(Output& output, const shaders::LintFinding& finding) {
  const std::string_view rule = shaders::RuleName(finding.rule);
  output.Result({{"file", finding.file},
                 {"line", finding.line},
                 {"rule", rule},
                 {"symbol", finding.symbol},
                 {"message", finding.message}},
                fmt::format("{}:{}: {}: {}", finding.file, finding.line, rule,
                            finding.message));
}

void PrintSummary(Output& output, const Program& program, size_t findings,
                  size_t schema_findings) {
  const size_t total = findings + schema_findings;
  output.Result({{"program", program.name},
                 {"findings", findings},
                 {"schema_findings", schema_findings}},
                total == 0 ? fmt::format("{}: no findings", program.name)
                           : fmt::format("{}: {} finding{}", program.name,
                                         total, total == 1 ? "" : "s"));
}

int RunLint(const LintOptions& options) {
  Output output(options.common.json);
  const auto loaded = LoadWholeProgram(options.program);
  if (!loaded.ok()) {
    return BadInput(output, loaded.status());
  }
  const Program& program = loaded->program;
  auto findings = shaders::LintProgram(program);
  if (!findings.ok()) {
    return BadInput(output, findings.status());
  }
  for (const shaders::LintFinding& finding : *findings) {
    PrintFinding(output, finding);
  }
  const std::vector<std::string> schema = CheckSchema(program);
  for (const std::string& message : schema) {
    output.Result({{"rule", "schema"}, {"message", message}},
                  fmt::format("schema: {}", message));
  }
  PrintSummary(output, program, findings->size(), schema.size());
  return findings->empty() && schema.empty() ? kOk : kFailed;
}

}  // namespace

void AddLintCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<LintOptions>();
  CLI::App* command = app.add_subcommand(
      "lint", "Name what in a program's sources costs registers");
  AddCommonOptions(*command, options->common);
  command
      ->add_option("PROGRAM", options->program, "Path of a *.program.toml file")
      ->required();
  command->footer(
      "Prints `file:line: rule: message` for each local array that is indexed "
      "by\n"
      "a value that is not constant (dynamic-local-array) and each array of "
      "structs\n"
      "that is carried between loops (struct-array-across-loops). Prints\n"
      "`schema: message` for each specialization constant on which the program "
      "file\n"
      "and its sources disagree. Exits with 1 if there is any. Needs no daemon."
      "\n"
      "Examples:\n"
      "  kiln lint scene.program.toml\n"
      "  kiln lint scene.program.toml --json | jq -r 'select(.file) | .file'");
  command->callback([options, &exit_code] { exit_code = RunLint(*options); });
}

}  // namespace kiln::cli
