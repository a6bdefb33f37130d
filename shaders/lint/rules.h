// SPDX-License-Identifier: Apache-2.0
#pragma once

// The lint's rules, one file each: lint.h says what they are for and where
// they draw the line. Each returns its findings in no order.

#include <string_view>
#include <vector>

#include "shaders/lint.h"
#include "shaders/lint/module.h"

namespace kiln::shaders::lint {

// How the message begins for a constant table, whose name SPIR-V does not keep.
inline constexpr std::string_view kUnnamedTable = "a copy of a constant array";

std::vector<LintFinding> FindDynamicArrays(const Module& module);

std::vector<LintFinding> FindStructArraysAcrossLoops(const Module& module);

}  // namespace kiln::shaders::lint
