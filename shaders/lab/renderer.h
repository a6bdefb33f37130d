// SPDX-License-Identifier: Apache-2.0
#pragma once

// Draws DrawInputs with pipelines of one program and hands back every sample,
// or the time it took. No Vulkan header is needed to use it.
//
//   auto renderer = Renderer::Make(device, program);
//   (*renderer)->Load(inputs);
//   auto whole = (*renderer)->Draw(whole_pipeline);
//   auto variant = (*renderer)->Draw(variant_pipeline);   // same resources

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/program.h"
#include "shaders/lab/draw_inputs.h"
#include "shaders/lab/picture.h"
#include "shaders/pipeline/device.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::lab {

struct TimingOptions {
  uint32_t frames = 20;  // at least 1; more give a steadier median
  uint32_t warm_up = 5;  // frames before them: clocks rise, code is fetched
};

// Thread-compatible; uses the device's queue. A program that writes buffers or
// images sees in its second draw what the first one wrote: Load again between.
class Renderer {
 public:
  // Errors: FailedPrecondition on a device that runs no commands;
  // InvalidArgument when the program's layout is not the device's.
  // Lifetime: `device` outlives the renderer.
  static absl::StatusOr<std::unique_ptr<Renderer>> Make(
      pipeline::Device& device, const Program& program);

  Renderer(const Renderer&) = delete;  // owns device objects
  Renderer& operator=(const Renderer&) = delete;
  ~Renderer();

  // Uploads `inputs`, in place of those before. Errors: InvalidArgument naming
  // what does not fit the program or the device. Blocks: for the upload.
  absl::Status Load(const DrawInputs& inputs);

  // Draws every draw of the inputs with `pipeline`, in order, over cleared
  // attachments. Requires: Load; a pipeline of this program.
  // Errors: Internal when the driver fails. Blocks: until it is drawn; some
  // drivers compile here (llvmpipe does).
  absl::StatusOr<Picture> Draw(const pipeline::Pipeline& pipeline);

  // The same with a pipeline per draw. Requires: as many as there are draws.
  absl::StatusOr<Picture> Draw(
      std::span<const pipeline::Pipeline* const> pipelines);

  // The cleared attachments.
  absl::StatusOr<Picture> DrawNothing();

  // Draws frame after frame in one submission. Returns: the microseconds of
  // each, by time stamps around its pass, clears included.
  // Errors: FailedPrecondition when the device has no time stamps.
  absl::StatusOr<std::vector<double>> TimeDraws(
      const pipeline::Pipeline& pipeline, const TimingOptions& options = {});

  // The same with a pipeline per draw. Requires: as many as there are draws.
  absl::StatusOr<std::vector<double>> TimeDraws(
      std::span<const pipeline::Pipeline* const> pipelines,
      const TimingOptions& options = {});

 private:
  struct Objects;
  explicit Renderer(std::unique_ptr<Objects> objects);

  std::unique_ptr<Objects> objects_;
};

}  // namespace kiln::lab
