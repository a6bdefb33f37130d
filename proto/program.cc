// SPDX-License-Identifier: Apache-2.0
#include "proto/program.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "absl/strings/str_split.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln {
namespace {

constexpr std::array<std::pair<Stage, std::string_view>, 2> kStageNames = {{
    {Stage::kVertex, "vertex"},
    {Stage::kFragment, "fragment"},
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

absl::Status Invalid(std::string_view field, std::string_view why) {
  return absl::InvalidArgumentError(
      fmt::format("program field {}: {}", Shorten(field, 200), why));
}

// A name is short, printable UTF-8 without the characters that separate names
// in keys, labels and command lines.
absl::Status CheckName(std::string_view field, std::string_view name) {
  if (name.empty()) {
    return Invalid(field, "is empty");
  }
  if (name.size() > limits::kNameBytes) {
    return Invalid(field, fmt::format("is over {} bytes", limits::kNameBytes));
  }
  if (ToValidUtf8(name) != name ||
      name.find_first_of(" ,|=\n\t") != name.npos) {
    return Invalid(field, fmt::format("'{}' is not a name", ToValidUtf8(name)));
  }
  return absl::OkStatus();
}

template <typename Range, typename Name>
absl::Status CheckNames(std::string_view field, const Range& range,
                        Name name_of) {
  std::set<std::string_view> seen;
  for (const auto& element : range) {
    const std::string& name = std::invoke(name_of, element);
    KILN_RETURN_IF_ERROR(CheckName(field, name));
    if (!seen.insert(name).second) {
      return Invalid(field, fmt::format("'{}' appears twice", name));
    }
  }
  return absl::OkStatus();
}

// A virtual path stays inside the program: relative, normal, no "..".
absl::Status CheckPath(std::string_view path) {
  if (path.empty() || path.size() > limits::kNameBytes || !IsValidUtf8(path) ||
      path.find('\0') != path.npos) {
    return Invalid("files",
                   fmt::format("'{}' is not a path", ToValidUtf8(path)));
  }
  for (absl::string_view part :
       absl::StrSplit(absl::string_view(path.data(), path.size()), '/')) {
    if (part.empty() || part == "." || part == "..") {
      return Invalid("files",
                     fmt::format("'{}' is not a plain relative path", path));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFeatures(const Program& program) {
  KILN_RETURN_IF_ERROR(
      CheckNames("features", program.features, &FeatureBit::name));
  uint32_t seen = 0;
  for (const FeatureBit& feature : program.features) {
    if (feature.bit >= limits::kFeatureBits ||
        (seen & (1u << feature.bit)) != 0) {
      return Invalid("features",
                     fmt::format("bit {} of {} is out of range or taken",
                                 feature.bit, feature.name));
    }
    seen |= 1u << feature.bit;
  }
  return absl::OkStatus();
}

absl::Status CheckAxes(const Program& program) {
  if (program.kinds.empty()) {
    return Invalid("kinds", "is empty");
  }
  if (program.backdrops.empty() || program.blends.empty()) {
    return Invalid(program.backdrops.empty() ? "backdrops" : "blends",
                   "is empty");
  }
  KILN_RETURN_IF_ERROR(CheckNames(
      "kinds", program.kinds,
      [](const Kind& kind) -> const std::string& { return kind.value.name; }));
  KILN_RETURN_IF_ERROR(
      CheckNames("backdrops", program.backdrops, &AxisValue::name));
  KILN_RETURN_IF_ERROR(CheckNames("blends", program.blends, &AxisValue::name));
  if (program.overrides.size() > limits::kOverrides) {
    return Invalid("overrides",
                   fmt::format("has over {} entries", limits::kOverrides));
  }
  return CheckNames("overrides", program.overrides, &Override::name);
}

absl::Status CheckFiles(const Program& program) {
  if (program.files.size() > limits::kProgramFiles) {
    return Invalid("files",
                   fmt::format("has over {} entries", limits::kProgramFiles));
  }
  size_t total = 0;
  for (const SourceFile& file : program.files) {
    KILN_RETURN_IF_ERROR(CheckPath(file.path));
    total += file.text.size();
  }
  if (total > limits::kProgramBytes) {
    return Invalid("files", fmt::format("hold {} bytes, over the limit of {}",
                                        total, limits::kProgramBytes));
  }
  auto later = [](const SourceFile& a, const SourceFile& b) {
    return a.path >= b.path;
  };
  if (std::ranges::adjacent_find(program.files, later) != program.files.end()) {
    return Invalid("files", "are not sorted by path, or one appears twice");
  }
  return absl::OkStatus();
}

absl::Status CheckStages(const Program& program) {
  std::set<Stage> seen;
  for (const StageSource& source : program.stages) {
    if (StageName(source.stage) == "unknown") {
      return Invalid("stages", "holds an unknown stage");
    }
    if (!seen.insert(source.stage).second) {
      return Invalid("stages",
                     fmt::format("{} appears twice", StageName(source.stage)));
    }
    if (program.FindFile(source.path) == nullptr) {
      return Invalid("stages", fmt::format("no source file '{}'",
                                           ToValidUtf8(source.path)));
    }
  }
  if (!seen.contains(Stage::kVertex)) {
    return Invalid("stages", "there is no vertex stage");
  }
  return absl::OkStatus();
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

uint32_t Program::AllFeatures() const {
  uint32_t mask = 0;
  for (const FeatureBit& feature : features) {
    mask |= 1u << feature.bit;
  }
  return mask;
}

std::string Program::FeatureText(uint32_t mask) const {
  if (mask == 0) {
    return "none";
  }
  if (mask == AllFeatures()) {
    return "whole";
  }
  std::string text;
  for (const FeatureBit& feature : features) {
    if ((mask & (1u << feature.bit)) != 0) {
      text += (text.empty() ? "" : "|") + feature.name;
    }
  }
  return text;
}

absl::StatusOr<uint32_t> Program::ParseFeatures(std::string_view names) const {
  if (names == "all") {
    return AllFeatures();
  }
  if (names.empty() || names == "none") {
    return 0;
  }
  uint32_t mask = 0;
  for (absl::string_view part :
       absl::StrSplit(absl::string_view(names.data(), names.size()), ',')) {
    const std::string_view bit_name(part.data(), part.size());
    const FeatureBit* feature =
        FindNamed(features, bit_name, &FeatureBit::name);
    if (feature == nullptr) {
      return absl::InvalidArgumentError(
          fmt::format("program {} has no feature '{}'; it has {}", name,
                      Shorten(bit_name, 100), NamesOf(features)));
    }
    mask |= 1u << feature->bit;
  }
  return mask;
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

absl::Status Program::Validate() const {
  KILN_RETURN_IF_ERROR(CheckName("name", name));
  KILN_RETURN_IF_ERROR(CheckFeatures(*this));
  KILN_RETURN_IF_ERROR(CheckAxes(*this));
  KILN_RETURN_IF_ERROR(CheckFiles(*this));
  KILN_RETURN_IF_ERROR(CheckStages(*this));
  return CheckNames("defines", defines, &Define::name);
}

}  // namespace kiln
