// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/variant_json.h"
#include "proto/bytes.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::cli {
namespace {

using nlohmann::json;

struct GetOptions {
  CommonOptions common;
  std::string key;
  std::string out;
  std::string target;
};

constexpr size_t kShortestPrefix = 4;

absl::Status CheckKey(std::string& key) {
  const bool hex = std::ranges::all_of(
      key, [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (!hex || key.size() < kShortestPrefix || key.size() > 2 * Digest::kBytes) {
    return absl::InvalidArgumentError(
        fmt::format("key '{}' is not {} to {} hexadecimal digits",
                    Shorten(key, 100), kShortestPrefix, 2 * Digest::kBytes));
  }
  std::ranges::transform(key, key.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return absl::OkStatus();
}

absl::StatusOr<Digest> ParseTargetDigest(const std::string& text) {
  if (text.empty()) {
    return Digest();
  }
  absl::StatusOr<Digest> digest = Digest::FromHex(text);
  if (!digest.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("target '{}' is not a digest of 64 hexadecimal digits; "
                    "`kiln list --json` shows them",
                    Shorten(text, 100)));
  }
  return digest;
}

absl::Status WriteFile(const std::filesystem::path& path, ByteView bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    return absl::PermissionDeniedError(
        fmt::format("cannot write '{}'", ToValidUtf8(path.string())));
  }
  return absl::OkStatus();
}

json ArtifactJson(const client::Delivery& delivery) {
  const Artifact& artifact = delivery.artifact;
  json object = {
      {"label", delivery.label},
      {"key", KeyId(artifact.key).Hex()},
      {"target", artifact.target.Hex()},
      {"program", artifact.key.program.Hex()},
      {"kind", artifact.key.kind},
      {"backdrop", artifact.key.backdrop},
      {"blend", artifact.key.blend},
      {"features", artifact.key.features},
      {"compile_ms", static_cast<double>(artifact.compile_us) / 1000.0},
      {"blob_bytes", artifact.blob.size()},
      {"proof", ProofText(artifact.proof)},
      {"provenance", artifact.provenance}};
  object["modules"] = json::array();
  for (const client::ModuleCode& module : delivery.modules) {
    object["modules"].push_back(
        {{"stage", StageName(module.stage)},
         {"file", fmt::format("{}.spv", StageName(module.stage))},
         {"sha256", module.digest.Hex()}});
  }
  object["overrides"] = json::object();
  for (const OverrideValue& entry : artifact.key.overrides) {
    object["overrides"][entry.name] = entry.value;
    for (const Constant& constant : artifact.constants) {
      if (constant.name == entry.name) {
        object["overrides"][entry.name] =
            ConstantJson(constant.type, entry.value);
      }
    }
  }
  object["constants"] = json::array();
  for (const Constant& constant : artifact.constants) {
    object["constants"].push_back(
        {{"id", constant.id},
         {"name", constant.name},
         {"type", ConstantTypeName(constant.type)},
         {"value", ConstantJson(constant.type, constant.value)}});
  }
  object["statistics"] = json::array();
  for (const Statistic& statistic : artifact.statistics) {
    object["statistics"].push_back({{"executable", statistic.executable},
                                    {"name", statistic.name},
                                    {"value", statistic.value}});
  }
  return object;
}

absl::Status WriteDelivery(const std::filesystem::path& folder,
                           const client::Delivery& delivery,
                           const json& description) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::PermissionDeniedError(
        fmt::format("cannot make folder '{}': {}", ToValidUtf8(folder.string()),
                    error.message()));
  }
  KILN_RETURN_IF_ERROR(
      WriteFile(folder / "pipeline_cache.bin", delivery.artifact.blob));
  for (const client::ModuleCode& module : delivery.modules) {
    KILN_RETURN_IF_ERROR(
        WriteFile(folder / fmt::format("{}.spv", StageName(module.stage)),
                  AsBytes(std::span(*module.spirv))));
  }
  const std::string text =
      description.dump(2, ' ', false, json::error_handler_t::replace);
  return WriteFile(folder / "artifact.json", AsBytes(text + "\n"));
}

int RunGet(GetOptions options) {
  Output output(options.common.json);
  if (absl::Status status = CheckKey(options.key); !status.ok()) {
    return BadInput(output, status);
  }
  auto target = ParseTargetDigest(options.target);
  if (!target.ok()) {
    return BadInput(output, target.status());
  }
  auto rpc = ConnectToDaemon(options.common);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  auto delivery = (*rpc)->GetArtifact(options.key, *target);
  if (!delivery.ok()) {
    return CallFailed(output, delivery.status());
  }
  json description = ArtifactJson(*delivery);
  if (absl::Status status = WriteDelivery(options.out, *delivery, description);
      !status.ok()) {
    return BadInput(output, status);
  }
  description["out"] = ToValidUtf8(options.out);
  output.Result(description,
                fmt::format("{} {}: {} bytes of cache and {} modules in '{}'",
                            KeyId(delivery->artifact.key).ShortHex(),
                            delivery->label, delivery->artifact.blob.size(),
                            delivery->modules.size(), options.out));
  return kOk;
}

}  // namespace

void AddGetCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<GetOptions>();
  CLI::App* command = app.add_subcommand(
      "get", "Write one stored variant's cache blob and SPIR-V to a folder");
  AddCommonOptions(*command, options->common);
  command
      ->add_option(
          "KEY", options->key,
          "The key's hexadecimal digits, or the first few (at least 4)")
      ->required();
  command
      ->add_option("--out", options->out, "Folder to write to; made if absent")
      ->required();
  command->add_option("--target", options->target,
                      "Digest of the target, where several have the key");
  command->footer(
      "Writes pipeline_cache.bin, <stage>.spv and artifact.json (label, "
      "constants,\n"
      "statistics). Every file has been checked against its SHA-256.\n"
      "Examples:\n"
      "  kiln get 3f2a9c --out /tmp/variant\n"
      "  spirv-dis /tmp/variant/fragment.spv | less");
  command->callback([options, &exit_code] { exit_code = RunGet(*options); });
}

}  // namespace kiln::cli
