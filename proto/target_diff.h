// SPDX-License-Identifier: Apache-2.0
#pragma once

// What differs between two devices or drivers, in words; see program_diff.h.

#include <vector>

#include "proto/program_diff.h"
#include "proto/target.h"

namespace kiln {

// Fields by name, as kind "driver"; of the lists, each feature, extension and
// layer that only one side has enabled. Empty when both have the same id, and
// only then.
std::vector<Difference> DiffTargets(const TargetIdentity& stored,
                                    const TargetIdentity& asked);

}  // namespace kiln
