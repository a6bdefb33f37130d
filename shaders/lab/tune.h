// SPDX-License-Identifier: Apache-2.0
#pragma once

// Finds the workgroup size with which a compute program is fastest on a device,
// by measuring: every size that the device allows does the same work on the
// same inputs. `kiln tune` is this and a memory. The pipelines are those that
// CreatePipeline makes for the sizes' keys, the code an engine would run.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/digest.h"
#include "proto/program.h"
#include "shaders/lab/workgroup_sizes.h"
#include "shaders/pipeline/device.h"

namespace kiln::lab {

struct TuneOptions {
  std::vector<SizeChoice> choices;  // see ListSizes; of the others, the usual
  // Invocations in x, y and z; each size runs as many groups as cover them.
  // All 0: 2^20 in all, as a line, a square or a slab by the number of the
  // program's workgroup overrides. Too few, and starting a dispatch is all
  // that is measured.
  std::array<uint32_t, 3> work = {0, 0, 0};
  // Elements of storage arrays without a size. 0: one for each invocation. A
  // kernel that writes past them overruns memory, as it would in an engine.
  uint32_t elements = 0;
  // Timed dispatches of each size. More tell smaller differences apart. A size
  // whose warm-up takes three times as long as the fastest one's has three.
  uint32_t rounds = 15;
  // What one size may take in all. A size of which three dispatches would take
  // longer is refused; one of which `rounds` would is measured fewer times.
  std::chrono::milliseconds size_limit{10000};
  uint64_t seed = 1;  // of the inputs and the order of measuring
  // Called after each dispatch; false ends with Cancelled.
  std::function<bool(size_t done, size_t total)> on_progress;
};

struct TunedSize {
  WorkgroupSize size;
  std::array<uint32_t, 3> groups = {1, 1, 1};
  double median_us = 0;
  std::vector<double> microseconds;  // of every timed dispatch
  Digest output;  // of what the storage buffers hold after one dispatch
};

struct TuneReport {
  std::array<uint32_t, 3> work = {0, 0, 0};
  bool time_stamps = false;         // the device's clock; else the processor's
  std::vector<TunedSize> measured;  // fastest first
  // Position in `measured` of the size to use: the fastest, or a smaller one
  // within 2% of it, which leaves more room beside it.
  size_t best = 0;
  std::vector<RefusedSize> refused;
  // What tells a measurement from a mistake. A kernel that finds no work to do
  // in the generated inputs writes nothing; one that is wrong for some sizes
  // writes something else with them (or sums floats in another order).
  bool wrote_output = false;
  bool outputs_agree = false;
};

// Measures the program's first kind with all features. Buffers and images are
// filled by reflection (generic_cases.h), images as large as the work.
// Errors: those of ListSizes; InvalidArgument with the compiler's diagnostics,
// or where schema and shader disagree (schema_check.h);
// FailedPrecondition on a target that only compiles; Unimplemented for inputs
// that cannot be made up; Cancelled. Blocks: for as long as it takes.
absl::StatusOr<TuneReport> TuneProgram(pipeline::Device& device,
                                       const Program& program,
                                       const TuneOptions& options = {});

// The position of the size to use. Requires: `measured` sorted, not empty.
size_t BestSize(const std::vector<TunedSize>& measured);

}  // namespace kiln::lab
