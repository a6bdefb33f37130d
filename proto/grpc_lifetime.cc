// SPDX-License-Identifier: Apache-2.0
#include "proto/grpc_lifetime.h"

#include <grpc/grpc.h>

namespace kiln {

void KeepGrpcRunning() {
  // Never taken back, on purpose.
  [[maybe_unused]] static const bool kInitialised = (grpc_init(), true);
}

}  // namespace kiln
