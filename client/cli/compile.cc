// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "client/cli/command.h"
#include "client/cli/interface_text.h"
#include "client/cli/interrupt.h"
#include "client/cli/output.h"
#include "client/cli/report_html.h"
#include "client/cli/user_file.h"
#include "client/cli/variant_compiler.h"
#include "client/shader_program.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/bytes.h"
#include "proto/limits.h"
#include "proto/module_interface.h"
#include "proto/status_macros.h"
#include "proto/target.h"
#include "proto/text.h"
#include "shaders/sources/include_scan.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct CompileOptions {
  CommonOptions common;
  std::string shader;
  bool is_virtual = false;
  std::vector<std::string> defines;
  std::optional<Stage> stage;
  std::optional<Language> language;
  std::string entry = "main";
  std::string name;
  std::string out;
  std::string target = std::string(kDefaultTarget);
};

absl::StatusOr<std::string> ReadShader(const fs::path& file) {
  KILN_ASSIGN_OR_RETURN(std::string text,
                        ReadUserFile(file, limits::kProgramBytes + 1));
  if (text.size() > limits::kProgramBytes) {
    return absl::InvalidArgumentError(fmt::format("'{}' has over {} bytes",
                                                  ToValidUtf8(file.string()),
                                                  limits::kProgramBytes));
  }
  return text;
}

// How kilnd can be asked for a file that includes others: by the root that it
// lies in, if the daemon is there and has one, else by a new one, unless it is
// sealed.
std::string RootAdvice(const CompileOptions& options) {
  std::error_code error;
  const fs::path file = fs::canonical(options.shader, error);
  const auto rpc = ConnectToDaemon(options.common);
  const auto listed = rpc.ok() ? (*rpc)->ListRoots(false)
                               : absl::StatusOr<v1::ListRootsResponse>();
  if (listed.ok()) {
    for (const v1::SearchRoot& root : listed->roots()) {
      const fs::path within =
          file.lexically_relative(fs::weakly_canonical(root.folder(), error));
      if (!within.empty() && *within.begin() != "..") {
        return fmt::format("`kiln compile /{}/{}`", root.name(),
                           ToValidUtf8(within.generic_string()));
      }
    }
  }
  if (rpc.ok()) {
    if (const auto status = (*rpc)->GetStatus();
        status.ok() && status->sealed()) {
      return "this kilnd is sealed and has none";
    }
  }
  return fmt::format("`kiln roots add {}`, then `kiln compile --virtual {}`",
                     ToValidUtf8(file.parent_path().string()),
                     ToValidUtf8(file.filename().string()));
}

// A text goes to kilnd alone, without what lies beside it.
absl::Status CheckIncludesNothing(const CompileOptions& options,
                                  const client::ShaderSource& source) {
  if (source.language == Language::kSpirv) {
    return absl::OkStatus();
  }
  const auto includes = sources::ScanIncludes(*source.text);
  if (includes.empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format(
      "'{}' includes '{}' in line {}, and files with includes are compiled in "
      "a search root: {}",
      ToValidUtf8(options.shader), Shorten(includes.front().name, 100),
      includes.front().line, RootAdvice(options)));
}

// What is there is meant by its own path; else it is a virtual one.
absl::StatusOr<client::ShaderSource> SourceOf(const CompileOptions& options) {
  client::ShaderSource source;
  std::error_code error;
  const bool on_disk =
      !options.is_virtual &&
      (!options.shader.starts_with('/') || fs::exists(options.shader, error));
  source.path = options.shader;
  if (on_disk) {
    auto text = ReadShader(options.shader);
    if (absl::IsNotFound(text.status())) {
      return absl::NotFoundError(fmt::format(
          "no file '{}'; with --virtual it is looked for in the search roots",
          ToValidUtf8(options.shader)));
    }
    KILN_ASSIGN_OR_RETURN(source.text, std::move(text));
  }
  source.language = options.language.value_or(LanguageOfPath(options.shader));
  const auto stage = options.stage.has_value()
                         ? options.stage
                         : client::StageOfPath(options.shader);
  if (!stage.has_value()) {
    return absl::InvalidArgumentError(
        fmt::format("the name of '{}' does not say its stage; --stage does",
                    ToValidUtf8(options.shader)));
  }
  source.stage = *stage;
  source.entry = options.entry;
  source.debug_name = options.name;
  for (const std::string& text : options.defines) {
    const size_t equals = text.find('=');
    source.defines.push_back(
        {text.substr(0, equals),
         equals == text.npos ? "1" : text.substr(equals + 1)});
  }
  if (on_disk) {
    KILN_RETURN_IF_ERROR(CheckIncludesNothing(options, source));
    if (options.name.empty()) {
      source.debug_name = options.shader;
    }
  }
  return source;
}

