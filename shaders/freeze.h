// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gives a module's specialization constants their values for good, so that
// what a driver is handed has none left and its sizes can be read off
// (KNOWN_FAULTS 15). Everything computed from them is folded: integers of all
// widths, conversions, vectors; SPIRV-Tools 2023.1 folds 32-bit integers and
// booleans only. Result ids and names stay. Removing the code that the values
// turn off is another step; whether a device can run the result is
// module_limits.h's.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/constant.h"

namespace kiln::shaders {

enum class Revalidation : uint8_t {
  // Only when a value decides something the validator looks at: a type, a
  // workgroup size, an operand that must be a constant. Else the module is as
  // valid as it was. Validating takes a hundred times as long as freezing.
  kWhereValuesMatter,
  kAlways,
  kNever,  // for callers that validate what they make of it
};

// Freezes every specialization constant of `spirv`: to the value given, by id
// or, with kIdByName, by OpName; else to its default. An integer of another
// type is taken where its number fits. Constants of one constant_id all get
// the value given; without one, each keeps its own default, as in Vulkan.
// Requires: a validated module. Thread-safe.
// Returns: the frozen module.
// Errors: InvalidArgument naming the constant: none has that id or name, it is
// given twice, its value does not fit its type, makes an array that no device
// could hold or otherwise an invalid module.
absl::StatusOr<std::vector<uint32_t>> FreezeConstants(
    std::span<const uint32_t> spirv, std::span<const Constant> constants,
    Revalidation revalidation = Revalidation::kWhereValuesMatter);

}  // namespace kiln::shaders
