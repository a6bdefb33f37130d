// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/program_session.h"
#include "client/cli/user_file.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/target.h"

namespace kiln::cli {
namespace {

using nlohmann::json;

struct SurfaceOptions {
  CommonOptions common;
  std::string program;
  std::vector<std::string> files;
  std::string name;
  std::string target = std::string(kDefaultTarget);
  uint32_t index = 0;
};

struct SurfaceText {
  std::string file;
  std::string name;
  std::string text;
};

// One byte over the limit is read, so that kilnd can say that it is over.
absl::StatusOr<SurfaceText> ReadSurface(const std::string& file,
                                        const std::string& name) {
  SurfaceText surface{file, name, {}};
  if (name.empty()) {
    surface.name = file.size() <= limits::kNameBytes
                       ? file
                       : std::filesystem::path(file).filename().string();
  }
  KILN_ASSIGN_OR_RETURN(surface.text,
                        ReadUserFile(file, limits::kSurfaceBytes + 1));
  return surface;
}

absl::StatusOr<std::vector<SurfaceText>> ReadSurfaces(
    const SurfaceOptions& options) {
  if (!options.name.empty() && options.files.size() > 1) {
    return absl::InvalidArgumentError("--name is for one file");
  }
  std::vector<SurfaceText> surfaces;
  for (const std::string& file : options.files) {
    KILN_ASSIGN_OR_RETURN(surfaces.emplace_back(),
                          ReadSurface(file, options.name));
  }
  return surfaces;
}

void PrintVerdict(Output& output, const SurfaceText& surface,
                  const v1::RegisterSurfaceResponse& verdict) {
  json object = {{"file", surface.file},
                 {"name", surface.name},
                 {"accepted", verdict.accepted()},
                 {"already_known", verdict.already_known()}};
  const char* before = verdict.already_known() ? ", as before" : "";
  if (verdict.accepted()) {
    object["index"] = verdict.index();
    object["set_hash"] = absl::BytesToHexString(verdict.set_hash());
    output.Result(object, fmt::format("accepted {}: index {}{}", surface.name,
                                      verdict.index(), before));
    return;
  }
  object["error"] = verdict.message();
  object["diagnostics"] = verdict.diagnostics();
  output.Result(object, fmt::format("rejected {}{}: {}", surface.name, before,
                                    verdict.message()));
  output.Details(verdict.diagnostics());
}

// What add, list and remove begin with: the program, known to the daemon.
struct Start {
  LoadedProgram program;
  std::unique_ptr<client::RpcClient> rpc;
  int exit_code = kOk;  // not kOk: reported, and the rest is not there
};

Start StartWith(const SurfaceOptions& options, Output& output) {
  Start start;
  auto program = LoadProgram(options.program);
  if (!program.ok()) {
    start.exit_code = BadInput(output, program.status());
    return start;
  }
  start.program = *std::move(program);
  auto rpc = ConnectToDaemon(options.common);
  if (!rpc.ok()) {
    start.exit_code = ConnectFailed(output, rpc.status());
    return start;
  }
  start.rpc = *std::move(rpc);
  const auto id = start.rpc->RegisterProgram(start.program.program);
  if (!id.ok()) {
    start.exit_code = CallFailed(output, id.status());
  }
  return start;
}

int RunAdd(const SurfaceOptions& options) {
  Output output(options.common.json);
  const auto surfaces = ReadSurfaces(options);
  if (!surfaces.ok()) {
    return BadInput(output, surfaces.status());
  }
  if (auto spec = TargetSpec::Parse(options.target); !spec.ok()) {
    return BadInput(output, spec.status());
  }
  const Start start = StartWith(options, output);
  if (start.exit_code != kOk) {
    return start.exit_code;
  }
  int exit_code = kOk;
  for (const SurfaceText& surface : *surfaces) {
    const auto verdict = start.rpc->RegisterSurface(
        start.program.id, surface.name, surface.text, options.target);
    if (!verdict.ok()) {
      return CallFailed(output, verdict.status());
    }
    PrintVerdict(output, surface, *verdict);
    exit_code = verdict->accepted() ? exit_code : kFailed;
  }
  return exit_code;
}

int RunList(const SurfaceOptions& options) {
  Output output(options.common.json);
  const Start start = StartWith(options, output);
  if (start.exit_code != kOk) {
    return start.exit_code;
  }
  const auto listed = start.rpc->ListSurfaces(start.program.id);
  if (!listed.ok()) {
    return CallFailed(output, listed.status());
  }
  for (const v1::ListSurfacesResponse::Surface& surface : listed->surfaces()) {
    const std::string digest = absl::BytesToHexString(surface.digest());
    output.Result(
        {{"index", surface.index()},
         {"name", surface.name()},
         {"bytes", surface.bytes()},
         {"sha256", digest}},
        fmt::format("{:>3}  {}  {} bytes, {}", surface.index(), surface.name(),
                    surface.bytes(), digest.substr(0, 12)));
  }
  if (listed->surfaces().empty() && !options.common.json) {
    output.Result({}, fmt::format("program {} has no surface shaders",
                                  start.program.program.name));
  }
  return kOk;
}

int RunRemove(const SurfaceOptions& options) {
  Output output(options.common.json);
  const Start start = StartWith(options, output);
  if (start.exit_code != kOk) {
    return start.exit_code;
  }
  const auto set_hash =
      start.rpc->RemoveSurface(start.program.id, options.index);
  if (!set_hash.ok()) {
    return CallFailed(output, set_hash.status());
  }
  output.Result(
      {{"index", options.index}, {"set_hash", set_hash->Hex()}},
      fmt::format("removed index {}; draws that use it are drawn with the base",
                  options.index));
  return kOk;
}

CLI::App* AddVerb(CLI::App& surface,
                  const std::shared_ptr<SurfaceOptions>& options,
                  const char* verb, const char* what) {
  CLI::App* command = surface.add_subcommand(verb, what);
  AddCommonOptions(*command, options->common);
  command
      ->add_option("PROGRAM", options->program, "Path of a *.program.toml file")
      ->required();
  return command;
}

void AddAdd(CLI::App& surface, const std::shared_ptr<SurfaceOptions>& options,
            int& exit_code) {
  CLI::App* command =
      AddVerb(surface, options, "add", "Check user code and give it an index");
  command
      ->add_option("FILE", options->files,
                   "GLSL that defines the program's surface function; at most "
                   "64 KiB each")
      ->required();
  command->add_option("--name", options->name,
                      "What diagnostics call it (default: as FILE)");
  command
      ->add_option("--target", options->target,
                   "Device whose worker checks it: radv:<family>, lavapipe or "
                   "gpu:<index>")
      ->capture_default_str();
  command->footer(
      "Each file is checked inside the complete shader; what is wrong is said "
      "by its own\n"
      "name and lines, and a file that is rejected exits with 1. Text that was "
      "accepted\n"
      "before has its old index.\n"
      "Examples:\n"
      "  kiln surface add scene.program.toml water.glsl lava.glsl");
  command->callback([options, &exit_code] { exit_code = RunAdd(*options); });
}

void AddList(CLI::App& surface, const std::shared_ptr<SurfaceOptions>& options,
             int& exit_code) {
  CLI::App* command =
      AddVerb(surface, options, "list", "List what was accepted");
  command->footer(
      "Examples:\n"
      "  kiln surface list scene.program.toml --json | jq -r .name");
  command->callback([options, &exit_code] { exit_code = RunList(*options); });
}

void AddRemove(CLI::App& surface,
               const std::shared_ptr<SurfaceOptions>& options, int& exit_code) {
  CLI::App* command = AddVerb(surface, options, "remove", "Free an index");
  command->add_option("INDEX", options->index, "As `kiln surface list` shows")
      ->required();
  command->footer(
      "Examples:\n"
      "  kiln surface remove scene.program.toml 3");
  command->callback([options, &exit_code] { exit_code = RunRemove(*options); });
}

}  // namespace

void AddSurfaceCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<SurfaceOptions>();
  CLI::App* command = app.add_subcommand(
      "surface", "Add, list and remove a program's surface shaders");
  command->require_subcommand(1);
  command->footer(
      "Surface shaders are user code inside a program that takes it "
      "([surface] in its\n"
      "file). Index 0 is the base; there are at most 255 others.\n"
      "Examples:\n"
      "  kiln surface add scene.program.toml water.glsl\n"
      "  kiln surface list scene.program.toml\n"
      "  kiln surface remove scene.program.toml 1");
  AddAdd(*command, options, exit_code);
  AddList(*command, options, exit_code);
  AddRemove(*command, options, exit_code);
}

}  // namespace kiln::cli
