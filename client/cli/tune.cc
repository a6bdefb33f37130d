// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/tune.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "client/cli/command.h"
#include "client/cli/interrupt.h"
#include "client/cli/output.h"
#include "client/cli/program_session.h"
#include "client/cli/progress.h"
#include "client/cli/tune_printer.h"
#include "proto/artifact.h"
#include "proto/status_macros.h"
#include "proto/target.h"
#include "proto/text.h"
#include "shaders/pipeline/device.h"

namespace kiln::cli {
namespace {

using lab::TuneReport;

struct TuneWords {
  CommonOptions common;
  std::string program;
  std::string target = "lavapipe";
  std::vector<std::string> sizes;  // NAME=V1,V2,...
  std::string work;                // XxYxZ
  uint32_t elements = 0;
  uint32_t rounds = 15;
  bool dry_run = false;
  bool show = false;
};

template <typename Number>
absl::StatusOr<std::vector<Number>> ParseNumbers(std::string_view option,
                                                 std::string_view text,
                                                 char separator) {
  std::vector<Number> numbers;
  for (const absl::string_view part :
       absl::StrSplit(absl::string_view(text.data(), text.size()), separator)) {
    Number number = 0;
    const char* const end = part.data() + part.size();
    const auto [rest, error] = std::from_chars(part.data(), end, number);
    if (error != std::errc() || rest != end) {
      return absl::InvalidArgumentError(
          fmt::format("{} {}: '{}' is not a number", option, Shorten(text, 100),
                      Shorten({part.data(), part.size()}, 100)));
    }
    numbers.push_back(number);
  }
  return numbers;
}

absl::StatusOr<lab::TuneOptions> ParseOptions(const TuneWords& words) {
  lab::TuneOptions options;
  options.rounds = words.rounds;
  options.elements = words.elements;
  for (const std::string& text : words.sizes) {
    const size_t equals = text.find('=');
    if (equals == text.npos) {
      return absl::InvalidArgumentError(
          fmt::format("size '{}' is not NAME=V1,V2,...", Shorten(text, 100)));
    }
    KILN_ASSIGN_OR_RETURN(
        std::vector<uint64_t> values,
        ParseNumbers<uint64_t>("--size",
                               std::string_view(text).substr(equals + 1), ','));
    options.choices.push_back({text.substr(0, equals), std::move(values)});
  }
  if (!words.work.empty()) {
    KILN_ASSIGN_OR_RETURN(const std::vector<uint32_t> work,
                          ParseNumbers<uint32_t>("--work", words.work, 'x'));
    if (work.size() > options.work.size()) {
      return absl::InvalidArgumentError(fmt::format(
          "--work {}: has over three numbers", Shorten(words.work, 100)));
    }
    options.work = {1, 1, 1};
    std::ranges::copy(work, options.work.begin());
  }
  return options;
}

// Errors: InvalidArgument for a target that runs nothing.
absl::StatusOr<TargetSpec> ParseRunningTarget(const std::string& text) {
  KILN_ASSIGN_OR_RETURN(TargetSpec spec, TargetSpec::Parse(text));
  if (spec.driver == TargetSpec::Driver::kRadvNull) {
    return absl::InvalidArgumentError(
        fmt::format("target {} compiles but cannot run; measure on lavapipe or "
                    "gpu:<index>",
                    text));
  }
  return spec;
}

absl::StatusOr<TuneReport> Measure(pipeline::Device& device,
                                   const Program& program,
                                   lab::TuneOptions options) {
  CatchInterrupts();
  StatusLine line;
  options.on_progress = [&](size_t done, size_t total) {
    line.Show(
        fmt::format("{} measuring {}", ProgressBar(done, total), program.name));
    return !Interrupted();
  };
  return TuneProgram(device, program, options);
}

// Returns: the exit code that fits what Measure answered.
int MeasureFailed(Output& output, const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kCancelled:
      return kInterrupted;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
      return BadInput(output, status);
    default:
      output.Error(status);
      return kFailed;
  }
}

Tuning TuningOf(const TuneReport& report) {
  const lab::TunedSize& best = report.measured[report.best];
  Tuning tuning;
  tuning.overrides = best.size.overrides;
  std::ranges::sort(tuning.overrides);
  tuning.median_ns = static_cast<uint64_t>(best.median_us * 1000);
  tuning.candidates = static_cast<uint32_t>(report.measured.size());
  return tuning;
}

// Returns: the exit code.
int Remember(Output& output, const TuneWords& words,
             const LoadedProgram& program, const pipeline::Device& device,
             const TuneReport& report) {
  const TunePrinter printer(output, program.program, device.identity(), report);
  const auto failed = [&](const absl::Status& status) {
    printer.PrintSummary(false);
    return absl::Status(status.code(),
                        fmt::format("the result is not remembered: {}",
                                    std::string_view(status.message().data(),
                                                     status.message().size())));
  };
  auto rpc = ConnectToDaemon(words.common);
  if (!rpc.ok()) {
    return ConnectFailed(output, failed(rpc.status()));
  }
  absl::Status status = (*rpc)->RegisterProgram(program.program).status();
  if (status.ok()) {
    status =
        (*rpc)->PutTuning(device.identity().Id(), program.id, TuningOf(report));
  }
  if (!status.ok()) {
    return CallFailed(output, failed(status));
  }
  printer.PrintSummary(true);
  return kOk;
}

int RunTune(Output& output, const TuneWords& words,
            const LoadedProgram& program) {
  auto spec = ParseRunningTarget(words.target);
  if (!spec.ok()) {
    return BadInput(output, spec.status());
  }
  auto options = ParseOptions(words);
  if (!options.ok()) {
    return BadInput(output, options.status());
  }
  // Before anything else of Vulkan, and before gRPC has threads.
  if (absl::Status status = pipeline::SelectDriver(*spec); !status.ok()) {
    return CallFailed(output, status);
  }
  auto device = pipeline::Device::Open(*spec);
  if (absl::IsNotFound(device.status())) {
    return BadInput(output, device.status());
  }
  if (!device.ok()) {
    return CallFailed(output, device.status());
  }
  auto report = Measure(**device, program.program, *std::move(options));
  if (!report.ok()) {
    return MeasureFailed(output, report.status());
  }
  const TunePrinter printer(output, program.program, (*device)->identity(),
                            *report);
  printer.PrintTable();
  if (words.dry_run) {
    printer.PrintSummary(false);
    return kOk;
  }
  return Remember(output, words, program, **device, *report);
}

// With --show: what was found before.
int ShowTuning(Output& output, const TuneWords& words,
               const LoadedProgram& program) {
  if (auto spec = TargetSpec::Parse(words.target); !spec.ok()) {
    return BadInput(output, spec.status());
  }
  auto rpc = ConnectToDaemon(words.common);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  auto session = (*rpc)->OpenSession(words.target);
  if (!session.ok()) {
    return CallFailed(output, session.status());
  }
  auto tuning = (*rpc)->GetTuning(session->target, program.id);
  if (!tuning.ok()) {
    return CallFailed(output, tuning.status());
  }
  // A size at its default is left out of what is stored.
  std::vector<OverrideValue> overrides = tuning->overrides;
  for (const std::string& name : program.program.workgroup_size) {
    if (std::ranges::find(overrides, name, &OverrideValue::name) ==
        overrides.end()) {
      overrides.push_back(
          {name, program.program.FindOverride(name)->default_value});
    }
  }
  std::ranges::sort(overrides);
  const double median_us = static_cast<double>(tuning->median_ns) / 1000.0;
  output.Result(
      {{"program", program.program.name},
       {"device", session->identity.device_name},
       {"target", session->target.Hex()},
       {"overrides", SizeJson(overrides)},
       {"median_us", median_us},
       {"measured", tuning->candidates}},
      fmt::format("{} on {}: {}, {:.1f} us, best of {}", program.program.name,
                  session->identity.device_name, lab::SizeText(overrides),
                  median_us, tuning->candidates));
  return kOk;
}

int Run(const TuneWords& words) {
  Output output(words.common.json);
  auto program = LoadWholeProgram(words.program);
  if (!program.ok()) {
    return BadInput(output, program.status());
  }
  if (!program->program.IsCompute()) {
    return BadInput(output, absl::InvalidArgumentError(fmt::format(
                                "program {} is a graphics program: only "
                                "compute programs have a workgroup size",
                                program->program.name)));
  }
  return words.show ? ShowTuning(output, words, *program)
                    : RunTune(output, words, *program);
}

}  // namespace

