// SPDX-License-Identifier: Apache-2.0
#pragma once

// The vocabulary of pipeline state: the names and values that a StateSetting
// (proto/program.h) may have. Everything else of a pipeline is in its skeleton;
// viewport and scissor are dynamic.
//
//   name                 values                                        default
//   depth_test           true, false                                   true
//   depth_write          true, false                                   true
//   depth_compare        VkCompareOp less_or_equal depth_clamp          true,
//   false                                   false depth_bias_constant  a number
//   0 depth_bias_slope     a number                                      0 cull
//   none, front, back, front_and_back             back front_face
//   counter_clockwise, clockwise                  counter_clockwise
//   polygon_mode         fill, line, point                             fill
//   color_write          true (rgba), false (none), or some of rgba    true
//   alpha_to_coverage    true, false                                   false
//   blend                true, false                                   false
//   src_color, dst_color VkBlendFactor                                 one,
//   zero color_op             add, subtract, reverse_subtract, min, max     add
//   src_alpha, dst_alpha VkBlendFactor                                 one,
//   zero alpha_op             as color_op                                   add
//
// Depth settings do nothing without a depth format, the factors nothing
// without `blend`. Blending is the same for every color attachment.

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "proto/program.h"

namespace kiln::pipeline {

// The values as Vulkan has them. Thread-compatible.
struct PipelineState {
  bool depth_test = true;
  bool depth_write = true;
  int32_t depth_compare = 3;  // VK_COMPARE_OP_LESS_OR_EQUAL
  bool depth_clamp = false;
  float depth_bias_constant = 0;  // units of the smallest depth difference
  float depth_bias_slope = 0;
  int32_t cull = 2;  // VK_CULL_MODE_BACK_BIT
  int32_t front_face = 0;
  int32_t polygon_mode = 0;
  uint32_t color_write = 0xF;  // VkColorComponentFlags
  bool alpha_to_coverage = false;
  bool blend = false;
  int32_t src_color = 1;  // VK_BLEND_FACTOR_ONE
  int32_t dst_color = 0;
  int32_t color_op = 0;
  int32_t src_alpha = 1;
  int32_t dst_alpha = 0;
  int32_t alpha_op = 0;
};

// Errors: InvalidArgument naming the unknown setting or value, and the allowed
// ones.
absl::StatusOr<PipelineState> ParseState(
    std::span<const StateSetting> settings);

}  // namespace kiln::pipeline
