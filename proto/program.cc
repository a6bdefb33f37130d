// SPDX-License-Identifier: Apache-2.0
#include "proto/program.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "absl/strings/str_split.h"
#include "proto/text.h"

namespace kiln {
namespace {

constexpr std::array<std::pair<Stage, std::string_view>, 3> kStageNames = {{
    {Stage::kVertex, "vertex"},
    {Stage::kFragment, "fragment"},
    {Stage::kCompute, "compute"},
}};

constexpr std::array<std::pair<Language, std::string_view>, 3> kLanguageNames =
    {{
        {Language::kGlsl, "glsl"},
        {Language::kHlsl, "hlsl"},
        {Language::kSpirv, "spirv"},
    }};

template <typename Range, typename Name>
auto FindNamed(const Range& range, std::string_view name, Name name_of) {
  auto found = std::ranges::find(range, name, name_of);
  return found == range.end() ? nullptr : &*found;
}

std::string NamesOf(const std::vector<FeatureBit>& features) {
  std::vector<std::string_view> names;
  for (const FeatureBit& feature : features) {
    names.emplace_back(feature.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string_view StageName(Stage stage) {
  auto found = std::ranges::find(kStageNames, stage,
                                 &std::pair<Stage, std::string_view>::first);
  return found == kStageNames.end() ? "unknown" : found->second;
}

absl::StatusOr<Stage> StageFromName(std::string_view name) {
  auto found = std::ranges::find(kStageNames, name,
                                 &std::pair<Stage, std::string_view>::second);
  if (found == kStageNames.end()) {
    return absl::InvalidArgumentError(
        fmt::format("unknown stage '{}'", Shorten(name, 100)));
  }
  return found->first;
}

std::string_view SpecializationName(Specialization specialization) {
  switch (specialization) {
    case Specialization::kModule:
      return "module";
    case Specialization::kDriver:
      return "driver";
  }
  return "unknown";
}

std::string_view LanguageName(Language language) {
  auto found = std::ranges::find(kLanguageNames, language,
                                 &std::pair<Language, std::string_view>::first);
  return found == kLanguageNames.end() ? "unknown" : found->second;
}

absl::StatusOr<Language> LanguageFromName(std::string_view name) {
  auto found = std::ranges::find(
      kLanguageNames, name, &std::pair<Language, std::string_view>::second);
  if (found == kLanguageNames.end()) {
    return absl::InvalidArgumentError(
        fmt::format("unknown language '{}'; there are glsl, hlsl and spirv",
                    Shorten(name, 100)));
  }
  return found->first;
}

Language LanguageOfPath(std::string_view path) {
  if (path.ends_with(".hlsl")) {
    return Language::kHlsl;
  }
  return path.ends_with(".spv") ? Language::kSpirv : Language::kGlsl;
}

FeatureMask Program::AllFeatures() const {
  FeatureMask mask = 0;
  for (const FeatureBit& feature : features) {
    mask |= FeatureMask{1} << feature.bit;
  }
  return mask;
}

std::string Program::FeatureText(FeatureMask mask) const {
  if (mask == 0) {
    return "none";
  }
  if (mask == AllFeatures()) {
    return "whole";
  }
  std::string text;
  for (const FeatureBit& feature : features) {
    if ((mask >> feature.bit & 1) != 0) {
      text += (text.empty() ? "" : "|") + feature.name;
    }
  }
  return text;
}

absl::StatusOr<FeatureMask> Program::ParseFeatures(
    std::string_view names) const {
  if (names == "all") {
    return AllFeatures();
  }
  if (names.empty() || names == "none") {
    return 0;
  }
  FeatureMask mask = 0;
  for (absl::string_view part :
       absl::StrSplit(absl::string_view(names.data(), names.size()), ',')) {
    const std::string_view bit_name(part.data(), part.size());
    const FeatureBit* feature = FindFeature(bit_name);
    if (feature == nullptr) {
      return absl::InvalidArgumentError(
          fmt::format("program {} has no feature '{}'; it has {}", name,
                      Shorten(bit_name, 100),
                      features.empty() ? "none" : NamesOf(features)));
    }
    mask |= FeatureMask{1} << feature->bit;
  }
  return mask;
}

const FeatureBit* Program::FindFeature(std::string_view wanted) const {
  return FindNamed(features, wanted, &FeatureBit::name);
}

const Kind* Program::FindKind(std::string_view wanted) const {
  return FindNamed(kinds, wanted, [](const Kind& kind) -> const std::string& {
    return kind.value.name;
  });
}

const AxisValue* Program::FindBackdrop(std::string_view wanted) const {
  return FindNamed(backdrops, wanted, &AxisValue::name);
}

const AxisValue* Program::FindBlend(std::string_view wanted) const {
  return FindNamed(blends, wanted, &AxisValue::name);
}

const Override* Program::FindOverride(std::string_view wanted) const {
  return FindNamed(overrides, wanted, &Override::name);
}

const SourceFile* Program::FindFile(std::string_view path) const {
  auto found = std::ranges::lower_bound(files, path, {}, &SourceFile::path);
  return found != files.end() && found->path == path ? &*found : nullptr;
}

bool Program::IsCompute() const {
  return stages.size() == 1 && stages.front().stage == Stage::kCompute;
}

bool Program::IsShader() const {
  return stages.size() == 1 && stages.front().stage == Stage::kFragment;
}

}  // namespace kiln
