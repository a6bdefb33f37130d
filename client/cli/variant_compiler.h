// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `kiln report` and `kiln advise` have in common: a list of variants made
// ready in one session, with a progress bar, and the variants of a program
// that are stored already.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "client/blocking.h"
#include "client/rpc.h"
#include "proto/digest.h"
#include "proto/program.h"
#include "proto/variant_key.h"

namespace kiln::v1 {
class Completion;
}  // namespace kiln::v1

namespace kiln::cli {

// The only one to send requests in its session. Thread-compatible.
class VariantCompiler {
 public:
  // Lifetime: `session` and `program` outlive it.
  VariantCompiler(client::BlockingSession& session, const Program& program)
      : session_(session), program_(program) {}

  // Asks for every one of `keys` and waits. A variant that does not compile is
  // a completion like any other.
  // Returns: the completions, in the order of `keys`.
  // Errors: those of AwaitCompletions. Blocks: until all are settled.
  absl::StatusOr<std::vector<v1::Completion>> Compile(
      std::span<const VariantKey> keys);

 private:
  client::BlockingSession& session_;
  const Program& program_;
  uint64_t sent_ = 0;
};

// The keys of the variants that the daemon has of a program for a target, in
// key order. Errors: those of ListVariants. Blocks: a round trip a page.
absl::StatusOr<std::vector<VariantKey>> StoredKeys(client::RpcClient& rpc,
                                                   const Digest& program_id,
                                                   const Digest& target);

}  // namespace kiln::cli
