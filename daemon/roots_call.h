// SPDX-License-Identifier: Apache-2.0
#pragma once

// ListRoots, AddRoot, RemoveRoot and MarkRoots: the search roots, by the wire.

#include "absl/status/status.h"
#include "daemon/service.h"

namespace kiln::v1 {
class AddRootRequest;
class AddRootResponse;
class ListRootsRequest;
class ListRootsResponse;
class MarkRootsRequest;
class RemoveRootRequest;
}  // namespace kiln::v1

namespace kiln::daemon {

// Errors: as the calls of kiln.proto. Blocks: disk.
absl::Status AnswerListRoots(const ServiceContext& context,
                             const v1::ListRootsRequest& request,
                             v1::ListRootsResponse* response);
absl::Status AnswerAddRoot(ServiceContext& context,
                           const v1::AddRootRequest& request,
                           v1::AddRootResponse* response);
absl::Status AnswerRemoveRoot(ServiceContext& context,
                              const v1::RemoveRootRequest& request);
absl::Status AnswerMarkRoots(ServiceContext& context,
                             const v1::MarkRootsRequest& request);

}  // namespace kiln::daemon
