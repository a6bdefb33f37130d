// SPDX-License-Identifier: Apache-2.0
#include "shaders/schema_features.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "proto/text.h"

namespace kiln::shaders {

std::string WhereOf(const TextPlace& place) {
  return fmt::format("{}:{}", place.file, place.line);
}

uint32_t FeatureWord(FeatureMask mask, size_t index) {
  return index > 1 ? 0 : static_cast<uint32_t>(mask >> (32 * index));
}

// One Uses<Name> of a module, and what it did.
struct FeatureComparison::Behaviour {
  std::string name;  // of the feature
  uint32_t result = 0;
  FeatureMask true_for = 0;  // the bits that make it true, each set alone
  bool true_for_none = false;
  bool true_for_all = false;
  bool known = true;  // false: it could not be computed

  bool Read(const ModuleConstants& module) {
    const std::optional<NumericValue> value = module.Value(result);
    known = known && value && value->lanes.size() == 1;
    return known && value->lanes[0] != 0;
  }
};

std::vector<FeatureComparison::Behaviour> FeatureComparison::BooleansOf(
    const ModuleConstants& module) {
  std::vector<Behaviour> booleans;
  for (const auto& [result, name] : module.names()) {
    const std::string_view feature = FeatureOfBoolean(name);
    const std::optional<NumericValue> value = module.Value(result);
    if (!feature.empty() && module.IsConstant(result) &&
        (!value || value->type.kind == NumericType::Kind::kBool)) {
      Behaviour boolean;
      boolean.name = ToValidUtf8(feature);
      boolean.result = result;
      booleans.push_back(std::move(boolean));
    }
  }
  std::ranges::sort(booleans, {}, &Behaviour::result);
  return booleans;
}

// Sets the words of `mask` that the module has. False: it cannot be done.
bool FeatureComparison::SetFeatures(FeatureMask mask, std::string_view stage,
                                    ModuleConstants& module) {
  std::vector<Constant> constants;
  for (size_t i = 0; i < program_.features_constant_ids.size(); ++i) {
    const uint32_t id = program_.features_constant_ids[i];
    if (std::ranges::any_of(module.declared(),
                            [&](const DeclaredConstant& declared) {
                              return declared.constant_id == id;
                            })) {
      constants.push_back({id, FeatureWord(mask, i), ConstantType::kUint32,
                           i == 0 ? "features" : "features, high word"});
    }
  }
  const absl::Status set = module.Set(constants);
  if (!set.ok()) {
    found_.push_back(
        fmt::format("the {} stage: {}", stage, std::string(set.message())));
  }
  return set.ok();
}

void FeatureComparison::AddModule(std::string_view stage,
                                  ModuleConstants& module) {
  std::vector<Behaviour> booleans = BooleansOf(module);
  const size_t bits = 32 * program_.features_constant_ids.size();
  for (size_t bit = 0; bit < bits; ++bit) {
    const FeatureMask mask = FeatureMask{1} << bit;
    if (!SetFeatures(mask, stage, module)) {
      return;
    }
    for (Behaviour& boolean : booleans) {
      boolean.true_for |= boolean.Read(module) ? mask : 0;
    }
  }
  if (!SetFeatures(0, stage, module)) {
    return;
  }
  for (Behaviour& boolean : booleans) {
    boolean.true_for_none = boolean.Read(module);
  }
  if (!SetFeatures(program_.AllFeatures(), stage, module)) {
    return;
  }
  for (Behaviour& boolean : booleans) {
    boolean.true_for_all = boolean.Read(module);
    in_modules_.insert(boolean.name);
    CompareBehaviour(stage, boolean);
  }
}

void FeatureComparison::CompareBehaviour(std::string_view stage,
                                         const Behaviour& boolean) {
  const auto report = [&](std::string_view schema, std::string_view shader) {
    found_.push_back(
        fmt::format("feature {}: {} in the schema, Uses{} {} in "
                    "the {} stage",
                    boolean.name, schema, boolean.name, shader, stage));
  };
  const FeatureBit* feature = program_.FindFeature(boolean.name);
  if (feature == nullptr) {
    report("no such bit", fmt::format("tests {}", BitsText(boolean.true_for)));
    return;
  }
  const std::string bit = fmt::format("bit {}", feature->bit);
  if (!boolean.known) {
    report(bit, "cannot be computed");
  } else if (boolean.true_for_none) {
    report(bit, "is true with no bit set");
  } else if (boolean.true_for != FeatureMask{1} << feature->bit) {
    report(bit, fmt::format("tests {}", BitsText(boolean.true_for)));
  } else if (!boolean.true_for_all) {
    report(bit, "is false with every bit set");
  }
}

// "bit 3 (Stochastic), bit 4 (Lightmap)", the first few.
std::string FeatureComparison::BitsText(FeatureMask mask) const {
  constexpr size_t kShown = 4;
  std::vector<std::string> texts;
  for (uint32_t bit = 0; bit < 64; ++bit) {
    if ((mask >> bit & 1) == 0) {
      continue;
    }
    const auto feature =
        std::ranges::find(program_.features, bit, &FeatureBit::bit);
    texts.push_back(feature == program_.features.end()
                        ? fmt::format("bit {}", bit)
                        : fmt::format("bit {} ({})", bit, feature->name));
  }
  if (texts.size() > kShown) {
    texts.resize(kShown);
    texts.emplace_back("more");
  }
  return texts.empty() ? "no bit" : fmt::format("{}", fmt::join(texts, ", "));
}

void FeatureComparison::AddText(const ShaderText& text) {
  std::map<std::string, size_t> words;  // of the mask, by constant
  for (const TextConstant& constant : text.constants) {
    const auto id =
        std::ranges::find(program_.features_constant_ids, constant.id);
    if (id != program_.features_constant_ids.end()) {
      words[constant.name] =
          static_cast<size_t>(id - program_.features_constant_ids.begin());
    }
  }
  for (const TextBoolean& boolean : text.booleans) {
    in_text_.insert(boolean.name);
    const std::string where = WhereOf(boolean.place);
    const FeatureBit* feature = program_.FindFeature(boolean.name);
    if (feature == nullptr) {
      found_.push_back(
          fmt::format("feature {}: no such bit in the schema, "
                      "Uses{} at {}",
                      boolean.name, boolean.name, where));
      continue;
    }
    if (!boolean.constant || !boolean.bit) {
      continue;  // of another form; the SPIR-V tells
    }
    const auto word = words.find(*boolean.constant);
    if (word == words.end()) {
      found_.push_back(
          fmt::format("feature {}: Uses{} tests `{}` at {}, which is no "
                      "features constant of the schema",
                      boolean.name, boolean.name, *boolean.constant, where));
      continue;
    }
    const size_t bit = *boolean.bit + 32 * word->second;
    if (bit != feature->bit) {
      found_.push_back(
          fmt::format("feature {}: bit {} in the schema, bit {} "
                      "at {}",
                      boolean.name, feature->bit, bit, where));
    }
  }
}

void FeatureComparison::Finish() {
  for (const FeatureBit& feature : program_.features) {
    if (!in_text_.contains(feature.name)) {
      found_.push_back(
          fmt::format("feature {}: bit {} in the schema, no Uses{} "
                      "in the shader text",
                      feature.name, feature.bit, feature.name));
    }
    if (!in_modules_.contains(feature.name)) {
      found_.push_back(
          fmt::format("feature {}: bit {} in the schema, no Uses{} "
                      "in the SPIR-V of any stage",
                      feature.name, feature.bit, feature.name));
    }
  }
}

}  // namespace kiln::shaders
