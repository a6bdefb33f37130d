// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/pipeline_state.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/pipeline/vulkan_names.h"

namespace kiln::pipeline {
namespace {

struct EnumField {
  VulkanEnum type;
  int32_t PipelineState::*field;
};

struct ColorMaskField {
  uint32_t PipelineState::*field;
};

struct StateWord {
  std::string_view name;
  std::variant<bool PipelineState::*, float PipelineState::*, EnumField,
               ColorMaskField>
      field;
};

const StateWord kWords[] = {
    {"alpha_op", EnumField{VulkanEnum::kBlendOp, &PipelineState::alpha_op}},
    {"alpha_to_coverage", &PipelineState::alpha_to_coverage},
    {"blend", &PipelineState::blend},
    {"color_op", EnumField{VulkanEnum::kBlendOp, &PipelineState::color_op}},
    {"color_write", ColorMaskField{&PipelineState::color_write}},
    {"cull", EnumField{VulkanEnum::kCullMode, &PipelineState::cull}},
    {"depth_bias_constant", &PipelineState::depth_bias_constant},
    {"depth_bias_slope", &PipelineState::depth_bias_slope},
    {"depth_clamp", &PipelineState::depth_clamp},
    {"depth_compare",
     EnumField{VulkanEnum::kCompareOp, &PipelineState::depth_compare}},
    {"depth_test", &PipelineState::depth_test},
    {"depth_write", &PipelineState::depth_write},
    {"dst_alpha",
     EnumField{VulkanEnum::kBlendFactor, &PipelineState::dst_alpha}},
    {"dst_color",
     EnumField{VulkanEnum::kBlendFactor, &PipelineState::dst_color}},
    {"front_face",
     EnumField{VulkanEnum::kFrontFace, &PipelineState::front_face}},
    {"polygon_mode",
     EnumField{VulkanEnum::kPolygonMode, &PipelineState::polygon_mode}},
    {"src_alpha",
     EnumField{VulkanEnum::kBlendFactor, &PipelineState::src_alpha}},
    {"src_color",
     EnumField{VulkanEnum::kBlendFactor, &PipelineState::src_color}},
};

absl::Status UnknownValue(const StateSetting& setting,
                          std::string_view allowed) {
  return absl::InvalidArgumentError(
      fmt::format("state {}: unknown value '{}'; allowed: {}", setting.name,
                  Shorten(setting.value, limits::kNameBytes), allowed));
}

// Sets the field a setting names; one overload per type of field.
struct Assign {
  const StateSetting& setting;
  PipelineState& state;

  absl::Status operator()(bool PipelineState::*field) const {
    if (setting.value != "true" && setting.value != "false") {
      return UnknownValue(setting, "true, false");
    }
    state.*field = setting.value == "true";
    return absl::OkStatus();
  }

  absl::Status operator()(float PipelineState::*field) const {
    const char* const end = setting.value.data() + setting.value.size();
    float value = 0;
    const auto [rest, error] =
        std::from_chars(setting.value.data(), end, value);
    if (error != std::errc() || rest != end || !std::isfinite(value)) {
      return UnknownValue(setting, "a finite number");
    }
    state.*field = value;
    return absl::OkStatus();
  }

  absl::Status operator()(EnumField field) const {
    KILN_ASSIGN_OR_RETURN(
        const int32_t value,
        ParseVulkanName(field.type, fmt::format("state {}", setting.name),
                        setting.value));
    if (value >= kFirstExtensionValue) {
      return UnknownValue(setting, "values of the Vulkan core");
    }
    state.*field.field = value;
    return absl::OkStatus();
  }

  absl::Status operator()(ColorMaskField field) const {
    constexpr std::string_view kLetters = "rgba";
    std::string_view letters = setting.value;
    if (letters == "true" || letters == "false") {
      letters = letters == "true" ? kLetters : std::string_view();
    } else if (letters.empty()) {
      letters = "?";
    }
    uint32_t mask = 0;
    for (const char letter : letters) {
      const size_t bit = kLetters.find(letter);
      if (bit == kLetters.npos || mask >> bit != 0) {
        return UnknownValue(setting,
                            "true, false, or letters of rgba in that order");
      }
      mask |= 1u << bit;
    }
    state.*field.field = mask;
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<PipelineState> ParseState(
    std::span<const StateSetting> settings) {
  PipelineState state;
  for (const StateSetting& setting : settings) {
    const auto word = std::ranges::find(kWords, setting.name, &StateWord::name);
    if (word == std::ranges::end(kWords)) {
      std::vector<std::string_view> names;
      for (const StateWord& known : kWords) {
        names.push_back(known.name);
      }
      return absl::InvalidArgumentError(fmt::format(
          "unknown state '{}'; allowed: {}",
          Shorten(setting.name, limits::kNameBytes), fmt::join(names, ", ")));
    }
    KILN_RETURN_IF_ERROR(std::visit(Assign{setting, state}, word->field));
  }
  return state;
}

}  // namespace kiln::pipeline
