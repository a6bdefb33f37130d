// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/prove.h"

#include <charconv>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/interrupt.h"
#include "client/cli/output.h"
#include "client/cli/program_session.h"
#include "client/cli/progress.h"
#include "client/cli/prove_output.h"
#include "proto/status_macros.h"
#include "proto/target.h"
#include "shaders/pipeline/device.h"

namespace kiln::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct ProveWords {
  CommonOptions common;
  std::string program;
  std::string target = "lavapipe";
  std::string size = "96x64";
  uint32_t samples = 1;
  std::vector<std::string> tolerances;
  std::string output = "kiln-prove";
  bool validate = false;
  lab::ProveOptions options;  // the rest, as they are
};

absl::StatusOr<std::pair<uint32_t, uint32_t>> ParseSize(
    const std::string& text) {
  const char* const end = text.data() + text.size();
  uint32_t width = 0;
  uint32_t height = 0;
  const auto [cross, width_error] = std::from_chars(text.data(), end, width);
  if (width_error == std::errc() && cross != end && *cross == 'x') {
    const auto [rest, error] = std::from_chars(cross + 1, end, height);
    if (error == std::errc() && rest == end && width > 0 && height > 0) {
      return std::pair(width, height);
    }
  }
  return absl::InvalidArgumentError(
      fmt::format("size '{}' is not WIDTHxHEIGHT", text));
}

absl::StatusOr<TargetSpec> ParseDrawingTarget(const std::string& text) {
  KILN_ASSIGN_OR_RETURN(TargetSpec spec, TargetSpec::Parse(text));
  if (spec.driver == TargetSpec::Driver::kRadvNull) {
    return absl::InvalidArgumentError(
        fmt::format("target {} only compiles and cannot draw; use lavapipe or "
                    "gpu:<index>",
                    text));
  }
  return spec;
}

// The options as `Prove` wants them. Errors: InvalidArgument.
absl::Status ReadWords(ProveWords& words) {
  KILN_ASSIGN_OR_RETURN(const auto size, ParseSize(words.size));
  words.options.width = size.first;
  words.options.height = size.second;
  for (const std::string& text : words.tolerances) {
    KILN_ASSIGN_OR_RETURN(lab::Tolerance tolerance, lab::ParseTolerance(text));
    words.options.tolerances.push_back(std::move(tolerance));
  }
  words.options.output = words.output;
  return absl::OkStatus();
}

// Opens the target's driver, which only a process without threads can choose.
absl::StatusOr<std::unique_ptr<pipeline::Device>> OpenDevice(
    const TargetSpec& spec, bool validate) {
  KILN_RETURN_IF_ERROR(pipeline::SelectDriver(spec));
  return pipeline::Device::Open(spec, {.validation = validate});
}

absl::StatusOr<lab::ProveReport> ProveWithProgress(pipeline::Device& device,
                                                   const Program& program,
                                                   lab::ProveOptions options) {
  StatusLine line;
  uint32_t differ = 0;
  options.on_case = [&](const lab::CaseProgress& progress) {
    differ += progress.same ? 0 : 1;
    line.Show(fmt::format(
        "{} {}{}", ProgressBar(progress.done, progress.cases), progress.label,
        differ == 0 ? "" : fmt::format(", {} differ", differ)));
    return !Interrupted();
  };
  return lab::Prove(device, program, options);
}

// What was wrong, as an exit code: the request, or what it met on the way.
int ProveFailed(Output& output, const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kUnimplemented:
      return BadInput(output, status);
    default:
      output.Error(status);
      return kFailed;
  }
}

int ProveProgram(Output& output, const ProveWords& words,
                 const Program& program, pipeline::Device& device) {
  CatchInterrupts();
  const Clock::time_point start = Clock::now();
  const auto report = ProveWithProgress(device, program, words.options);
  if (!report.ok()) {
    return ProveFailed(output, report.status());
  }
  PrintProof(output, *report, words.options);
  const std::vector<std::string> complaints = device.validation_messages();
  for (const std::string& complaint : complaints) {
    output.Result({{"validation", complaint}}, "validation: " + complaint);
  }
  PrintProofSummary(
      output, *report,
      std::chrono::duration<double>(Clock::now() - start).count());
  if (Interrupted()) {
    return kInterrupted;
  }
  return report->differences.empty() && complaints.empty() ? kOk : kFailed;
}

int RunProve(ProveWords words) {
  Output output(words.common.json);
  auto loaded = LoadWholeProgram(words.program);
  if (!loaded.ok()) {
    return BadInput(output, loaded.status());
  }
  const auto spec = ParseDrawingTarget(words.target);
  if (!spec.ok()) {
    return BadInput(output, spec.status());
  }
  if (absl::Status read = ReadWords(words); !read.ok()) {
    return BadInput(output, read);
  }
  loaded->program.pipeline.samples = words.samples;
  auto device = OpenDevice(*spec, words.validate);
  if (!device.ok()) {
    return ProveFailed(output, device.status());
  }
  return ProveProgram(output, words, loaded->program, **device);
}

void AddOptions(CLI::App& command, ProveWords& words) {
  lab::ProveOptions& options = words.options;
  AddCommonOptions(command, words.common);
  command.add_option("PROGRAM", words.program, "Path of a *.program.toml file")
      ->required();
  command
      .add_option("--target", words.target,
                  "Device that draws: lavapipe or gpu:<index>")
      ->capture_default_str();
  command.add_option("--cases", options.cases, "How many cases are drawn")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--seed", options.seed, "Seed of the first case")
      ->capture_default_str();
  command
      .add_option("--kind", options.kinds,
                  "Kind to draw; may be repeated (default: every kind)")
      ->allow_extra_args(false);
  command
      .add_option("--samples", words.samples,
                  "Samples a pixel; each is compared")
      ->capture_default_str();
  command.add_option("--size", words.size, "Pixels of a picture, WIDTHxHEIGHT")
      ->capture_default_str();
  command
      .add_option("--output", words.output,
                  "Folder for the images of cases that differ")
      ->capture_default_str();
  command
      .add_option("--tolerance", words.tolerances,
                  "DRIVER=VALUE: how far channels may lie apart with a driver "
                  "(default: not at all); may be repeated")
      ->allow_extra_args(false);
  command.add_flag("--one-draw", options.one_draw,
                   "Draw only one draw of each case with its variant: faster");
  command.add_flag("--sensitivity", options.sensitivity,
                   "Count in how many cases each bit can be seen: slower");
  command.add_flag("--validate", words.validate,
                   "Load the Khronos validation layer; fail if it complains");
}

}  // namespace

void AddProveCommand(CLI::App& app, int& exit_code) {
  auto words = std::make_shared<ProveWords>();
  CLI::App* command = app.add_subcommand(
      "prove", "Prove that variants draw what the whole shader draws");
  AddOptions(*command, *words);
  command->footer(
      "Draws random cases with the whole shader and with the variants that "
      "the\n"
      "program's derivation asks for, and compares every sample byte for byte. "
      "Of\n"
      "cases that differ it names the bits and writes whole.png, variant.png "
      "and\n"
      "diff.png. The seed of a case, with --cases 1 and the same --kind, gives "
      "it\n"
      "again. Exits with 1 if any differs. Needs no daemon.\n"
      "Examples:\n"
      "  kiln prove scene.program.toml\n"
      "  kiln prove scene.program.toml --target gpu:0 --samples 4 "
      "--sensitivity\n"
      "  kiln prove scene.program.toml --kind depth --seed 417 --cases 1");
  command->callback([words, &exit_code] { exit_code = RunProve(*words); });
}

}  // namespace kiln::cli
