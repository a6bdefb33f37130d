// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/vulkan_names.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/limits.h"
#include "proto/text.h"

namespace kiln::pipeline {
namespace {

constexpr size_t kNamesShown = 24;

}  // namespace

absl::StatusOr<int32_t> ParseVulkanName(VulkanEnum type, std::string_view field,
                                        std::string_view name) {
  std::vector<std::string_view> core;
  for (const VulkanName& known : VulkanNames(type)) {
    if (known.name == name) {
      return known.value;
    }
    if (known.value < kFirstExtensionValue) {
      core.push_back(known.name);
    }
  }
  const std::string allowed = core.size() > kNamesShown
                                  ? "Vulkan's, in lower case without prefix"
                                  : fmt::format("{}", fmt::join(core, ", "));
  return absl::InvalidArgumentError(
      fmt::format("{}: unknown value '{}'; allowed: {}", field,
                  Shorten(name, limits::kNameBytes), allowed));
}

std::string VulkanValueText(VulkanEnum type, int32_t value) {
  for (const VulkanName& known : VulkanNames(type)) {
    if (known.value == value) {
      return std::string(known.name);
    }
  }
  return std::to_string(value);
}

}  // namespace kiln::pipeline
