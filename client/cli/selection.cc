// SPDX-License-Identifier: Apache-2.0
#include "client/cli/selection.h"

#include <bit>
#include <charconv>
#include <optional>
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

template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) {
    return std::nullopt;
  }
  return number;
}

// The 32 bits of `text` read as `type`.
std::optional<uint32_t> ParseValue(ConstantType type, std::string_view text) {
  switch (type) {
    case ConstantType::kBool:
      if (text == "true" || text == "1") {
        return 1;
      }
      return text == "false" || text == "0" ? std::optional(0u) : std::nullopt;
    case ConstantType::kInt:
      if (auto number = ParseNumber<int32_t>(text)) {
        return std::bit_cast<uint32_t>(*number);
      }
      return std::nullopt;
    case ConstantType::kUint:
      return ParseNumber<uint32_t>(text);
    case ConstantType::kFloat:
      if (auto number = ParseNumber<float>(text)) {
        return std::bit_cast<uint32_t>(*number);
      }
      return std::nullopt;
  }
  return std::nullopt;
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
  const std::optional<uint32_t> value =
      ParseValue(declared->type, text.substr(equals + 1));
  if (!value) {
    return absl::InvalidArgumentError(
        fmt::format("override {}: '{}' is not a value of its type", name,
                    Shorten(text.substr(equals + 1), 100)));
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
  KILN_ASSIGN_OR_RETURN(const uint32_t mask, program.ParseFeatures(all_of));
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
    uint32_t subset = 0;
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
