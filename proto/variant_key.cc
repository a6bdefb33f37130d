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
constexpr uint32_t kKeyMagic = 0x014B564B;

absl::Status Unknown(const Program& program, std::string_view what,
                     std::string_view name) {
  return absl::InvalidArgumentError(fmt::format(
      "program {} has no {} '{}'", program.name, what, Shorten(name, 100)));
}

absl::Status NormaliseOverrides(const Program& program,
                                std::vector<OverrideValue>& overrides) {
  for (const OverrideValue& entry : overrides) {
    const Override* declared = program.FindOverride(entry.name);
    if (declared == nullptr) {
      return Unknown(program, "override", entry.name);
    }
    if (declared->type == ConstantType::kBool && entry.value > 1) {
      return absl::InvalidArgumentError(fmt::format(
          "override {} is a bool, not {}", entry.name, entry.value));
    }
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

// The axis values a normalised key selects, in merge order.
std::vector<const AxisValue*> SelectedValues(const Program& program,
                                             const VariantKey& key) {
  return {&program.FindKind(key.kind)->value,
          program.FindBackdrop(key.backdrop), program.FindBlend(key.blend)};
}

std::string OverrideText(const Program& program, const OverrideValue& entry) {
  const Override* declared = program.FindOverride(entry.name);
  switch (declared == nullptr ? ConstantType::kUint : declared->type) {
    case ConstantType::kFloat:
      return fmt::format(" {}={}", entry.name,
                         std::bit_cast<float>(entry.value));
    case ConstantType::kInt:
      return fmt::format(" {}={}", entry.name,
                         static_cast<int32_t>(entry.value));
    default:
      return fmt::format(" {}={}", entry.name, entry.value);
  }
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
  if (const uint32_t unknown = key.features & ~program.AllFeatures();
      unknown != 0) {
    return absl::InvalidArgumentError(
        fmt::format("program {} has no feature bit {} (mask {:#x})",
                    program.name, std::countr_zero(unknown), key.features));
  }
  KILN_RETURN_IF_ERROR(NormaliseOverrides(program, key.overrides));
  return key;
}

Bytes EncodeKey(const VariantKey& key) {
  CanonicalWriter out;
  out.U32(kKeyMagic);
  out.Id(key.program);
  out.Text(key.kind);
  out.Text(key.backdrop);
  out.Text(key.blend);
  out.U32(key.features);
  out.Sequence(key.overrides, [&](const OverrideValue& entry) {
    out.Text(entry.name);
    out.U32(entry.value);
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
  key.features = in.U32();
  in.Sequence(limits::kOverrides, [&] {
    std::string name = in.Text();
    key.overrides.push_back({std::move(name), in.U32()});
  });
  KILN_RETURN_IF_ERROR(in.Finish("variant key"));
  return key;
}

Digest KeyId(const VariantKey& key) {
  return Digest::Of(EncodeKey(key));
}

std::string KeyLabel(const Program& program, const VariantKey& key) {
  std::string label =
      fmt::format("{} {}/{}/{} {}", program.name, key.kind, key.backdrop,
                  key.blend, program.FeatureText(key.features));
  for (const OverrideValue& entry : key.overrides) {
    label += OverrideText(program, entry);
  }
  return label;
}

std::vector<Constant> KeyConstants(const Program& program,
                                   const VariantKey& key) {
  std::map<uint32_t, uint32_t> values;
  for (const AxisValue* value : SelectedValues(program, key)) {
    for (const Constant& constant : value->constants) {
      values[constant.id] = constant.value;
    }
  }
  if (!program.features.empty()) {
    values[program.features_constant_id] = key.features;
  }
  for (const OverrideValue& entry : key.overrides) {
    values[program.FindOverride(entry.name)->constant_id] = entry.value;
  }
  std::vector<Constant> constants;
  for (const auto& [id, value] : values) {
    constants.push_back({id, value});
  }
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
