// SPDX-License-Identifier: Apache-2.0
#pragma once

// PutTuning and GetTuning: the override values that ran fastest on a target.
// kilnd only remembers them; `kiln tune` measures.

#include "absl/status/status.h"
#include "daemon/service.h"

namespace kiln::v1 {
class GetTuningRequest;
class GetTuningResponse;
class PutTuningRequest;
}  // namespace kiln::v1

namespace kiln::daemon {

// Errors: as the calls of kiln.proto. Blocks: disk.
absl::Status RememberTuning(ServiceContext& context,
                            const v1::PutTuningRequest& request);
absl::Status FindTuning(ServiceContext& context,
                        const v1::GetTuningRequest& request,
                        v1::GetTuningResponse* response);

}  // namespace kiln::daemon
