// SPDX-License-Identifier: Apache-2.0
#pragma once

// The features every Kiln device enables, if it has them. The set is fixed:
// drivers key their compiles by it, so one more feature on one side and every
// blob misses, silently (DESIGN section 1). Internal.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "shaders/pipeline/device_handles.h"

namespace kiln::pipeline {

// A chain of feature structures for queries and vkCreateDevice. Not movable:
// it points into itself.
struct FeatureChain {
  FeatureChain();
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;

  VkPhysicalDeviceFeatures2 core{};
  VkPhysicalDeviceVulkan11Features v11{};
  VkPhysicalDeviceVulkan12Features v12{};
  VkPhysicalDeviceVulkan13Features v13{};
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{};
};

// Queries `physical` and sets, in `enabled`, those of our features it has.
// Returns: their names, sorted. Errors: FailedPrecondition naming a feature
// that Kiln cannot do without.
absl::StatusOr<std::vector<std::string>> ChooseFeatures(
    VkPhysicalDevice physical, bool has_executables, FeatureChain& enabled);

}  // namespace kiln::pipeline
