// SPDX-License-Identifier: Apache-2.0
#include "proto/variant_key.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include <fmt/format.h>

#include "proto/canonical.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln {
namespace {

// "KVK" and the format version, as for programs.
constexpr uint32_t kKeyMagic = 0x024B564B;

absl::Status Unknown(const Program& program, std::string_view what,
                     std::string_view name) {
  return absl::InvalidArgumentError(fmt::format(
      "program {} has no {} '{}'", program.name, what, Shorten(name, 100)));
}

// Rounds `value` up to the override's next step and checks its range.
absl::StatusOr<uint64_t> Quantise(const Override& declared, uint64_t value) {
  auto text = [&](uint64_t bits) {
    return FormatConstant(declared.type, bits);
  };
  auto less = [&](uint64_t a, uint64_t b) {
    return CompareConstants(declared.type, a, b) < 0;
  };
  if (absl::Status status = CheckConstant(declared.type, value); !status.ok()) {
    return absl::InvalidArgumentError(fmt::format(
        "override {}: {}", declared.name,
        std::string_view(status.message().data(), status.message().size())));
  }
  if ((declared.min && less(value, *declared.min)) ||
      (declared.max && less(*declared.max, value))) {
    return absl::InvalidArgumentError(fmt::format(
        "override {}={} is out of its range, {} to {}", declared.name,
        text(value), declared.min ? text(*declared.min) : "the type's least",
        declared.max ? text(*declared.max) : "the type's greatest"));
  }
  // -0.0 and 0.0 are one number and one variant.
  if (CompareConstants(declared.type, value, declared.default_value) == 0) {
    return declared.default_value;
  }
  if (CompareConstants(declared.type, value, 0) == 0) {
    value = 0;
  }
  if (declared.steps.empty()) {
    return value;
  }
  const auto step = std::ranges::lower_bound(declared.steps, value, less);
  if (step == declared.steps.end()) {
    return absl::InvalidArgumentError(
        fmt::format("override {}={} is over its last step, {}", declared.name,
                    text(value), text(declared.steps.back())));
  }
  return *step;
}

absl::Status NormaliseOverrides(const Program& program,
                                std::vector<OverrideValue>& overrides) {
  for (OverrideValue& entry : overrides) {
    const Override* declared = program.FindOverride(entry.name);
    if (declared == nullptr) {
      return Unknown(program, "override", entry.name);
    }
    KILN_ASSIGN_OR_RETURN(entry.value, Quantise(*declared, entry.value));
  }
  std::ranges::sort(overrides);
  auto same_name = [](const OverrideValue& a, const OverrideValue& b) {
    return a.name == b.name;
  };
  if (auto twice = std::ranges::adjacent_find(overrides, same_name);
      twice != overrides.end()) {
    return absl::InvalidArgumentError(
        fmt::format("override {} is given twice", twice->name));
  }
  std::erase_if(overrides, [&](const OverrideValue& entry) {
    return program.FindOverride(entry.name)->default_value == entry.value;
  });
  return absl::OkStatus();
}

FeatureMask NormaliseFeatures(const Program& program, const Kind& kind,
                              FeatureMask features) {
  for (const FeatureMask group : program.merged) {
    features |= (features & group) != 0 ? group : 0;
  }
  const FeatureMask all = program.AllFeatures();
  const bool whole = (features | kind.ignored_features) == all;
  return whole ? all : features & ~kind.ignored_features;
}

// The axis values a normalised key selects, in merge order.
std::vector<const AxisValue*> SelectedValues(const Program& program,
                                             const VariantKey& key) {
  return {&program.FindKind(key.kind)->value,
          program.FindBackdrop(key.backdrop), program.FindBlend(key.blend)};
}

}  // namespace

absl::StatusOr<VariantKey> NormaliseKey(const Program& program,
                                        VariantKey key) {
  const Kind* kind = program.FindKind(key.kind);
  if (kind == nullptr) {
    return Unknown(program, "kind", key.kind);
  }
  if (!key.backdrop.empty() && program.FindBackdrop(key.backdrop) == nullptr) {
    return Unknown(program, "backdrop", key.backdrop);
  }
  if (!key.blend.empty() && program.FindBlend(key.blend) == nullptr) {
    return Unknown(program, "blend", key.blend);
  }
  if (key.backdrop.empty() || !kind->uses_backdrop) {
    key.backdrop = program.backdrops.front().name;
  }
  if (key.blend.empty() || !kind->uses_blend) {
    key.blend = program.blends.front().name;
  }
  if (const FeatureMask unknown = key.features & ~program.AllFeatures();
      unknown != 0) {
    return absl::InvalidArgumentError(
        fmt::format("program {} has no feature bit {} (mask {:#x})",
                    program.name, std::countr_zero(unknown), key.features));
  }
  key.features = NormaliseFeatures(program, *kind, key.features);
  KILN_RETURN_IF_ERROR(NormaliseOverrides(program, key.overrides));
  return key;
}

