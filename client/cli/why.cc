// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/program_session.h"
#include "client/cli/selection.h"
#include "client/cli/why_output.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/status_macros.h"
#include "proto/target.h"
#include "proto/text.h"
#include "proto/wire.h"

namespace kiln::cli {
namespace {

struct WhyOptions {
  CommonOptions common;
  std::string key;  // digits, or the path of a program file
  KeyWords words;
  std::string target;  // a spec, a digest, or empty
};

constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";

bool NamesProgramFile(const std::string& key) {
  std::error_code ignored;
  return key.ends_with(".toml") || key.find('/') != key.npos ||
         (key.find_first_not_of(kHexDigits) != key.npos &&
          std::filesystem::exists(key, ignored));
}

// Checks what was typed as far as that goes without a daemon. Fills in
// `program` when a file is named.
absl::Status ReadRequest(const WhyOptions& options, LoadedProgram& program,
                         v1::ExplainRequest& request) {
  const KeyWords& words = options.words;
  if (NamesProgramFile(options.key)) {
    KILN_ASSIGN_OR_RETURN(program, LoadProgram(options.key));
    if (words.kind.empty() || words.features.empty()) {
      return absl::InvalidArgumentError(
          "a program file needs --kind and --features to make a key of it");
    }
    KILN_ASSIGN_OR_RETURN(const VariantKey key,
                          SelectKey(program.program, program.id, words));
    wire::KeyToWire(key, request.mutable_key());
    return absl::OkStatus();
  }
  constexpr size_t kShortestPrefix = 4;
  if (options.key.find_first_not_of(kHexDigits) != options.key.npos ||
      options.key.size() < kShortestPrefix ||
      options.key.size() > 2 * Digest::kBytes) {
    return absl::InvalidArgumentError(fmt::format(
        "'{}' is neither {} to {} hexadecimal digits of a key nor a program "
        "file",
        Shorten(options.key, 100), kShortestPrefix, 2 * Digest::kBytes));
  }
  if (!words.kind.empty() || !words.backdrop.empty() || !words.blend.empty() ||
      !words.features.empty() || !words.overrides.empty()) {
    return absl::InvalidArgumentError(
        "--kind, --backdrop, --blend, --features and --override choose a key "
        "of a program file; a key's digits say all of it");
  }
  request.set_key_id(options.key);
  return absl::OkStatus();
}

// Opens the target that is named, since only its driver tells its digest, and
// lets the daemon know the program.
absl::Status NameTarget(const WhyOptions& options, client::RpcClient& rpc,
                        const LoadedProgram& program,
                        v1::ExplainRequest& request) {
  if (request.has_key()) {
    KILN_RETURN_IF_ERROR(rpc.RegisterProgram(program.program).status());
  }
  if (const auto digest = Digest::FromHex(options.target); digest.ok()) {
    request.set_target(std::string(digest->raw()));
    return absl::OkStatus();
  }
  if (options.target.empty() && !request.has_key()) {
    return absl::OkStatus();
  }
  KILN_ASSIGN_OR_RETURN(
      const client::Session session,
      rpc.OpenSession(options.target.empty() ? kDefaultTarget
                                             : options.target));
  request.set_target(std::string(session.target.raw()));
  return absl::OkStatus();
}

std::string TargetName(const WhyOptions& options,
                       const v1::ExplainRequest& request) {
  if (options.target.empty()) {
    return request.has_key() ? std::string(kDefaultTarget) : "";
  }
  return Digest::FromHex(options.target).ok() ? "" : options.target;
}

int RunWhy(const WhyOptions& options) {
  Output output(options.common.json);
  LoadedProgram program;
  v1::ExplainRequest request;
  if (absl::Status status = ReadRequest(options, program, request);
      !status.ok()) {
    return BadInput(output, status);
  }
  if (!options.target.empty() && !Digest::FromHex(options.target).ok()) {
    if (auto spec = TargetSpec::Parse(options.target); !spec.ok()) {
      return BadInput(output, spec.status());
    }
  }
  auto rpc = ConnectToDaemon(options.common);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  if (absl::Status status = NameTarget(options, **rpc, program, request);
      !status.ok()) {
    return CallFailed(output, status);
  }
  const auto response = (*rpc)->Explain(request);
  if (!response.ok()) {
    return CallFailed(output, response.status());
  }
  output.Result(WhyJson(*response),
                WhyText(*response, TargetName(options, request)));
  return kOk;
}

void AddKeyOptions(CLI::App& command, WhyOptions& options) {
  KeyWords& words = options.words;
  command
      .add_option("KEY", options.key,
                  "The key's hexadecimal digits, or the first few (at least "
                  "4); or the path of a *.program.toml file")
      ->required();
  command.add_option("--kind", words.kind,
                     "With a program file: kind, e.g. opaque");
  command.add_option("--backdrop", words.backdrop,
                     "Backdrop (default: the program's first)");
  command.add_option("--blend", words.blend,
                     "Blend (default: the program's first)");
  command.add_option("--features", words.features,
                     "With a program file: feature bits by name, joined by "
                     "commas; or all, or none");
  command
      .add_option("--override", words.overrides,
                  "NAME=VALUE of a named override constant; may be repeated")
      ->allow_extra_args(false);
  command.add_option(
      "--target", options.target,
      "Device: radv:<family>, lavapipe or gpu:<index>, or the digest of one\n"
      "(default: with digits, that of the newest request; with a program\n"
      "file, radv:vangogh)");
}

}  // namespace

void AddWhyCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<WhyOptions>();
  CLI::App* command = app.add_subcommand(
      "why", "Say why a key is not stored, or had to be compiled");
  AddCommonOptions(*command, options->common);
  AddKeyOptions(*command, *options);
  command->footer(
      "A key is a program with all its sources, a choice on each axis, and a "
      "device\n"
      "with its driver. Whatever is different makes another key. This finds "
      "the stored\n"
      "entry with the fewest differences and names each: the file and its "
      "first line\n"
      "that differs, the define, option, feature, driver field or device "
      "feature, as\n"
      "  KIND  NAME  value in the stored entry -> value in this key\n"
      "A stored key is compared with its nearest neighbour, which may be the "
      "newer of\n"
      "both: then the difference is not why it was compiled.\n"
      "Digits are understood of keys that are stored or were asked for since "
      "kilnd\n"
      "started. Exits with 1 when nothing is known of the key.\n"
      "Examples:\n"
      "  kiln why 3f2a9c\n"
      "  kiln why scene.program.toml --kind opaque --features Detail,Height\n"
      "  kiln why 3f2a9c --target lavapipe\n"
      "  kiln why 3f2a9c --json | jq -r '.differences[] | .kind + \" \" + "
      ".name'");
  command->callback([options, &exit_code] { exit_code = RunWhy(*options); });
}

}  // namespace kiln::cli