// Diagnostics by the name that was given. Without one: those of a text name it
// by a relative path, here by the file's own.
std::string InAuthorsTerms(const CompileOptions& options,
                           const Program& program, std::string text) {
  const std::string& path = program.stages.front().path;
  if (!options.name.empty()) {
    return client::NamedDiagnostics(options.name, text);
  }
  if (program.rooted || path == options.shader) {
    return text;
  }
  const std::string written = ToValidUtf8(options.shader);
  for (size_t line = 0; line < text.size();) {
    if (text.compare(line, path.size() + 1, path + ":") == 0) {
      text.replace(line, path.size(), written);
    }
    const size_t end = text.find('\n', line);
    line = end == text.npos ? text.size() : end + 1;
  }
  return text;
}

// "/engine/lit.frag", with its debug name "night lit (/engine/lit.frag)".
std::string ShownShader(const CompileOptions& options) {
  return options.name.empty() ? ShownName(options.shader)
                              : fmt::format("{} ({})", ShownName(options.name),
                                            ShownName(options.shader));
}

// The members that both answers have.
json ShaderJson(const CompileOptions& options, const char* state) {
  json object = {{"shader", options.shader}, {"state", state}};
  if (!options.name.empty()) {
    object["name"] = options.name;
  }
  return object;
}

// Writes the module of `digest` to --out.
absl::Status WriteModule(client::RpcClient& rpc, const std::string& digest,
                         const std::string& file) {
  KILN_ASSIGN_OR_RETURN(const Digest id, Digest::FromRaw(digest));
  KILN_ASSIGN_OR_RETURN(const std::vector<uint32_t> words, rpc.GetModule(id));
  return WriteWholeFile(file, AsText(AsBytes(std::span(words))));
}

int PrintFailure(Output& output, const CompileOptions& options,
                 const Program& program, const v1::Failure& failure) {
  const std::string diagnostics =
      InAuthorsTerms(options, program, failure.diagnostics());
  json object = ShaderJson(options, "failed");
  object["error"] = failure.message();
  object["code"] =
      absl::StatusCodeToString(static_cast<absl::StatusCode>(failure.code()));
  object["diagnostics"] = diagnostics;
  output.Result(object, fmt::format("failed   {}: {}", ShownShader(options),
                                    failure.message()));
  output.Details(diagnostics);
  return kFailed;
}

int PrintModule(Output& output, const CompileOptions& options,
                client::RpcClient& rpc, const Program& program,
                const v1::Completion& completion) {
  const v1::FrontEnd& front_end = completion.front_end();
  if (front_end.modules_size() != 1) {
    return CallFailed(output, absl::DataLossError("kilnd sent no module"));
  }
  const v1::FrontEnd::Module& module = front_end.modules(0);
  const auto interface = DecodeInterface(AsBytes(module.interface()));
  if (!interface.ok()) {
    return CallFailed(output, interface.status());
  }
  if (!options.out.empty()) {
    if (absl::Status status = WriteModule(rpc, module.digest(), options.out);
        !status.ok()) {
      return CallFailed(output, status);
    }
  }
  const std::string warnings =
      InAuthorsTerms(options, program, front_end.warnings());
  const bool is_compute = program.IsCompute();
  const bool stored = completion.origin() == v1::ORIGIN_STORE;
  const std::string digest = absl::BytesToHexString(module.digest());
  json object = ShaderJson(options, "ready");
  object.update(
      {{"origin", stored ? "store" : "compiled"},
       {"program", absl::BytesToHexString(front_end.program_id())},
       {"stage", module.stage()},
       {"module", digest},
       {"bytes", module.bytes()},
       {"name_hash", absl::BytesToHexString(module.name_hash())},
       {"source_set_hash", absl::BytesToHexString(module.source_set_hash())},
       {"warnings", warnings}});
  object.update(InterfaceJson(*interface, is_compute));
  if (!options.out.empty()) {
    object["out"] = ToValidUtf8(options.out);
  }
  const std::string declared = InterfaceText(*interface, is_compute);
  output.Details(warnings);
  output.Result(
      object,
      fmt::format(
          "ready    {}: {}, {} {}, {} bytes, entry {}{}{}{}",
          ShownShader(options), stored ? "store" : "compiled", module.stage(),
          digest.substr(0, 12), module.bytes(), interface->entry_point,
          options.out.empty() ? "" : fmt::format(", in '{}'", options.out),
          declared.empty() ? "" : "\n", declared));
  return kOk;
}

