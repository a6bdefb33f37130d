// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kiln.RegisterProgram: a program arriving in chunks.

#include <grpcpp/support/server_callback.h>

#include "daemon/service.h"
#include "kiln/v1/kiln.pb.h"

namespace kiln::daemon {

// Returns: the reactor of one call, which deletes itself.
grpc::ServerReadReactor<v1::RegisterProgramRequest>* StartRegisterCall(
    ServiceContext& context, v1::RegisterProgramResponse* response);

}  // namespace kiln::daemon
