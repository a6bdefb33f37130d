// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs many pipelines of one compute program on one set of inputs, each from
// the same content, and times them. For single kernels see compute.h. Internal.

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/digest.h"
#include "proto/program.h"
#include "shaders/lab/commands.h"
#include "shaders/lab/descriptor_sets.h"
#include "shaders/lab/draw_inputs.h"
#include "shaders/pipeline/pipeline.h"
#include "shaders/pipeline/pipeline_layout.h"

namespace kiln::lab {

// Thread-compatible; uses the device's queue.
class ProgramDispatch {
 public:
  // Uploads the inputs. Lifetime: `device` outlives it; of the other arguments
  // nothing is kept but copies.
  // Errors: those of MakeLayout and BoundResources; FailedPrecondition on a
  // device that runs no commands.
  static absl::StatusOr<std::unique_ptr<ProgramDispatch>> Make(
      pipeline::Device& device, const Program& program,
      const std::vector<BoundInput>& inputs, const Bytes& push_constants);

  ProgramDispatch(const ProgramDispatch&) = delete;  // its sets name its layout
  ProgramDispatch& operator=(const ProgramDispatch&) = delete;

  // Puts the storage buffers back to what they were, then runs `pipeline` of
  // the program. Returns: microseconds, by the device's clock if it has one.
  // Errors: Internal when the device fails. Blocks: until it is done.
  absl::StatusOr<double> Run(const pipeline::Pipeline& pipeline,
                             const std::array<uint32_t, 3>& groups);

  // Of all storage buffers, as the last Run left them.
  absl::StatusOr<Digest> Output();

  // True when times are of the device's clock, not of the processor's.
  bool has_time_stamps() const { return watch_.has_value(); }

 private:
  struct StorageBuffer {
    const DeviceBuffer* bound = nullptr;
    DeviceBuffer initial;
    VkDeviceSize bytes = 0;
  };

  explicit ProgramDispatch(const DeviceHandles& device) : device_(device) {}

  absl::Status Upload(const std::vector<BoundInput>& inputs);
  absl::Status KeepInitial(const std::vector<BoundInput>& inputs);
  void RecordRestore(VkCommandBuffer commands) const;
  void RecordDispatch(VkCommandBuffer commands,
                      const pipeline::Pipeline& pipeline,
                      const std::array<uint32_t, 3>& groups) const;

  const DeviceHandles& device_;
  PipelineSkeleton skeleton_;
  Bytes push_constants_;
  pipeline::PipelineLayout layout_;  // compatible with every pipeline's
  std::optional<CommandRunner> runner_;
  std::optional<Stopwatch> watch_;
  BoundResources resources_;
  std::optional<DescriptorSets> sets_;
  std::vector<StorageBuffer> storage_;
  DeviceBuffer read_back_;
};

}  // namespace kiln::lab
