// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/device_features.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace kiln::pipeline {
namespace {

struct Feature {
  std::string_view name;
  bool needed;
  VkBool32& (*in)(FeatureChain&);
};

#define KILN_FEATURE(needed, part, field)                                  \
  Feature {                                                                \
#field, needed,                                                        \
        [](FeatureChain & chain) -> VkBool32& { return chain.part.field; } \
  }

// robustBufferAccess is left out on purpose: it costs speed, and games that
// want it are another target. The scalar types of every width are in: a
// program may use them, and constants of them, where the device has them.
const Feature kFeatures[] = {
    KILN_FEATURE(true, v13, dynamicRendering),
    KILN_FEATURE(true, v13, pipelineCreationCacheControl),
    KILN_FEATURE(true, v13, maintenance4),
    KILN_FEATURE(true, v13, shaderDemoteToHelperInvocation),
    KILN_FEATURE(true, v13, shaderTerminateInvocation),
    KILN_FEATURE(true, v13, synchronization2),
    KILN_FEATURE(false, core.features, depthBiasClamp),
    KILN_FEATURE(false, core.features, depthClamp),
    KILN_FEATURE(false, core.features, dualSrcBlend),
    KILN_FEATURE(false, core.features, fillModeNonSolid),
    KILN_FEATURE(false, core.features, fragmentStoresAndAtomics),
    KILN_FEATURE(false, core.features, imageCubeArray),
    KILN_FEATURE(false, core.features, independentBlend),
    KILN_FEATURE(false, core.features, sampleRateShading),
    KILN_FEATURE(false, core.features, samplerAnisotropy),
    KILN_FEATURE(false, core.features, shaderClipDistance),
    KILN_FEATURE(false, core.features, shaderFloat64),
    KILN_FEATURE(false, core.features, shaderInt16),
    KILN_FEATURE(false, core.features, shaderInt64),
    KILN_FEATURE(false, core.features, shaderSampledImageArrayDynamicIndexing),
    KILN_FEATURE(false, core.features, shaderStorageBufferArrayDynamicIndexing),
    KILN_FEATURE(false, core.features, shaderStorageImageArrayDynamicIndexing),
    KILN_FEATURE(false, core.features, shaderUniformBufferArrayDynamicIndexing),
    KILN_FEATURE(false, core.features, vertexPipelineStoresAndAtomics),
    KILN_FEATURE(false, v11, shaderDrawParameters),
    KILN_FEATURE(false, v11, storageBuffer16BitAccess),
    KILN_FEATURE(false, v12, descriptorBindingPartiallyBound),
    KILN_FEATURE(false, v12, runtimeDescriptorArray),
    KILN_FEATURE(false, v12, scalarBlockLayout),
    KILN_FEATURE(false, v12, shaderFloat16),
    KILN_FEATURE(false, v12, shaderInt8),
    KILN_FEATURE(false, v12, shaderSampledImageArrayNonUniformIndexing),
    KILN_FEATURE(false, v12, shaderStorageBufferArrayNonUniformIndexing),
    KILN_FEATURE(false, executables, pipelineExecutableInfo),
};

#undef KILN_FEATURE

}  // namespace

FeatureChain::FeatureChain() {
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  executables.sType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
  core.pNext = &v11;
  v11.pNext = &v12;
  v12.pNext = &v13;
}

absl::StatusOr<std::vector<std::string>> ChooseFeatures(
    VkPhysicalDevice physical, bool has_executables, FeatureChain& enabled) {
  FeatureChain supported;
  if (has_executables) {
    supported.v13.pNext = &supported.executables;
    enabled.v13.pNext = &enabled.executables;
  }
  vkGetPhysicalDeviceFeatures2(physical, &supported.core);
  std::vector<std::string> names;
  for (const Feature& feature : kFeatures) {
    if (feature.in(supported) == VK_TRUE) {
      feature.in(enabled) = VK_TRUE;
      names.emplace_back(feature.name);
    } else if (feature.needed) {
      return absl::FailedPreconditionError(
          fmt::format("the device lacks the feature {}", feature.name));
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace kiln::pipeline
