// SPDX-License-Identifier: Apache-2.0
#pragma once

// The version of this build, set by CMake from the project's.

#include <string_view>

namespace kiln::daemon {

inline constexpr std::string_view kVersion = KILN_VERSION;

}  // namespace kiln::daemon
