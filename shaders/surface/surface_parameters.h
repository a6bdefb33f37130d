// SPDX-License-Identifier: Apache-2.0
#pragma once

// The parameters of a surface's function, as a slot writes them.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace kiln::surface {

// The name of each parameter: "inout Material m, float t[2]" gives m and t.
// Errors: InvalidArgument naming the parameter that has none.
absl::StatusOr<std::vector<std::string>> ParameterNames(
    std::string_view parameters);

}  // namespace kiln::surface