int RunCompile(const CompileOptions& options) {
  Output output(options.common.json);
  const auto source = SourceOf(options);
  if (!source.ok()) {
    return BadInput(output, source.status());
  }
  const Program program = client::ShaderProgram(*source);
  if (absl::Status status = program.Validate(); !status.ok()) {
    return BadInput(output, status);
  }
  if (auto spec = TargetSpec::Parse(options.target); !spec.ok()) {
    return BadInput(output, spec.status());
  }
  auto rpc = ConnectToDaemon(options.common);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  const auto id = (*rpc)->RegisterProgram(program);
  if (!id.ok()) {
    return CallFailed(output, id.status());
  }
  auto session = client::BlockingSession::Open(**rpc, options.target);
  if (!session.ok()) {
    return CallFailed(output, session.status());
  }
  CatchInterrupts();
  const auto completion = CompileFrontEnd(**session, *id, program.name);
  if (absl::IsAborted(completion.status())) {
    return kInterrupted;
  }
  if (!completion.ok()) {
    return CallFailed(output, completion.status());
  }
  return completion->state() == v1::STATE_READY
             ? PrintModule(output, options, **rpc, program, *completion)
             : PrintFailure(output, options, program, completion->failure());
}

void AddOptions(CLI::App& command, CompileOptions& options) {
  const std::map<std::string, Stage> stages = {
      {"vertex", Stage::kVertex},     {"vert", Stage::kVertex},
      {"fragment", Stage::kFragment}, {"frag", Stage::kFragment},
      {"compute", Stage::kCompute},   {"comp", Stage::kCompute}};
  const std::map<std::string, Language> languages = {
      {"glsl", Language::kGlsl},
      {"hlsl", Language::kHlsl},
      {"spirv", Language::kSpirv}};
  AddCommonOptions(command, options.common);
  command
      .add_option("SHADER", options.shader,
                  "A file, or a virtual path in kilnd's search roots: "
                  "\"/engine/lit.frag\", or \"lit.frag\" with --virtual")
      ->required();
  command.add_flag("--virtual", options.is_virtual,
                   "SHADER is a virtual path, even if there is such a file");
  command
      .add_option("-D,--define", options.defines,
                  "NAME or NAME=VALUE of a macro (without a value: 1); may be "
                  "repeated")
      ->allow_extra_args(false);
  command
      .add_option("--stage", options.stage,
                  "vertex, fragment or compute (default: by the name's end: "
                  ".vert, .frag, .comp)")
      ->transform(CLI::CheckedTransformer(stages).description(""));
  command
      .add_option("--language", options.language,
                  "glsl, hlsl or spirv (default: by the name's end: .hlsl, "
                  ".spv, else GLSL)")
      ->transform(CLI::CheckedTransformer(languages).description(""));
  command
      .add_option("--entry", options.entry, "Entry point; GLSL has only main")
      ->capture_default_str();
  command.add_option("--name", options.name,
                     "What diagnostics and logs call it: each begins with the "
                     "line \"in NAME:\",\n"
                     "and of a file also each line (default: as SHADER)");
  command.add_option("--out", options.out, "File to write the SPIR-V to");
  command
      .add_option("--target", options.target,
                  "Device whose worker compiles: radv:<family>, lavapipe or "
                  "gpu:<index>")
      ->capture_default_str();
}

}  // namespace

void AddCompileCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* command = app.add_subcommand(
      "compile", "Compile one shader to SPIR-V and show what it declares");
  AddOptions(*command, *options);
  command->footer(
      "Compiles nothing that kilnd has compiled before. Warnings and errors go "
      "to\n"
      "standard error, with the author's file and line; a shader that does not "
      "compile\n"
      "exits with 1. A file outside the search roots may include nothing.\n"
      "Examples:\n"
      "  kiln compile tonemap.comp --out tonemap.spv\n"
      "  kiln compile /engine/fx/lit.frag -D SHADOWS -D TAPS=4\n"
      "  kiln compile --virtual fx/lit.frag --json | jq .bindings\n"
      "  kiln compile blur.hlsl --stage compute --entry BlurX");
  command->callback(
      [options, &exit_code] { exit_code = RunCompile(*options); });
}

}  // namespace kiln::cli
