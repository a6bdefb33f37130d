// SPDX-License-Identifier: Apache-2.0
#pragma once

// Explain: why a key is not stored, or had to be compiled. Here a key is made
// of what a person typed; the search itself is in explain.h.

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/asked_keys.h"
#include "daemon/program_registry.h"

namespace kiln::v1 {
class ExplainRequest;
class ExplainResponse;
}  // namespace kiln::v1

namespace kiln::storage {
class VariantStore;
}  // namespace kiln::storage

namespace kiln::daemon {

// What the call works on. Lifetime: only during the call.
struct ExplainContext {
  storage::VariantStore& store;
  ProgramRegistry& registry;
  const AskedKeys& asked;
  // What a registered program means now: of a living one its snapshot, of any
  // other itself. Its errors are those of the call.
  std::function<absl::StatusOr<std::shared_ptr<RegisteredProgram>>(
      const Digest&)>
      current;
};

// Errors: NotFound naming a key that is neither stored nor was asked for, or a
// program that is not known; InvalidArgument for a prefix that is malformed or
// fits several keys, for a key that its program refuses, and where no target is
// named and none can be meant. Blocks: disk, up to a second with a large store.
absl::Status AnswerExplain(const ExplainContext& context,
                           const v1::ExplainRequest& request,
                           v1::ExplainResponse* response);

}  // namespace kiln::daemon
