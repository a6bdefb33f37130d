// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/cli/advice.h"
#include "client/cli/advice_text.h"
#include "client/cli/command.h"
#include "client/cli/interrupt.h"
#include "client/cli/output.h"
#include "client/cli/program_session.h"
#include "client/cli/variant_compiler.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/manifest.h"
#include "proto/status_macros.h"
#include "proto/target.h"

namespace kiln::cli {
namespace {

struct AdviseOptions {
  CommonOptions common;
  std::string program;
  std::string manifest;
  std::string target = std::string(kDefaultTarget);
  double threshold_percent = 2;
};

VariantCost CostOf(const v1::Variant& variant) {
  VariantCost cost;
  auto set = [](std::optional<uint32_t>& to, bool present, uint32_t value) {
    if (present) {
      to = value;
    }
  };
  set(cost.registers, variant.has_registers(), variant.registers());
  set(cost.waves, variant.has_waves(), variant.waves());
  set(cost.instructions, variant.has_instructions(), variant.instructions());
  set(cost.spills, variant.has_spills(), variant.spills());
  set(cost.code_bytes, variant.has_code_bytes(), variant.code_bytes());
  return cost;
}

// The key of a kind in its default axes. Requires: declared bits.
VariantKey KeyOf(const LoadedProgram& loaded, const Kind& kind,
                 FeatureMask features) {
  const VariantKey key{loaded.id, kind.value.name, "", "", features, {}};
  return NormaliseKey(loaded.program, key).value_or(key);
}

// The costs of variants by key, compiled as they are asked for.
class CostTable {
 public:
  CostTable(client::BlockingSession& session, const LoadedProgram& loaded,
            Output& output)
      : compiler_(session, loaded.program), loaded_(loaded), output_(output) {}

  // Errors: as VariantCompiler::Compile.
  absl::Status Compile(const std::vector<VariantKey>& keys) {
    std::vector<VariantKey> missing;
    for (const VariantKey& key : keys) {
      if (costs_.emplace(key, std::nullopt).second) {
        missing.push_back(key);
      }
    }
    KILN_ASSIGN_OR_RETURN(const auto completions, compiler_.Compile(missing));
    for (size_t i = 0; i < missing.size(); ++i) {
      const v1::Completion& completion = completions[i];
      if (completion.state() == v1::STATE_READY) {
        costs_[missing[i]] = CostOf(completion.variant());
        continue;
      }
      failed_ = true;
      output_.Error(absl::InternalError(
          fmt::format("{}: {}", KeyLabel(loaded_.program, missing[i]),
                      completion.failure().message())));
      output_.Details(completion.failure().diagnostics());
    }
    return absl::OkStatus();
  }

  // Absent when it did not compile. Requires: it was asked for.
  std::optional<VariantCost> Find(const VariantKey& key) const {
    const auto found = costs_.find(key);
    return found == costs_.end() ? std::nullopt : found->second;
  }

  bool failed() const { return failed_; }

