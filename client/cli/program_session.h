// SPDX-License-Identifier: Apache-2.0
#pragma once

// The start that `kiln request` and `kiln warm` have in common: a program from
// its file, and a session in which the daemon knows it.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/blocking.h"
#include "client/rpc.h"
#include "proto/program.h"

namespace kiln::cli {

struct LoadedProgram {
  Program program;
  Digest id;
};

// Errors: those of LoadProgramFile. Blocks: disk.
absl::StatusOr<LoadedProgram> LoadProgram(const std::string& path);

// The same for commands that compile by themselves, without a daemon.
// Errors: also InvalidArgument for a rooted one, whose sources kilnd finds.
absl::StatusOr<LoadedProgram> LoadWholeProgram(const std::string& path);

// Uploads `program` and opens a session for `target`. Lifetime: `rpc` outlives
// the session. Errors: those of RegisterProgram and OpenSession.
absl::StatusOr<std::unique_ptr<client::BlockingSession>> OpenProgramSession(
    client::RpcClient& rpc, const LoadedProgram& program,
    const std::string& target);

}  // namespace kiln::cli
