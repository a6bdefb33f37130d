// SPDX-License-Identifier: Apache-2.0
#pragma once

// Vulkan's enumerants by name: lower case, without prefix and "_BIT", as they
// stand in program files ("r16g16b16a16_sfloat", "greater_or_equal"). The
// tables come from the registry (generate_vulkan_names.py); values are plain
// integers, so that this header needs no Vulkan.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace kiln::pipeline {

enum class VulkanEnum {
  kBlendFactor,
  kBlendOp,
  kCompareOp,
  kCullMode,
  kDescriptorType,
  kDriverId,
  kFormat,
  kFrontFace,
  kPolygonMode,
  kResult,
  kShaderStage,
  kTopology,
};

// Values from here on belong to extensions: the registry numbers them so. Our
// devices enable none that adds any.
inline constexpr int32_t kFirstExtensionValue = 1000000000;

struct VulkanName {
  std::string_view name;
  int32_t value;
};

// Every name of `type`, sorted; aliases included.
std::span<const VulkanName> VulkanNames(VulkanEnum type);

// Errors: InvalidArgument naming `field` and `name`, with the allowed names of
// the Vulkan core if they are few (formats are not).
absl::StatusOr<int32_t> ParseVulkanName(VulkanEnum type, std::string_view field,
                                        std::string_view name);

// The name of `value`, else the number.
std::string VulkanValueText(VulkanEnum type, int32_t value);

}  // namespace kiln::pipeline
