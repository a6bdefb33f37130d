// SPDX-License-Identifier: Apache-2.0
#pragma once

// ListFailures and LiftFailures: variants that are not compiled again, since
// they were refused or took workers down.

#include "absl/status/status.h"
#include "daemon/service.h"

namespace kiln::v1 {
class LiftFailuresRequest;
class LiftFailuresResponse;
class ListFailuresRequest;
class ListFailuresResponse;
}  // namespace kiln::v1

namespace kiln::daemon {

// Errors: as the calls of kiln.proto. Blocks: disk.
absl::Status AnswerListFailures(ServiceContext& context,
                                const v1::ListFailuresRequest& request,
                                v1::ListFailuresResponse* response);
absl::Status AnswerLiftFailures(ServiceContext& context,
                                const v1::LiftFailuresRequest& request,
                                v1::LiftFailuresResponse* response);

}  // namespace kiln::daemon
