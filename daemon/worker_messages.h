// SPDX-License-Identifier: Apache-2.0
#pragma once

// Between the pool's types and the messages of kiln-worker (worker.proto).
// No decisions here: those are worker_pool.cc's.

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/worker_pool.h"

namespace kiln::worker::v1 {
class Hello;
class JobResult;
class WorkerCommand;
}  // namespace kiln::worker::v1

namespace kiln::daemon {

// Loads the job's program, with its modules where the front end has run.
worker::v1::WorkerCommand MakeLoadProgram(const CompileJob& job);

worker::v1::WorkerCommand MakeJob(uint64_t job_id, const CompileJob& job);

// Returns: the target a worker has opened. Errors: those the worker reports.
absl::StatusOr<OpenTargetPtr> ToOpenTarget(const TargetSpec& spec,
                                           const worker::v1::Hello& hello);

// Returns: what the worker says of its sandbox; empty when it has none.
std::vector<SandboxLayer> ToSandbox(const worker::v1::Hello& hello);

// "privileges, files", or with what lacks: "files; lacking limits (why)".
std::string SandboxText(const std::vector<SandboxLayer>& layers);

// Returns: what became of `job`. An answer that does not fit it is an error.
JobOutcome ToOutcome(const CompileJob& job,
                     const worker::v1::JobResult& result);

}  // namespace kiln::daemon