void AddTuneCommand(CLI::App& app, int& exit_code) {
  auto words = std::make_shared<TuneWords>();
  CLI::App* command = app.add_subcommand(
      "tune", "Measure which workgroup size a compute program is fastest with");
  AddCommonOptions(*command, words->common);
  command
      ->add_option("PROGRAM", words->program, "Path of a *.program.toml file")
      ->required();
  command
      ->add_option("--target", words->target,
                   "Device that runs it: lavapipe or gpu:<index>")
      ->capture_default_str();
  command
      ->add_option("--size", words->sizes,
                   "NAME=V1,V2,... of a workgroup override; may be repeated "
                   "(default: its steps, else powers of two)")
      ->allow_extra_args(false);
  command->add_option("--work", words->work,
                      "Invocations, XxYxZ (default: about a million)");
  command->add_option("--elements", words->elements,
                      "Elements of storage arrays without a size (default: one "
                      "for each invocation)");
  command
      ->add_option("--rounds", words->rounds, "Timed dispatches of each size")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_flag("--dry-run", words->dry_run,
                    "Measure and print; remember nothing, need no daemon");
  command->add_flag("--show", words->show,
                    "Measure nothing; print what is remembered");
  command->footer(
      "Every size does the same work on the same made-up inputs, in shuffled\n"
      "rounds; the fastest by median wins, or a smaller one within 2% of it. "
      "The\n"
      "daemon remembers it for the device; `kiln request --tuned` uses it. "
      "Sizes\n"
      "over the device's limits are named and not measured; one of --size is "
      "an "
      "error.\n"
      "Examples:\n"
      "  kiln tune blur.program.toml --target gpu:0\n"
      "  kiln tune blur.program.toml --size WIDTH=32,64 --size HEIGHT=1,2,4 "
      "\\\n"
      "      --work 1920x1080 --rounds 31\n"
      "  kiln tune blur.program.toml --show --json");
  command->callback([words, &exit_code] { exit_code = Run(*words); });
}

}  // namespace kiln::cli
