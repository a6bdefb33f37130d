// SPDX-License-Identifier: Apache-2.0
#include "client/cli/selection.h"

#include <bit>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::cli {
namespace {

std::string NameOf(const Kind& kind) {
  return kind.value.name;
}

std::string NameOf(const AxisValue& value) {
  return value.name;
}

std::string NameOf(const Override& entry) {
  return entry.name;
}

template <typename Range>
absl::Status NoSuch(const Program& program, std::string_view what,
                    std::string_view name, const Range& range) {
  std::string names;
  for (const auto& element : range) {
    names += (names.empty() ? "" : ", ") + NameOf(element);
  }
  return absl::InvalidArgumentError(
      fmt::format("program {} has no {} '{}'; it has {}", program.name, what,
                  Shorten(name, 100), names.empty() ? "none" : names));
}

absl::StatusOr<OverrideValue> ParseOverride(const Program& program,
                                            std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == text.npos) {
    return absl::InvalidArgumentError(
        fmt::format("override '{}' is not NAME=VALUE", Shorten(text, 100)));
  }
  const std::string_view name = text.substr(0, equals);
  const Override* declared = program.FindOverride(name);
  if (declared == nullptr) {
    return NoSuch(program, "override", name, program.overrides);
  }
  const absl::StatusOr<uint64_t> value =
      ParseConstant(declared->type, text.substr(equals + 1));
  if (!value.ok()) {
    return absl::InvalidArgumentError(fmt::format(
        "override {}: {}", name, std::string(value.status().message())));
  }
  return OverrideValue{std::string(name), *value};
}

absl::Status CheckKind(const Program& program, std::string_view name) {
  return program.FindKind(name) != nullptr
             ? absl::OkStatus()
             : NoSuch(program, "kind", name, program.kinds);
}

}  // namespace

absl::StatusOr<VariantKey> SelectKey(const Program& program,
                                     const Digest& program_id,
                                     const KeyWords& words) {
  KILN_RETURN_IF_ERROR(CheckKind(program, words.kind));
  if (!words.backdrop.empty() &&
      program.FindBackdrop(words.backdrop) == nullptr) {
    return NoSuch(program, "backdrop", words.backdrop, program.backdrops);
  }
  if (!words.blend.empty() && program.FindBlend(words.blend) == nullptr) {
    return NoSuch(program, "blend", words.blend, program.blends);
  }
  VariantKey key;
  key.program = program_id;
  key.kind = words.kind;
  key.backdrop = words.backdrop;
  key.blend = words.blend;
  KILN_ASSIGN_OR_RETURN(key.features, program.ParseFeatures(words.features));
  for (const std::string& text : words.overrides) {
    KILN_ASSIGN_OR_RETURN(OverrideValue entry, ParseOverride(program, text));
    key.overrides.push_back(std::move(entry));
  }
  return NormaliseKey(program, std::move(key));
}

absl::StatusOr<std::vector<VariantKey>> SelectSubsets(
    const Program& program, const Digest& program_id, std::string_view all_of,
    const std::vector<std::string>& kinds) {
  KILN_ASSIGN_OR_RETURN(const FeatureMask mask, program.ParseFeatures(all_of));
  if (static_cast<size_t>(std::popcount(mask)) > kSubsetFeatures) {
    return absl::InvalidArgumentError(fmt::format(
        "--all-of names {} features; every subset of more than {} "
        "would be over {} variants a kind",
        std::popcount(mask), kSubsetFeatures, 1 << kSubsetFeatures));
  }
  std::vector<std::string> names = kinds;
  if (names.empty()) {
    for (const Kind& kind : program.kinds) {
      names.push_back(kind.value.name);
    }
  }
  std::set<VariantKey> seen;
  std::vector<VariantKey> keys;
  for (const std::string& kind : names) {
    KILN_RETURN_IF_ERROR(CheckKind(program, kind));
    FeatureMask subset = 0;
    do {
      VariantKey key;
      key.program = program_id;
      key.kind = kind;
      key.features = subset;
      KILN_ASSIGN_OR_RETURN(key, NormaliseKey(program, std::move(key)));
      if (seen.insert(key).second) {
        keys.push_back(std::move(key));
      }
      subset = (subset - mask) & mask;  // the next subset of `mask`
    } while (subset != 0);
  }
  return keys;
}

}  // namespace kiln::cli
