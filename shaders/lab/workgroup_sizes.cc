// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/workgroup_sizes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::lab {
namespace {

constexpr uint64_t kLargestPower = 1024;

absl::Status CheckTunable(const Program& program) {
  if (!program.IsCompute()) {
    return absl::InvalidArgumentError(fmt::format(
        "program {} is a graphics program: only compute programs have a "
        "workgroup size",
        program.name));
  }
  if (program.workgroup_size.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("program {} names no overrides as its workgroup size "
                    "([compute] workgroup_size)",
                    program.name));
  }
  return absl::OkStatus();
}

absl::Status CheckChoices(const Program& program,
                          const std::vector<SizeChoice>& choices) {
  std::set<std::string_view> seen;
  for (const SizeChoice& choice : choices) {
    if (std::ranges::find(program.workgroup_size, choice.name) ==
        program.workgroup_size.end()) {
      return absl::InvalidArgumentError(fmt::format(
          "program {} has no workgroup override '{}'; it has {}", program.name,
          Shorten(choice.name, 100), fmt::join(program.workgroup_size, ", ")));
    }
    if (!seen.insert(choice.name).second || choice.values.empty()) {
      return absl::InvalidArgumentError(fmt::format(
          "the sizes of {} are given twice, or none is", choice.name));
    }
  }
  return absl::OkStatus();
}

