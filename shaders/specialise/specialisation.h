// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps of a specialisation, one after the other. Internal to this folder:
// specialise.h and stage_outputs.h are made of it.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/constant.h"
#include "shaders/freeze.h"
#include "shaders/specialise/prepared_module.h"

namespace kiln::specialise {

// Specialise(), with output variables that need not be there unless the stage
// reads them itself. Errors: as Specialise.
absl::StatusOr<std::vector<uint32_t>> SpecialiseWithout(
    const PreparedModule& module, std::span<const Constant> constants,
    std::span<const uint32_t> unread, shaders::Revalidation revalidation);

}  // namespace kiln::specialise
