// SPDX-License-Identifier: Apache-2.0
#pragma once

// RegisterSurface, RemoveSurface and ListSurfaces, by the wire.

#include <grpcpp/support/server_callback.h>

#include "absl/status/status.h"
#include "daemon/service.h"

namespace kiln::v1 {
class ListSurfacesRequest;
class ListSurfacesResponse;
class RegisterSurfaceRequest;
class RegisterSurfaceResponse;
class RemoveSurfaceRequest;
class RemoveSurfaceResponse;
}  // namespace kiln::v1

namespace kiln::daemon {

// Finishes `reactor` when the surface has been tried. Lifetime: of request and
// response, until then.
void AnswerRegisterSurface(ServiceContext& context,
                           const v1::RegisterSurfaceRequest& request,
                           v1::RegisterSurfaceResponse* response,
                           grpc::ServerUnaryReactor* reactor);

// Errors: as the calls of kiln.proto. Blocks: disk.
absl::Status AnswerRemoveSurface(ServiceContext& context,
                                 const v1::RemoveSurfaceRequest& request,
                                 v1::RemoveSurfaceResponse* response);
absl::Status AnswerListSurfaces(ServiceContext& context,
                                const v1::ListSurfacesRequest& request,
                                v1::ListSurfacesResponse* response);

}  // namespace kiln::daemon