// The values of an override that nobody chose.
std::vector<uint64_t> UsualValues(const Override& entry) {
  std::vector<uint64_t> values = entry.steps;
  if (values.empty()) {
    for (uint64_t power = 1; power <= kLargestPower; power *= 2) {
      if (power >= entry.min.value_or(0) &&
          power <= entry.max.value_or(kLargestPower)) {
        values.push_back(power);
      }
    }
  }
  values.push_back(entry.default_value);
  std::erase(values, 0u);  // a schema without a default
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

// Collects what one call finds.
class SizeLister {
 public:
  SizeLister(const Program& program, const VariantKey& base,
             const SizeLimits& limits)
      : program_(program), base_(base), limits_(limits) {}

  absl::Status AddAxis(const SizeChoice* choice) {
    const size_t axis = values_.size();
    const Override& entry =
        *program_.FindOverride(program_.workgroup_size[axis]);
    std::vector<uint64_t>& values = values_.emplace_back();
    for (const uint64_t value :
         choice == nullptr ? UsualValues(entry) : choice->values) {
      const std::string size = fmt::format("{}={}", entry.name, value);
      if (value != 0 && value <= limits_.size[axis]) {
        values.push_back(value);
        continue;
      }
      const std::string why = value == 0 ? "a workgroup has no invocations then"
                                         : fmt::format(
                                               "the device's limit is {} "
                                               "(maxComputeWorkGroupSize[{}])",
                                               limits_.size[axis], axis);
      if (choice != nullptr) {
        return absl::InvalidArgumentError(
            fmt::format("override {}: {}", size, why));
      }
      list_.refused.push_back({size, why});
    }
    return absl::OkStatus();
  }

  // Adds every combination of the values of axis `axis` and up to `size`.
  absl::Status AddFrom(size_t axis, WorkgroupSize size) {
    if (axis == values_.size()) {
      return Add(std::move(size));
    }
    for (const uint64_t value : values_[axis]) {
      WorkgroupSize next = size;
      next.size[axis] = static_cast<uint32_t>(value);
      next.overrides.push_back({program_.workgroup_size[axis], value});
      KILN_RETURN_IF_ERROR(AddFrom(axis + 1, std::move(next)));
    }
    return absl::OkStatus();
  }

  void RefuseSmall() {
    const auto fills = [&](const WorkgroupSize& size) {
      return size.invocations() >= limits_.subgroup;
    };
    if (std::ranges::none_of(list_.sizes, fills)) {
      return;
    }
    for (const WorkgroupSize& size : list_.sizes) {
      if (!fills(size)) {
        list_.refused.push_back(
            {SizeText(size.overrides),
             fmt::format("its {} invocations do not fill a subgroup of {}",
                         size.invocations(), limits_.subgroup)});
      }
    }
    std::erase_if(list_.sizes, [&](const auto& size) { return !fills(size); });
  }

  absl::StatusOr<SizeList> Take() {
    if (list_.sizes.empty()) {
      const std::string_view why =
          list_.refused.empty() ? "no value is in range"
                                : std::string_view(list_.refused.front().why);
      return absl::InvalidArgumentError(fmt::format(
          "no workgroup size of program {} can run: {}{}{}", program_.name,
          list_.refused.empty() ? "" : list_.refused.front().size,
          list_.refused.empty() ? "" : ": ", why));
    }
    return std::move(list_);
  }

 private:
  absl::Status Add(WorkgroupSize size) {
    size.key = base_;
    for (OverrideValue& entry : size.overrides) {
      std::erase_if(size.key.overrides, [&](const OverrideValue& other) {
        return other.name == entry.name;
      });
      size.key.overrides.push_back(entry);
    }
    KILN_ASSIGN_OR_RETURN(size.key, NormaliseKey(program_, size.key));
    // Normalising rounds up to a step and leaves defaults out.
    for (size_t axis = 0; axis < size.overrides.size(); ++axis) {
      OverrideValue& entry = size.overrides[axis];
      const auto found = std::ranges::find(size.key.overrides, entry.name,
                                           &OverrideValue::name);
      entry.value = found != size.key.overrides.end()
                        ? found->value
                        : program_.FindOverride(entry.name)->default_value;
      size.size[axis] = static_cast<uint32_t>(entry.value);
    }
    if (!seen_.insert(size.key).second) {
      return absl::OkStatus();
    }
    if (const auto why = OverLimit(size)) {
      list_.refused.push_back({SizeText(size.overrides), *why});
      return absl::OkStatus();
    }
    list_.sizes.push_back(std::move(size));
    return list_.sizes.size() <= kSizesMost
               ? absl::OkStatus()
               : absl::InvalidArgumentError(fmt::format(
                     "program {} has over {} workgroup sizes; choose some",
                     program_.name, kSizesMost));
  }

  std::optional<std::string> OverLimit(const WorkgroupSize& size) const {
    for (size_t axis = 0; axis < size.overrides.size(); ++axis) {
      if (size.size[axis] > limits_.size[axis]) {
        return fmt::format(
            "{} is over the device's limit of {} "
            "(maxComputeWorkGroupSize[{}])",
            size.size[axis], limits_.size[axis], axis);
      }
    }
    if (size.invocations() > limits_.invocations) {
      return fmt::format(
          "{} invocations are over the device's limit of {} "
          "(maxComputeWorkGroupInvocations)",
          size.invocations(), limits_.invocations);
    }
    return std::nullopt;
  }

  const Program& program_;
  const VariantKey& base_;
  const SizeLimits& limits_;
  std::vector<std::vector<uint64_t>> values_;  // by axis
  std::set<VariantKey> seen_;
  SizeList list_;
};

}  // namespace

std::string SizeText(const std::vector<OverrideValue>& overrides) {
  std::string text;
  for (const OverrideValue& entry : overrides) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", entry.name,
                        entry.value);
  }
  return text;
}

absl::StatusOr<SizeList> ListSizes(const Program& program,
                                   const VariantKey& base,
                                   const SizeLimits& limits,
                                   const std::vector<SizeChoice>& choices) {
  KILN_RETURN_IF_ERROR(CheckTunable(program));
  KILN_RETURN_IF_ERROR(CheckChoices(program, choices));
  SizeLister lister(program, base, limits);
  for (const std::string& name : program.workgroup_size) {
    const auto choice = std::ranges::find(choices, name, &SizeChoice::name);
    KILN_RETURN_IF_ERROR(
        lister.AddAxis(choice == choices.end() ? nullptr : &*choice));
  }
  KILN_RETURN_IF_ERROR(lister.AddFrom(0, {}));
  if (choices.empty()) {
    lister.RefuseSmall();
  }
  return lister.Take();
}

}  // namespace kiln::lab
