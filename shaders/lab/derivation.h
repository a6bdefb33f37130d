// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which feature bits a draw needs, asked of the program itself: a program may
// name a compute shader (Program::derivation) that reads the buffers and push
// constants of a draw, at the same places, and writes `uint features[2]` to a
// storage buffer at set 1, binding 0: bits 0 to 31, then 32 to 63.

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "shaders/lab/draw_inputs.h"
#include "shaders/pipeline/device.h"

namespace kiln::lab {

// Thread-compatible; uses the device's queue.
class Derivation {
 public:
  // Errors: FailedPrecondition when the program names none, or on a device that
  // runs no commands; InvalidArgument with the diagnostics when it does not
  // compile, or when the program itself has something at set 1, binding 0.
  // Lifetime: `device` outlives the derivation. Blocks: while it compiles.
  static absl::StatusOr<std::unique_ptr<Derivation>> Make(
      pipeline::Device& device, const Program& program);

  Derivation(const Derivation&) = delete;  // owns a pipeline
  Derivation& operator=(const Derivation&) = delete;
  ~Derivation();

  // The bits of the `draw`-th draw of `inputs`. Requires: draw exists.
  // Errors: InvalidArgument naming a buffer that `inputs` lacks; DataLoss when
  // the shader set a bit that the program does not declare.
  absl::StatusOr<FeatureMask> Derive(const DrawInputs& inputs, size_t draw);

 private:
  struct Objects;
  explicit Derivation(std::unique_ptr<Objects> objects);

  std::unique_ptr<Objects> objects_;
};

}  // namespace kiln::lab
