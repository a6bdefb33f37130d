// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kiln.GetModule: one stored SPIR-V module, in chunks.

#include <grpcpp/support/server_callback.h>

#include "daemon/service.h"
#include "kiln/v1/kiln.pb.h"

namespace kiln::daemon {

// The call deletes itself when gRPC is done with it. Blocks: disk.
grpc::ServerWriteReactor<v1::GetModuleResponse>* StartModuleCall(
    ServiceContext& context, const v1::GetModuleRequest& request);

}  // namespace kiln::daemon
