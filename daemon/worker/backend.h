// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a worker compiles with: the few things that a job asks of a driver.
// vulkan_backend.h is the real one; a test may have one that fails on demand.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/bytes.h"
#include "proto/target.h"
#include "shaders/pipeline/device.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::daemon {

// Thread-compatible. Any call may take the process with it, hang, or use up the
// machine: kilnd guards against that from outside (worker_fleet.h).
class Backend {
 public:
  virtual ~Backend() = default;

  virtual const TargetIdentity& identity() const = 0;
  virtual pipeline::DeviceLimits limits() const = 0;

  // Errors, Blocks: as pipeline::CompilePipeline.
  virtual absl::StatusOr<pipeline::CompiledPipeline> Compile(
      const pipeline::PipelineInput& input) = 0;

  // Re-creates the pipeline from `blob` where nothing but the blob can answer:
  // on a second device that has compiled nothing. Errors: as
  // pipeline::CreateFromBlob.
  virtual absl::StatusOr<pipeline::HitFeedback> Prove(
      const pipeline::PipelineInput& input, ByteView blob) = 0;

  // Errors, Blocks: as pipeline::MeasurePipeline.
  virtual absl::StatusOr<pipeline::PipelineStatistics> Measure(
      const pipeline::PipelineInput& input) = 0;

  // What the validation layer has said since the last call; empty without it.
  virtual std::vector<std::string> TakeValidationMessages() = 0;
};

struct BackendOptions {
  bool validate = false;  // under the Khronos validation layer
};

// Errors: as pipeline::SelectDriver and pipeline::Device::Open. Blocks: while
// the driver starts.
using OpenBackend = std::function<absl::StatusOr<std::unique_ptr<Backend>>(
    const TargetSpec&, const BackendOptions&)>;

}  // namespace kiln::daemon
