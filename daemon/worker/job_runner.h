// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs one compile job after another in a worker process: sources to SPIR-V
// (once a stage of a program), SPIR-V to a pipeline, its blob, the proof that
// the blob hits, and the driver's statistics. Whatever goes wrong in a compiler
// or driver may take the process with it; nothing here guards against that.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/worker/backend.h"
#include "proto/artifact.h"
#include "proto/digest.h"
#include "proto/program.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::worker::v1 {
class Job;
class JobResult;
class LoadProgram;
}  // namespace kiln::worker::v1

namespace kiln::daemon {

struct JobRunnerOptions {
  // False: every job is refused with FailedPrecondition, for an installation
  // that has no sources; libshaderc is not touched.
  bool compiler = true;
  // True: what the specialiser makes is validated, too.
  bool validate = false;
};

// Thread-compatible.
class JobRunner {
 public:
  // Called before each step that could crash or hang.
  using OnPhase = std::function<void(std::string_view phase)>;

  explicit JobRunner(std::unique_ptr<Backend> backend,
                     const JobRunnerOptions& options = {});
  ~JobRunner();

  // Keeps a program and the modules that the daemon has of it, which may be of
  // some stages only.
  // Errors: InvalidArgument when the bytes are no program, not the named one or
  // a recipe, or a module is of no stage of it.
  absl::Status LoadProgram(const worker::v1::LoadProgram& load);

  // Everything that can be said of the job, errors included, is in the result:
  // the modules made for it, with their interfaces and warnings, and, when the
  // overrides were checked, those that no code reads.
  worker::v1::JobResult Run(const worker::v1::Job& job,
                            const OnPhase& on_phase);

  const Backend& backend() const { return *backend_; }

 private:
  struct LoadedProgram;

  static absl::Status RunFrontEnd(LoadedProgram& loaded,
                                  const OnPhase& on_phase,
                                  worker::v1::JobResult* result);
  absl::Status Compile(const worker::v1::Job& job, const OnPhase& on_phase,
                       worker::v1::JobResult* result);
  // What the driver makes of `input`, proven and measured; without its key.
  absl::StatusOr<Artifact> Build(const pipeline::PipelineInput& input,
                                 const OnPhase& on_phase,
                                 worker::v1::JobResult* result);

  JobRunnerOptions options_;
  const std::unique_ptr<Backend> backend_;
  std::map<Digest, std::unique_ptr<LoadedProgram>> programs_;
};

}  // namespace kiln::daemon
