// SPDX-License-Identifier: Apache-2.0
#pragma once

// The last act: both engines take their sources from a search root, a copy of
// the scene's folder, and go on drawing while an include there is edited,
// broken and mended.

#include "absl/status/status.h"
#include "client/demo/cast.h"
#include "client/demo/demonstration.h"
#include "client/demo/narrator.h"

namespace kiln::demo {

// Errors: what went wrong. Claims that do not hold are the narrator's.
absl::Status PlayLiveAct(const DemonstrationOptions& options, const Cast& cast,
                         Narrator& narrator);

}  // namespace kiln::demo
