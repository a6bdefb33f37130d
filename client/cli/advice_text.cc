// SPDX-License-Identifier: Apache-2.0
#include "client/cli/advice_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace kiln::cli {
namespace {

using nlohmann::json;

std::vector<std::string> NamesOf(const Program& program, FeatureMask mask) {
  std::vector<std::string> names;
  for (const FeatureBit& feature : program.features) {
    if ((mask >> feature.bit & 1) != 0) {
      names.push_back(feature.name);
    }
  }
  return names;
}

std::string Joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

// A TOML array; names hold no control characters, but may hold quotes.
std::string TomlArray(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  quoted.reserve(names.size());
  for (const std::string& name : names) {
    quoted.push_back(json(name).dump());
  }
  return "[" + Joined(quoted) + "]";
}

std::vector<std::string> ValueTexts(const Program& program,
                                    const std::string& name,
                                    const std::vector<uint64_t>& values) {
  const ConstantType type = program.FindOverride(name)->type;
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const uint64_t value : values) {
    texts.push_back(FormatConstant(type, value));
  }
  return texts;
}

std::string Change(const std::optional<uint32_t>& from,
                   const std::optional<uint32_t>& to) {
  return from && to ? fmt::format("{} > {}", *from, *to) : "n/a";
}

std::string SavedText(const BitAdvice& advice) {
  // Adding 0.0 turns a rounded -0 into 0.
  return advice.saved ? fmt::format("{:.1f}%",
                                    std::round(1000 * *advice.saved) / 10 + 0.0)
                      : "n/a";
}

// True for a block that the first look alone would have called too little.
bool IsWorthAlone(const BitAdvice& bit, double threshold_percent) {
  return bit.worth == Worth::kEnough && bit.trial.alone && bit.saved &&
         100 * *bit.saved < threshold_percent;
}

std::string_view Verdict(const BitAdvice& bit, double threshold_percent) {
  switch (bit.worth) {
    case Worth::kNothing:
      return "  changes nothing";
    case Worth::kLittle:
      return "  not worth a variant";
    case Worth::kUnknown:
      return "  the driver does not say";
    default:
      return IsWorthAlone(bit, threshold_percent)
                 ? "  worth it where it is alone"
                 : "";
  }
}

// What leaving out each bit of one kind saves.
std::string KindTable(const Advice& advice, const AdviceContext& context,
                      const Kind& kind) {
  std::string text;
  for (const BitAdvice& bit : advice.bits) {
    if (bit.trial.kind != kind.value.name) {
      continue;
    }
    const VariantCost& whole = bit.trial.whole;
    const VariantCost& without = bit.trial.without;
    const bool counted = whole.instructions && without.instructions;
    text +=
        fmt::format("  {:>16} {:>7} {:>12} {:>10}  {}{}\n",
                    counted ? Change(whole.instructions, without.instructions)
                            : Change(whole.code_bytes, without.code_bytes),
                    SavedText(bit), Change(whole.registers, without.registers),
                    Change(whole.waves, without.waves),
                    Joined(NamesOf(context.program, bit.trial.bits)),
                    Verdict(bit, context.threshold_percent));
  }
  if (text.empty()) {
    return text;
  }
  return fmt::format(
      "\n{}: the whole shader, and the whole less one block\n"
      "  {:>16} {:>7} {:>12} {:>10}  block\n{}",
      kind.value.name, "instructions", "saved", "registers", "waves", text);
}

FeatureMask BitsOf(const Advice& advice, const Kind& kind, Worth worth) {
  FeatureMask mask = 0;
  for (const BitAdvice& bit : advice.bits) {
    if (bit.trial.kind == kind.value.name && bit.worth == worth) {
      mask |= bit.trial.bits;
    }
  }
  return mask;
}

std::string BitsText(const Advice& advice, const AdviceContext& context) {
  const Program& program = context.program;
  if (program.features.empty()) {
    return "\nthe program has no feature bits: nothing to leave out\n";
  }
  std::string text;
  for (const Kind& kind : program.kinds) {
    text += KindTable(advice, context, kind);
  }
  for (const Kind& kind : program.kinds) {
    const auto little = NamesOf(program, BitsOf(advice, kind, Worth::kLittle));
    if (!little.empty()) {
      text += fmt::format(
          "\nnot worth a variant in kind {} (under {:g}% of the code, no "
          "register, no wave):\n  {}\n",
          kind.value.name, context.threshold_percent, Joined(little));
    }
  }
  for (const Kind& kind : program.kinds) {
    const FeatureMask nothing = BitsOf(advice, kind, Worth::kNothing);
    if (nothing != 0) {
      const FeatureMask kept =
          program.AllFeatures() & ~kind.ignored_features & ~nothing;
      text += fmt::format(
          "\nno figure of kind {} changes without: {}\nadd them to the kind's "
          "ignored bits, by listing those it reaches:\n"
          "  [[kind]]  # {}\n  features = {}\n",
          kind.value.name, Joined(NamesOf(program, nothing)), kind.value.name,
          TomlArray(NamesOf(program, kept)));
    }
  }
  return text;
}

