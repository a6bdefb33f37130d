// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/statistics.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::pipeline {
namespace {

struct CostName {
  std::string_view name;  // as the driver spells it
  std::optional<uint32_t> VariantCost::*cost;
};

constexpr CostName kCostNames[] = {
    // RADV (Mesa 22.3)
    {"VGPRs", &VariantCost::registers},
    {"Subgroups per SIMD", &VariantCost::waves},
    {"Instructions", &VariantCost::instructions},
    {"Spilled VGPRs", &VariantCost::spills},
    {"Code size", &VariantCost::code_bytes},
    // NVIDIA (driver 580): neither waves nor instructions nor spills
    {"Register Count", &VariantCost::registers},
    {"Binary Size", &VariantCost::code_bytes},
    // Intel (anv)
    {"Instruction Count", &VariantCost::instructions},
    {"Spill Count", &VariantCost::spills},
};

double ValueOf(const VkPipelineExecutableStatisticKHR& statistic) {
  switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      return statistic.value.b32 != VK_FALSE ? 1 : 0;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      return static_cast<double>(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
      return static_cast<double>(statistic.value.u64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
      return statistic.value.f64;
    default:
      return 0;
  }
}

void AddCost(const Statistic& statistic, VariantCost& cost) {
  constexpr double kMost = std::numeric_limits<uint32_t>::max();
  for (const CostName& known : kCostNames) {
    if (known.name == statistic.name && statistic.value >= 0 &&
        statistic.value <= kMost) {
      cost.*known.cost = static_cast<uint32_t>(statistic.value);
    }
  }
}

absl::StatusOr<std::vector<VkPipelineExecutablePropertiesKHR>> ExecutablesOf(
    const DeviceHandles& device, VkPipeline pipeline) {
  VkPipelineInfoKHR info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR;
  info.pipeline = pipeline;
  uint32_t count = 0;
  VkResult result =
      device.get_executables(device.device.get(), &info, &count, nullptr);
  VkPipelineExecutablePropertiesKHR empty{};
  empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR;
  std::vector<VkPipelineExecutablePropertiesKHR> executables(count, empty);
  if (result == VK_SUCCESS) {
    result = device.get_executables(device.device.get(), &info, &count,
                                    executables.data());
  }
  if (result != VK_SUCCESS) {
    return VulkanError("vkGetPipelineExecutablePropertiesKHR", result);
  }
  return executables;
}

absl::StatusOr<std::vector<VkPipelineExecutableStatisticKHR>> StatisticsOf(
    const DeviceHandles& device, VkPipeline pipeline, uint32_t executable) {
  VkPipelineExecutableInfoKHR info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
  info.pipeline = pipeline;
  info.executableIndex = executable;
  uint32_t count = 0;
  VkResult result =
      device.get_statistics(device.device.get(), &info, &count, nullptr);
  VkPipelineExecutableStatisticKHR empty{};
  empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
  std::vector<VkPipelineExecutableStatisticKHR> statistics(count, empty);
  if (result == VK_SUCCESS) {
    result = device.get_statistics(device.device.get(), &info, &count,
                                   statistics.data());
  }
  if (result != VK_SUCCESS) {
    return VulkanError("vkGetPipelineExecutableStatisticsKHR", result);
  }
  return statistics;
}

}  // namespace

absl::StatusOr<PipelineStatistics> ReadStatistics(const DeviceHandles& device,
                                                  VkPipeline pipeline) {
  PipelineStatistics result;
  KILN_ASSIGN_OR_RETURN(const auto executables,
                        ExecutablesOf(device, pipeline));
  bool has_fragment = false;
  for (uint32_t i = 0; i < executables.size(); ++i) {
    KILN_ASSIGN_OR_RETURN(const auto statistics,
                          StatisticsOf(device, pipeline, i));
    VariantCost cost;
    for (const VkPipelineExecutableStatisticKHR& statistic : statistics) {
      result.statistics.push_back({ToValidUtf8(executables[i].name),
                                   ToValidUtf8(statistic.name),
                                   ValueOf(statistic)});
      AddCost(result.statistics.back(), cost);
    }
    const bool fragment =
        (executables[i].stages & VK_SHADER_STAGE_FRAGMENT_BIT) != 0;
    if (fragment || !has_fragment) {
      result.cost = cost;
    }
    has_fragment |= fragment;
  }
  return result;
}

}  // namespace kiln::pipeline
