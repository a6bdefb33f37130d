// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kiln.GetArtifact: one stored artifact and its modules, leaving in chunks.

#include <grpcpp/support/server_callback.h>

#include "daemon/service.h"
#include "kiln/v1/kiln.pb.h"

namespace kiln::daemon {

// Returns: the reactor of one call, which deletes itself.
grpc::ServerWriteReactor<v1::GetArtifactResponse>* StartArtifactCall(
    ServiceContext& context, const v1::GetArtifactRequest& request);

}  // namespace kiln::daemon