bool Serves(const VariantKey& stored, const VariantKey& asked) {
  VariantKey reduced = asked;
  reduced.overrides = stored.overrides;
  return reduced == stored &&
         std::ranges::includes(asked.overrides, stored.overrides);
}

Bytes EncodeKey(const VariantKey& key) {
  CanonicalWriter out;
  out.U32(kKeyMagic);
  out.Id(key.program);
  out.Text(key.kind);
  out.Text(key.backdrop);
  out.Text(key.blend);
  out.U64(key.features);
  out.Sequence(key.overrides, [&](const OverrideValue& entry) {
    out.Text(entry.name);
    out.U64(entry.value);
  });
  return std::move(out).Take();
}

absl::StatusOr<VariantKey> DecodeKey(ByteView bytes) {
  CanonicalReader in(bytes);
  if (const uint32_t magic = in.U32(); magic != kKeyMagic) {
    return absl::InvalidArgumentError(fmt::format(
        "variant key: magic is {:#x}, not {:#x}", magic, kKeyMagic));
  }
  VariantKey key;
  key.program = in.Id();
  key.kind = in.Text();
  key.backdrop = in.Text();
  key.blend = in.Text();
  key.features = in.U64();
  in.Sequence(limits::kOverrides, [&] {
    std::string name = in.Text();
    key.overrides.push_back({std::move(name), in.U64()});
  });
  KILN_RETURN_IF_ERROR(in.Finish("variant key"));
  return key;
}

Digest KeyId(const VariantKey& key) {
  return Digest::Of(EncodeKey(key));
}

std::string OverridesText(const Program& program, const VariantKey& key) {
  std::string text;
  for (const OverrideValue& entry : key.overrides) {
    const Override* declared = program.FindOverride(entry.name);
    const ConstantType type =
        declared == nullptr ? ConstantType::kUint64 : declared->type;
    text += fmt::format("{}{}={}", text.empty() ? "" : "|", entry.name,
                        FormatConstant(type, entry.value));
  }
  return text;
}

std::string KeyLabel(const Program& program, const VariantKey& key) {
  const std::string overrides = OverridesText(program, key);
  return fmt::format("{} {}/{}/{} {}{}{}", program.name, key.kind, key.backdrop,
                     key.blend, program.FeatureText(key.features),
                     overrides.empty() ? "" : " ", overrides);
}

std::vector<Constant> KeyConstants(const Program& program,
                                   const VariantKey& key) {
  std::map<uint32_t, Constant> by_id;
  std::vector<Constant> by_name;
  for (const AxisValue* value : SelectedValues(program, key)) {
    for (const Constant& constant : value->constants) {
      by_id[constant.id] = constant;
    }
  }
  const size_t words =
      program.features.empty() ? 0 : program.features_constant_ids.size();
  for (size_t word = 0; word < words; ++word) {
    const uint32_t id = program.features_constant_ids[word];
    by_id[id] = {id, key.features >> (32 * word) & 0xffffffff,
                 ConstantType::kUint32, "features"};
  }
  for (const OverrideValue& entry : key.overrides) {
    const Override* declared = program.FindOverride(entry.name);
    const Constant constant{declared->constant_id.value_or(kIdByName),
                            entry.value, declared->type, entry.name};
    if (constant.id == kIdByName) {
      by_name.push_back(constant);
    } else {
      by_id[constant.id] = constant;
    }
  }
  std::vector<Constant> constants;
  for (const auto& [id, constant] : by_id) {
    constants.push_back(constant);
  }
  constants.insert(constants.end(), by_name.begin(), by_name.end());
  return constants;
}

std::vector<StateSetting> KeyState(const Program& program,
                                   const VariantKey& key) {
  std::map<std::string, std::string> values;
  for (const AxisValue* value : SelectedValues(program, key)) {
    for (const StateSetting& setting : value->state) {
      values[setting.name] = setting.value;
    }
  }
  std::vector<StateSetting> state;
  for (const auto& [name, value] : values) {
    state.push_back({name, value});
  }
  return state;
}

std::vector<VariantKey> WholeKeys(const Program& program,
                                  const Digest& program_id) {
  std::set<VariantKey> keys;
  for (const Kind& kind : program.kinds) {
    for (const AxisValue& backdrop : program.backdrops) {
      for (const AxisValue& blend : program.blends) {
        VariantKey key{program_id, kind.value.name,       backdrop.name,
                       blend.name, program.AllFeatures(), {}};
        keys.insert(NormaliseKey(program, std::move(key)).value());
      }
    }
  }
  return {keys.begin(), keys.end()};
}

}  // namespace kiln