std::string FlagsText(const FlagAdvice& flags, const AdviceContext& context) {
  const Program& program = context.program;
  std::string text;
  if (flags.always != 0) {
    text += fmt::format("\nalways set, in {} keys: {}\n", flags.keys,
                        Joined(NamesOf(program, flags.always)));
  }
  if (flags.never != 0) {
    text += fmt::format("\nnever set, in {} keys: {}\n", flags.keys,
                        Joined(NamesOf(program, flags.never)));
  }
  for (const FlagGroup& group : flags.groups) {
    const auto names = NamesOf(program, group.bits);
    text += fmt::format(
        "\nalways move together, set in {} of {} keys: {}\nmerge them:\n"
        "  [[features.merged]]\n  bits = {}\n",
        group.set_in, flags.keys, Joined(names), TomlArray(names));
  }
  return text;
}

std::string OverridesText(const Advice& advice, const Program& program) {
  std::string text;
  for (const OverrideAdvice& entry : advice.overrides) {
    const auto seen = ValueTexts(program, entry.name, entry.seen);
    text += fmt::format(
        "\noverride {} has {} values: {}\nround them up to a few:\n"
        "  steps = [{}]\n",
        entry.name, seen.size(), Joined(seen),
        Joined(ValueTexts(program, entry.name, entry.steps)));
  }
  return text;
}

std::string CountsText(const VariantCounts& counts,
                       const AdviceContext& context) {
  const char* const source = context.from_manifest ? "manifest" : "store";
  if (counts.written == 0) {
    return fmt::format("\nthe {} has no variants of this program\n", source);
  }
  return fmt::format(
      "\nvariants that the {} needs:\n"
      "  {:>6}  as {}\n"
      "  {:>6}  after normalisation: unused axes and ignored bits left out, "
      "every block is the whole shader\n"
      "  {:>6}  with bits that are worth little always on\n"
      "  {:>6}  with flags merged and overrides rounded up to steps\n",
      source, counts.written, context.from_manifest ? "written" : "stored",
      counts.normalised, counts.worth, counts.merged);
}

json CostJson(const VariantCost& cost) {
  json object = json::object();
  auto set = [&](const char* name, const std::optional<uint32_t>& value) {
    if (value) {
      object[name] = *value;
    }
  };
  set("registers", cost.registers);
  set("waves", cost.waves);
  set("instructions", cost.instructions);
  set("spills", cost.spills);
  set("code_bytes", cost.code_bytes);
  return object;
}

json BitJson(const BitAdvice& bit, const Program& program) {
  json object = {{"type", "bit"},
                 {"kind", bit.trial.kind},
                 {"bits", NamesOf(program, bit.trial.bits)},
                 {"worth", WorthName(bit.worth)},
                 {"whole", CostJson(bit.trial.whole)},
                 {"without", CostJson(bit.trial.without)}};
  if (bit.saved) {
    object["saved_percent"] = 100 * *bit.saved;
  }
  if (bit.trial.none && bit.trial.alone) {
    object["none"] = CostJson(*bit.trial.none);
    object["alone"] = CostJson(*bit.trial.alone);
  }
  return object;
}

}  // namespace

std::string AdviceText(const Advice& advice, const AdviceContext& context) {
  std::string text = BitsText(advice, context);
  if (advice.flags.keys != 0) {
    text += FlagsText(advice.flags, context);
  }
  text += OverridesText(advice, context.program);
  return text + CountsText(advice.counts, context);
}

std::vector<json> AdviceJson(const Advice& advice,
                             const AdviceContext& context) {
  const Program& program = context.program;
  std::vector<json> objects;
  for (const BitAdvice& bit : advice.bits) {
    objects.push_back(BitJson(bit, program));
  }
  json flags = {{"type", "flags"},
                {"keys", advice.flags.keys},
                {"always", NamesOf(program, advice.flags.always)},
                {"never", NamesOf(program, advice.flags.never)},
                {"merge", json::array()}};
  for (const FlagGroup& group : advice.flags.groups) {
    flags["merge"].push_back(
        {{"bits", NamesOf(program, group.bits)}, {"set_in", group.set_in}});
  }
  objects.push_back(std::move(flags));
  for (const OverrideAdvice& entry : advice.overrides) {
    objects.push_back(
        {{"type", "override"},
         {"name", entry.name},
         {"seen", ValueTexts(program, entry.name, entry.seen)},
         {"steps", ValueTexts(program, entry.name, entry.steps)}});
  }
  objects.push_back({{"type", "summary"},
                     {"program", program.name},
                     {"source", context.from_manifest ? "manifest" : "store"},
                     {"written", advice.counts.written},
                     {"normalised", advice.counts.normalised},
                     {"worth", advice.counts.worth},
                     {"merged", advice.counts.merged}});
  return objects;
}

}  // namespace kiln::cli
