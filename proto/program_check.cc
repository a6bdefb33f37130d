// SPDX-License-Identifier: Apache-2.0

// Program::Validate: every rule of program.h, one function a field.

#include <algorithm>
#include <bit>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "absl/strings/str_split.h"
#include "proto/limits.h"
#include "proto/program.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln {
namespace {

absl::Status Invalid(std::string_view field, std::string_view why) {
  return absl::InvalidArgumentError(
      fmt::format("program field {}: {}", Shorten(field, 200), why));
}

// A name is short, printable UTF-8 without the characters that separate names
// in keys, labels, manifests and command lines.
absl::Status CheckName(std::string_view field, std::string_view name) {
  if (name.empty()) {
    return Invalid(field, "is empty");
  }
  if (name.size() > limits::kNameBytes) {
    return Invalid(field, fmt::format("is over {} bytes", limits::kNameBytes));
  }
  if (ToValidUtf8(name) != name ||
      name.find_first_of(" ,|=/#\n\r\t") != name.npos) {
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
absl::Status CheckPath(std::string_view field, std::string_view path) {
  if (path.empty() || path.size() > limits::kNameBytes || !IsValidUtf8(path) ||
      path.find('\0') != path.npos) {
    return Invalid(field, fmt::format("'{}' is not a path", ToValidUtf8(path)));
  }
  for (absl::string_view part :
       absl::StrSplit(absl::string_view(path.data(), path.size()), '/')) {
    if (part.empty() || part == "." || part == "..") {
      return Invalid(field,
                     fmt::format("'{}' is not a plain relative path", path));
    }
  }
  return absl::OkStatus();
}

// The constants are words of 32 bits; a bit past the last would silently
// select nothing.
absl::Status CheckFeatures(const Program& program) {
  KILN_RETURN_IF_ERROR(
      CheckNames("features", program.features, &FeatureBit::name));
  const size_t words = program.features_constant_ids.size();
  if (words > limits::kFeatureBits / 32) {
    return Invalid("features", fmt::format("have over {} constants",
                                           limits::kFeatureBits / 32));
  }
  if (words == 2 &&
      program.features_constant_ids[0] == program.features_constant_ids[1]) {
    return Invalid("features", "both words have one constant_id");
  }
  FeatureMask seen = 0;
  for (const FeatureBit& feature : program.features) {
    // What labels and manifests say of a whole mask.
    if (feature.name == "none" || feature.name == "whole" ||
        feature.name == "all") {
      return Invalid("features",
                     fmt::format("'{}' is not a bit's name", feature.name));
    }
    if (feature.bit >= limits::kFeatureBits || (seen >> feature.bit & 1) != 0) {
      return Invalid("features",
                     fmt::format("bit {} of {} is out of range or taken",
                                 feature.bit, feature.name));
    }
    if (feature.bit / 32 >= words) {
      return Invalid(
          "features",
          fmt::format("bit {} of {} lies in word {}, but there are "
                      "{} constants",
                      feature.bit, feature.name, feature.bit / 32, words));
    }
    seen |= FeatureMask{1} << feature.bit;
  }
  FeatureMask grouped = 0;
  for (const FeatureMask group : program.merged) {
    if (std::popcount(group) < 2 || (group & ~seen) != 0 ||
        (group & grouped) != 0) {
      return Invalid("features",
                     "a merged group has under two bits, an undeclared bit or "
                     "one of another group");
    }
    grouped |= group;
  }
  for (const Kind& kind : program.kinds) {
    if ((kind.ignored_features & ~seen) != 0) {
      return Invalid("kinds", fmt::format("{} names an undeclared feature bit",
                                          kind.value.name));
    }
  }
  return absl::OkStatus();
}

// `value` of the named field of an override is a value of its type.
absl::Status CheckValue(const Override& entry, std::string_view what,
                        uint64_t value) {
  if (absl::Status status = CheckConstant(entry.type, value); !status.ok()) {
    return Invalid("overrides",
                   fmt::format("{} of {}: {}", what, entry.name,
                               std::string_view(status.message().data(),
                                                status.message().size())));
  }
  return absl::OkStatus();
}

// Default, range and steps of one override agree. A default may lie between
// two steps: it is the value of every key that does not name the override.
absl::Status CheckOverride(const Override& entry) {
  if (!IsConstantType(static_cast<uint8_t>(entry.type))) {
    return Invalid("overrides", fmt::format("{} has no type", entry.name));
  }
  if (entry.constant_id == kIdByName) {
    return Invalid("overrides",
                   fmt::format("{}: constant_id is out of range", entry.name));
  }
  KILN_RETURN_IF_ERROR(CheckValue(entry, "default", entry.default_value));
  if (entry.min) {
    KILN_RETURN_IF_ERROR(CheckValue(entry, "min", *entry.min));
  }
  if (entry.max) {
    KILN_RETURN_IF_ERROR(CheckValue(entry, "max", *entry.max));
  }
  auto less = [&](uint64_t a, uint64_t b) {
    return CompareConstants(entry.type, a, b) < 0;
  };
  if ((entry.min && less(entry.default_value, *entry.min)) ||
      (entry.max && less(*entry.max, entry.default_value))) {
    return Invalid("overrides",
                   fmt::format("{}: the default is out of range", entry.name));
  }
  if (entry.steps.size() > limits::kOverrideSteps) {
    return Invalid("overrides", fmt::format("{} has over {} steps", entry.name,
                                            limits::kOverrideSteps));
  }
  if (!entry.steps.empty() && entry.type == ConstantType::kBool) {
    return Invalid("overrides",
                   fmt::format("{}: a bool has no steps", entry.name));
  }
  for (size_t i = 0; i < entry.steps.size(); ++i) {
    KILN_RETURN_IF_ERROR(CheckValue(entry, "a step", entry.steps[i]));
    if (i > 0 && !less(entry.steps[i - 1], entry.steps[i])) {
      return Invalid("overrides",
                     fmt::format("{}: steps do not ascend", entry.name));
    }
    if ((entry.min && less(entry.steps[i], *entry.min)) ||
        (entry.max && less(*entry.max, entry.steps[i]))) {
      return Invalid("overrides",
                     fmt::format("{}: a step is out of range", entry.name));
    }
  }
  return absl::OkStatus();
}

std::set<uint32_t> AxisConstants(const Program& program) {
  std::set<uint32_t> ids;
  auto add = [&](const AxisValue& value) {
    for (const Constant& constant : value.constants) {
      ids.insert(constant.id);
    }
  };
  for (const Kind& kind : program.kinds) {
    add(kind.value);
  }
  std::ranges::for_each(program.backdrops, add);
  std::ranges::for_each(program.blends, add);
  return ids;
}

absl::Status CheckOverrides(const Program& program) {
  if (program.overrides.size() > limits::kOverrides) {
    return Invalid("overrides",
                   fmt::format("has over {} entries", limits::kOverrides));
  }
  KILN_RETURN_IF_ERROR(
      CheckNames("overrides", program.overrides, &Override::name));
  std::set<uint32_t> ids = AxisConstants(program);
  for (const uint32_t id : program.features_constant_ids) {
    if (!ids.insert(id).second) {
      return Invalid("features",
                     fmt::format("constant_id {} is also set by a kind, "
                                 "backdrop or blend",
                                 id));
    }
  }
  for (const Override& entry : program.overrides) {
    KILN_RETURN_IF_ERROR(CheckOverride(entry));
    if (entry.constant_id && !ids.insert(*entry.constant_id).second) {
      return Invalid("overrides", fmt::format("constant_id {} of {} is taken",
                                              *entry.constant_id, entry.name));
    }
  }
  if (program.workgroup_size.size() > 3 ||
      (!program.workgroup_size.empty() && !program.IsCompute())) {
    return Invalid("workgroup_size",
                   "has over three names, or the program is not a compute one");
  }
  for (const std::string& name : program.workgroup_size) {
    const Override* entry = program.FindOverride(name);
    if (entry == nullptr || entry->type != ConstantType::kUint32) {
      return Invalid(
          "workgroup_size",
          fmt::format("'{}' is no override of type uint", Shorten(name, 100)));
    }
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
  return CheckNames("blends", program.blends, &AxisValue::name);
}

absl::Status CheckIncludes(const Program& program) {
  if (program.includes.size() > limits::kProgramIncludes) {
    return Invalid("includes", fmt::format("has over {} entries",
                                           limits::kProgramIncludes));
  }
  for (const IncludeEdge& edge : program.includes) {
    if (program.FindFile(edge.from) == nullptr ||
        (!edge.path.empty() && program.FindFile(edge.path) == nullptr)) {
      return Invalid("includes", fmt::format("'{}' in '{}' names no file",
                                             Shorten(edge.name, 100),
                                             Shorten(edge.from, 200)));
    }
    if (!IsValidUtf8(edge.problem)) {
      return Invalid("includes", "hold a problem that is not UTF-8");
    }
    if (edge.path.empty() == edge.problem.empty()) {
      return Invalid("includes",
                     fmt::format("'{}' in '{}' opens and does not",
                                 Shorten(edge.name, 100), edge.from));
    }
  }
  auto later = [](const IncludeEdge& a, const IncludeEdge& b) {
    return a >= b;
  };
  return std::ranges::adjacent_find(program.includes, later) ==
                 program.includes.end()
             ? absl::OkStatus()
             : Invalid("includes", "are not sorted, or one appears twice");
}

// A define reaches the compiler as a line of text: it must stay one line.
absl::Status CheckDefines(const Program& program) {
  if (program.defines.size() > limits::kDefines) {
    return Invalid("defines",
                   fmt::format("has {} entries, over the limit of {}",
                               program.defines.size(), limits::kDefines));
  }
  auto is_identifier = [](std::string_view name) {
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return !name.empty() && name.find_first_not_of(kLetters) == name.npos &&
           (name.front() < '0' || name.front() > '9');
  };
  for (const Define& define : program.defines) {
    if (!is_identifier(define.name)) {
      return Invalid("defines", fmt::format("'{}' is not an identifier",
                                            Shorten(define.name, 100)));
    }
    if (define.value.size() > limits::kDiagnosticBytes ||
        define.value.find_first_of(std::string_view("\n\r\0\\", 4)) !=
            define.value.npos) {
      return Invalid("defines",
                     fmt::format("the value of {} is too long, or holds a line "
                                 "end, NUL or backslash",
                                 define.name));
    }
  }
  return CheckNames("defines", program.defines, &Define::name);
}

absl::Status CheckSurfaceSlot(const Program& program) {
  if (program.surface.include.empty()) {
    return absl::OkStatus();
  }
  KILN_RETURN_IF_ERROR(CheckPath("surface.include", program.surface.include));
  KILN_RETURN_IF_ERROR(CheckName("surface.function", program.surface.function));
  if (program.surface.parameters.size() > limits::kStatusTextBytes ||
      !IsValidUtf8(program.surface.parameters) ||
      program.surface.parameters.find_first_of("\n\r#;{}") !=
          std::string::npos) {
    return Invalid("surface.parameters", "is not a list of parameters");
  }
  return absl::OkStatus();
}

absl::Status CheckFiles(const Program& program) {
  if (program.rooted && !program.files.empty()) {
    return Invalid("files", "a recipe has none");
  }
  if (program.files.size() > limits::kProgramFiles) {
    return Invalid("files",
                   fmt::format("has over {} entries", limits::kProgramFiles));
  }
  size_t total = 0;
  for (const SourceFile& file : program.files) {
    KILN_RETURN_IF_ERROR(CheckPath("files", file.path));
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
  return CheckIncludes(program);
}

// A recipe's source is found later, in a search root: by a relative virtual
// path, or by "/<root>/<path>".
absl::Status CheckSource(const Program& program, std::string_view field,
                         std::string_view path) {
  if (program.rooted) {
    return CheckPath(field, path.starts_with('/') ? path.substr(1) : path);
  }
  return program.FindFile(path) != nullptr
             ? absl::OkStatus()
             : Invalid(field,
                       fmt::format("no source file '{}'", ToValidUtf8(path)));
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
    if (LanguageName(source.language) == "unknown") {
      return Invalid("stages", "holds an unknown language");
    }
    KILN_RETURN_IF_ERROR(CheckName("stages.entry", source.entry));
    KILN_RETURN_IF_ERROR(CheckSource(program, "stages", source.path));
  }
  if (seen.contains(Stage::kCompute) && seen.size() > 1) {
    return Invalid("stages", "a compute stage stands alone");
  }
  if (seen.empty()) {
    return Invalid("stages", "is empty");
  }
  return program.derivation.empty()
             ? absl::OkStatus()
             : CheckSource(program, "derivation", program.derivation);
}

}  // namespace

absl::Status Program::Validate() const {
  KILN_RETURN_IF_ERROR(CheckName("name", name));
  if (SpecializationName(specialization) == "unknown") {
    return absl::InvalidArgumentError(fmt::format(
        "specialization {} is unknown", static_cast<uint32_t>(specialization)));
  }
  KILN_RETURN_IF_ERROR(CheckAxes(*this));
  KILN_RETURN_IF_ERROR(CheckFeatures(*this));
  KILN_RETURN_IF_ERROR(CheckFiles(*this));
  KILN_RETURN_IF_ERROR(CheckStages(*this));
  KILN_RETURN_IF_ERROR(CheckOverrides(*this));
  KILN_RETURN_IF_ERROR(CheckSurfaceSlot(*this));
  return CheckDefines(*this);
}

}  // namespace kiln
