// SPDX-License-Identifier: Apache-2.0
#pragma once

// The first two acts: both engines ask a fresh daemon for their variants, and
// then, after a restart, a daemon that has them.

#include "absl/status/status.h"
#include "client/demo/cast.h"
#include "client/demo/demonstration.h"
#include "client/demo/narrator.h"

namespace kiln::demo {

// Errors: what went wrong. Claims that do not hold are the narrator's.
absl::Status PlayRounds(const DemonstrationOptions& options, const Cast& cast,
                        Narrator& narrator);

}  // namespace kiln::demo
