// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which loads of local variables are sure to come after a store: only of those
// does what is stored say what is read. More are once code has been left out,
// as a variable written in each arm of a selection is in the one that stays.
// Internal to this folder.

#include <cstdint>
#include <vector>

#include "shaders/specialise/constant_propagation.h"
#include "shaders/specialise/control_flow.h"
#include "shaders/specialise/fold_plan.h"
#include "shaders/specialise/module_index.h"

namespace kiln::specialise {

// Adds to `assured`, by instruction, the loads that are in the code that runs.
// Of each variable only the first store there is looked at.
// Returns: whether a value is known of one that is new, so that the propagation
// would know more with them.
bool AddAssuredLoads(const ModuleIndex& index, const ControlFlow& flow,
                     const FoldPlan& plan, const ConstantPropagation& known,
                     std::vector<bool>& assured);

}  // namespace kiln::specialise