 private:
  VariantCompiler compiler_;
  const LoadedProgram& loaded_;
  Output& output_;
  std::map<VariantKey, std::optional<VariantCost>> costs_;
  bool failed_ = false;
};

// Every block but one, for each kind: what the first look compiles.
std::vector<VariantKey> WithoutOneKeys(const LoadedProgram& loaded) {
  const FeatureMask all = loaded.program.AllFeatures();
  std::vector<VariantKey> keys;
  for (const Kind& kind : loaded.program.kinds) {
    for (const FeatureMask unit : FeatureUnits(loaded.program, kind)) {
      keys.push_back(KeyOf(loaded, kind, all & ~unit));
    }
  }
  return keys;
}

std::vector<BitTrial> FirstLook(const LoadedProgram& loaded,
                                const CostTable& costs) {
  const FeatureMask all = loaded.program.AllFeatures();
  std::vector<BitTrial> trials;
  for (const Kind& kind : loaded.program.kinds) {
    const auto whole = costs.Find(KeyOf(loaded, kind, all));
    for (const FeatureMask unit : FeatureUnits(loaded.program, kind)) {
      const auto without = costs.Find(KeyOf(loaded, kind, all & ~unit));
      if (whole && without) {
        trials.push_back({kind.value.name, unit, *whole, *without});
      }
    }
  }
  return trials;
}

// Compiles whole shaders and all but one block of them, then takes a second
// look at blocks that seem to be worth little.
absl::StatusOr<std::vector<BitAdvice>> JudgeBits(const LoadedProgram& loaded,
                                                 CostTable& costs,
                                                 double threshold) {
  const Program& program = loaded.program;
  std::vector<VariantKey> keys = WithoutOneKeys(loaded);
  if (!keys.empty()) {
    for (const Kind& kind : program.kinds) {
      keys.push_back(KeyOf(loaded, kind, program.AllFeatures()));
    }
  }
  KILN_RETURN_IF_ERROR(costs.Compile(keys));
  std::vector<BitTrial> trials = FirstLook(loaded, costs);
  auto seems_little = [&](const BitTrial& trial) {
    const Worth worth = JudgeBit(trial, threshold).worth;
    return worth == Worth::kNothing || worth == Worth::kLittle;
  };
  keys.clear();
  for (const BitTrial& trial : trials) {
    if (seems_little(trial)) {
      const Kind& kind = *program.FindKind(trial.kind);
      keys.push_back(KeyOf(loaded, kind, 0));
      keys.push_back(KeyOf(loaded, kind, trial.bits));
    }
  }
  KILN_RETURN_IF_ERROR(costs.Compile(keys));
  std::vector<BitAdvice> advice;
  for (BitTrial& trial : trials) {
    if (seems_little(trial)) {
      const Kind& kind = *program.FindKind(trial.kind);
      trial.none = costs.Find(KeyOf(loaded, kind, 0));
      trial.alone = costs.Find(KeyOf(loaded, kind, trial.bits));
    }
    advice.push_back(JudgeBit(std::move(trial), threshold));
  }
  return advice;
}

// What the daemon has, less what an earlier first look left there.
absl::StatusOr<Manifest> StoredManifest(client::RpcClient& rpc,
                                        client::BlockingSession& session,
                                        const LoadedProgram& loaded) {
  Manifest manifest;
  KILN_ASSIGN_OR_RETURN(manifest.keys, StoredKeys(rpc, session, loaded));
  std::vector<VariantKey> trials = WithoutOneKeys(loaded);
  std::ranges::sort(trials);
  std::erase_if(manifest.keys, [&](const VariantKey& key) {
    return std::ranges::binary_search(trials, key);
  });
  manifest.written = manifest.keys.size();
  return manifest;
}

// Requires: checked input; `manifest` absent for what is stored.
int GiveAdvice(const AdviseOptions& options, Output& output,
               const LoadedProgram& loaded, std::optional<Manifest> manifest) {
  auto rpc = ConnectToDaemon(options.common);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  auto session = OpenProgramSession(**rpc, loaded, options.target);
  if (!session.ok()) {
    return CallFailed(output, session.status());
  }
  const AdviceContext context{loaded.program, options.threshold_percent,
                              manifest.has_value()};
  if (!manifest) {
    auto stored = StoredManifest(**rpc, **session, loaded);
    if (!stored.ok()) {
      return CallFailed(output, stored.status());
    }
    manifest = *std::move(stored);
  }
  CatchInterrupts();
  CostTable costs(**session, loaded, output);
  auto bits = JudgeBits(loaded, costs, options.threshold_percent / 100);
  if (bits.status().code() == absl::StatusCode::kAborted) {
    return kInterrupted;
  }
  if (!bits.ok()) {
    return CallFailed(output, bits.status());
  }
  const Advice advice = Advise(loaded.program, manifest->keys,
                               manifest->written, *std::move(bits));
  if (output.json()) {
    for (const nlohmann::json& object : AdviceJson(advice, context)) {
      output.Result(object, "");
    }
  } else {
    const client::Session& opened = (*session)->session();
    output.Result({}, fmt::format("{} on {}: {}\n{}", loaded.program.name,
                                  options.target, opened.identity.device_name,
                                  AdviceText(advice, context)));
  }
  return costs.failed() ? kFailed : kOk;
}

int RunAdvise(const AdviseOptions& options) {
  Output output(options.common.json);
  auto program = LoadProgram(options.program);
  if (!program.ok()) {
    return BadInput(output, program.status());
  }
  if (auto spec = TargetSpec::Parse(options.target); !spec.ok()) {
    return BadInput(output, spec.status());
  }
  if (!std::isfinite(options.threshold_percent)) {
    return BadInput(output,
                    absl::InvalidArgumentError("--threshold is no number"));
  }
  std::optional<Manifest> manifest;
  if (!options.manifest.empty()) {
    auto loaded =
        LoadManifestFile(program->program, program->id, options.manifest);
    if (!loaded.ok()) {
      return BadInput(output, loaded.status());
    }
    manifest = *std::move(loaded);
  }
  return GiveAdvice(options, output, *program, std::move(manifest));
}

void AddAdviseOptions(CLI::App& command, AdviseOptions& options) {
  AddCommonOptions(command, options.common);
  command
      .add_option("PROGRAM", options.program, "Path of a *.program.toml file")
      ->required();
  command.add_option("--manifest", options.manifest,
                     "File with one key a line: kind/backdrop/blend FEATURES "
                     "(default: what the daemon has stored of the program)");
  command
      .add_option("--target", options.target,
                  "Device: radv:<family>, lavapipe or gpu:<index>")
      ->capture_default_str();
  command
      .add_option("--threshold", options.threshold_percent,
                  "Percent of the whole shader's instructions under which a "
                  "block is too little")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
}

}  // namespace

void AddAdviseCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<AdviseOptions>();
  CLI::App* command = app.add_subcommand(
      "advise", "Say which feature bits are not worth their variants");
  AddAdviseOptions(*command, *options);
  command->footer(
      "Compiles, for every kind, the whole shader and the whole less each "
      "block, and\n"
      "compares what the driver says: a block that saves under the threshold "
      "of the\n"
      "instructions (code bytes where the driver counts no instructions), no "
      "register and\n"
      "no wave, also on its own, is not worth a variant. Bits that always "
      "move together\n"
      "should be merged, and overrides of many values rounded up to steps. "
      "The variants\n"
      "compiled for this are stored like others: give a manifest where the "
      "counts matter.\n"
      "Examples:\n"
      "  kiln advise scene.program.toml --manifest scene.manifest\n"
      "  kiln advise scene.program.toml --threshold 5 --target radv:navi21\n"
      "  kiln advise scene.program.toml --json | jq 'select(.worth == "
      "\"little\")'");
  command->callback([options, &exit_code] { exit_code = RunAdvise(*options); });
}

}  // namespace kiln::cli
