// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `kiln report`, `kiln advise` and `kiln compile` have in common: a list
// of variants, or one front end, made ready with something to look at
// meanwhile, and the variants of a program that are stored already.

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/blocking.h"
#include "client/cli/program_session.h"
#include "client/rpc.h"
#include "proto/digest.h"
#include "proto/program.h"
#include "proto/variant_key.h"

namespace kiln::v1 {
class Completion;
}  // namespace kiln::v1

namespace kiln::cli {

// Thread-compatible.
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
};

// The front end of a registered program, with a spinner and `label` meanwhile.
// That it does not compile is a completion like any other.
// Errors: those of AwaitCompletions. Blocks: until it is settled.
absl::StatusOr<v1::Completion> CompileFrontEnd(client::BlockingSession& session,
                                               const Digest& program,
                                               const std::string& label);

// The keys of the variants that the daemon has of a registered program for the
// session's target, in key order; of a living one, those of what it is now.
// Errors: those of ListVariants and CompileFrontEnd. Blocks: a round trip a
// page; also a front end, of a living program.
absl::StatusOr<std::vector<VariantKey>> StoredKeys(
    client::RpcClient& rpc, client::BlockingSession& session,
    const LoadedProgram& program);

}  // namespace kiln::cli
