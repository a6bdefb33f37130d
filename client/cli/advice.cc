// SPDX-License-Identifier: Apache-2.0
#include "client/cli/advice.h"

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace kiln::cli {
namespace {

auto AllFigures(const VariantCost& cost) {
  return std::tie(cost.registers, cost.waves, cost.instructions, cost.spills,
                  cost.code_bytes);
}

bool SameOccupancy(const VariantCost& a, const VariantCost& b) {
  return a.registers == b.registers && a.waves == b.waves;
}

std::optional<double> SavedShare(const VariantCost& whole,
                                 const VariantCost& without) {
  for (const auto figure :
       {&VariantCost::instructions, &VariantCost::code_bytes}) {
    if (whole.*figure && without.*figure && *(whole.*figure) > 0) {
      return 1.0 - static_cast<double>(*(without.*figure)) / *(whole.*figure);
    }
  }
  return std::nullopt;
}

// The bits of a program as they can be set: singly, or by merged group.
std::vector<FeatureMask> Units(const Program& program) {
  std::vector<FeatureMask> units;
  for (const FeatureBit& feature : program.features) {
    FeatureMask unit = FeatureMask{1} << feature.bit;
    for (const FeatureMask group : program.merged) {
      unit |= (group & unit) != 0 ? group : 0;
    }
    if (std::ranges::find(units, unit) == units.end()) {
      units.push_back(unit);
    }
  }
  return units;
}

// The keys that say something about content, and what each of them cannot say.
struct Evidence {
  FeatureMask features;
  FeatureMask ignored;
};

std::vector<Evidence> EvidenceOf(const Program& program,
                                 std::span<const VariantKey> keys) {
  std::vector<Evidence> evidence;
  for (const VariantKey& key : keys) {
    const Kind* kind = program.FindKind(key.kind);
    if (kind != nullptr && key.features != program.AllFeatures()) {
      evidence.push_back({key.features, kind->ignored_features});
    }
  }
  return evidence;
}

// The values that `unit` has over all keys that reach it.
std::set<bool> ValuesOf(FeatureMask unit,
                        const std::vector<Evidence>& evidence) {
  std::set<bool> values;
  for (const Evidence& key : evidence) {
    if ((unit & ~key.ignored) != 0) {
      values.insert((key.features & unit) != 0);
    }
  }
  return values;
}

bool MoveTogether(FeatureMask a, FeatureMask b,
                  const std::vector<Evidence>& evidence) {
  bool met = false;
  for (const Evidence& key : evidence) {
    if ((a & ~key.ignored) != 0 && (b & ~key.ignored) != 0) {
      met = true;
      if (((key.features & a) != 0) != ((key.features & b) != 0)) {
        return false;
      }
    }
  }
  return met;
}

// Every value that `keys` give an override, ascending. Normalised keys leave
// out the default.
std::vector<uint64_t> ValuesIn(std::span<const VariantKey> keys,
                               const Override& entry) {
  std::set<uint64_t> values;
  for (const VariantKey& key : keys) {
    const auto found =
        std::ranges::find(key.overrides, entry.name, &OverrideValue::name);
    if (found != key.overrides.end()) {
      values.insert(found->value);
    }
  }
  std::vector<uint64_t> ascending(values.begin(), values.end());
  std::ranges::sort(ascending, [&](uint64_t a, uint64_t b) {
    return std::is_lt(CompareConstants(entry.type, a, b));
  });
  return ascending;
}

// As many steps as there may be, each with as many values.
std::vector<uint64_t> StepsFor(const std::vector<uint64_t>& seen) {
  std::vector<uint64_t> steps;
  for (size_t step = 1; step <= kFewValues; ++step) {
    steps.push_back(
        seen[(seen.size() * step + kFewValues - 1) / kFewValues - 1]);
  }
  return steps;
}

// Distinct keys once each of `keys` is normalised for `program`, with the bits
// of `always` of its kind set.
size_t CountKeys(const Program& program, std::span<const VariantKey> keys,
                 const std::map<std::string, FeatureMask>& always) {
  std::set<VariantKey> distinct;
  for (VariantKey key : keys) {
    if (const auto bits = always.find(key.kind); bits != always.end()) {
      key.features |= bits->second;
    }
    if (auto normalised = NormaliseKey(program, std::move(key));
        normalised.ok()) {
      distinct.insert(*std::move(normalised));
    }
  }
  return distinct.size();
}

// `program` with the advice on flags and overrides taken.
Program Advised(Program program, const Advice& advice) {
  for (const FlagGroup& group : advice.flags.groups) {
    std::erase_if(program.merged,
                  [&](FeatureMask old) { return (old & group.bits) != 0; });
    program.merged.push_back(group.bits);
  }
  for (const OverrideAdvice& entry : advice.overrides) {
    std::ranges::find(program.overrides, entry.name, &Override::name)->steps =
        entry.steps;
  }
  return program;
}

}  // namespace

std::vector<FeatureMask> FeatureUnits(const Program& program,
                                      const Kind& kind) {
  std::vector<FeatureMask> units = Units(program);
  std::erase_if(units, [&](FeatureMask unit) {
    return (unit & ~kind.ignored_features) == 0;
  });
  return units;
}

const char* WorthName(Worth worth) {
  switch (worth) {
    case Worth::kNothing:
      return "nothing";
    case Worth::kLittle:
      return "little";
    case Worth::kEnough:
      return "enough";
    default:
      return "unknown";
  }
}

BitAdvice JudgeBit(BitTrial trial, double threshold) {
  BitAdvice advice{std::move(trial)};
  const BitTrial& seen = advice.trial;
  advice.saved = SavedShare(seen.whole, seen.without);
  const bool second_look = seen.none && seen.alone;
  if (!advice.saved) {
    advice.worth = Worth::kUnknown;
  } else if (AllFigures(seen.whole) == AllFigures(seen.without) &&
             (!second_look ||
              AllFigures(*seen.none) == AllFigures(*seen.alone))) {
    advice.worth = Worth::kNothing;
  } else if (*advice.saved < threshold &&
             SameOccupancy(seen.whole, seen.without) &&
             (!second_look || SameOccupancy(*seen.none, *seen.alone))) {
    advice.worth = Worth::kLittle;
  } else {
    advice.worth = Worth::kEnough;
  }
  return advice;
}

FlagAdvice StudyFlags(const Program& program,
                      std::span<const VariantKey> keys) {
  const std::vector<Evidence> evidence = EvidenceOf(program, keys);
  FlagAdvice advice;
  advice.keys = evidence.size();
  // The first unit of each group stands for it until all are compared.
  std::vector<std::vector<FeatureMask>> groups;
  for (const FeatureMask unit : Units(program)) {
    const std::set<bool> values = ValuesOf(unit, evidence);
    if (values.size() < 2) {
      advice.always |= values.contains(true) ? unit : 0;
      advice.never |= values.contains(false) ? unit : 0;
      continue;
    }
    const auto group = std::ranges::find_if(groups, [&](const auto& members) {
      return std::ranges::all_of(members, [&](FeatureMask member) {
        return MoveTogether(member, unit, evidence);
      });
    });
    if (group != groups.end()) {
      group->push_back(unit);
    } else {
      groups.push_back({unit});
    }
  }
  for (const std::vector<FeatureMask>& members : groups) {
    if (members.size() < 2) {
      continue;
    }
    FlagGroup& group = advice.groups.emplace_back();
    for (const FeatureMask member : members) {
      group.bits |= member;
    }
    group.set_in = static_cast<size_t>(std::ranges::count_if(
        evidence,
        [&](const Evidence& key) { return (key.features & group.bits) != 0; }));
  }
  return advice;
}

std::vector<OverrideAdvice> StudyOverrides(const Program& program,
                                           std::span<const VariantKey> keys) {
  std::vector<OverrideAdvice> advice;
  for (const Override& entry : program.overrides) {
    const bool exact = std::ranges::find(program.workgroup_size, entry.name) !=
                       program.workgroup_size.end();
    if (!entry.steps.empty() || exact) {
      continue;
    }
    std::vector<uint64_t> seen = ValuesIn(keys, entry);
    if (seen.size() > kFewValues) {
      std::vector<uint64_t> steps = StepsFor(seen);
      advice.push_back({entry.name, std::move(seen), std::move(steps)});
    }
  }
  return advice;
}

Advice Advise(const Program& program, std::span<const VariantKey> keys,
              size_t written, std::vector<BitAdvice> bits) {
  Advice advice;
  advice.bits = std::move(bits);
  advice.flags = StudyFlags(program, keys);
  advice.overrides = StudyOverrides(program, keys);
  std::map<std::string, FeatureMask> dropped;
  for (const BitAdvice& bit : advice.bits) {
    if (bit.worth == Worth::kNothing || bit.worth == Worth::kLittle) {
      dropped[bit.trial.kind] |= bit.trial.bits;
    }
  }
  advice.counts.written = written;
  advice.counts.normalised = CountKeys(program, keys, {});
  advice.counts.worth = CountKeys(program, keys, dropped);
  advice.counts.merged = CountKeys(Advised(program, advice), keys, dropped);
  return advice;
}

}  // namespace kiln::cli
