// SPDX-License-Identifier: Apache-2.0
#pragma once

// Proves by example that variants never change the picture (SPEC section 2):
// draws random cases with the whole shader and with the variant that the
// program's own derivation asks for, and compares every sample byte for byte.
// Where they differ it says which bits did it.
//
// What is compared with is the whole shader with every bit set, also those that
// the kind is declared not to react to, so that declaration is proven, too.
// Needs a device that draws: lavapipe or a GPU.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "shaders/lab/case_source.h"
#include "shaders/lab/draw_inputs.h"
#include "shaders/lab/image_diff.h"
#include "shaders/pipeline/device.h"

namespace kiln::lab {

// One case as it ends, for progress.
struct CaseProgress {
  uint32_t done = 0;  // this one included
  uint32_t cases = 0;
  uint64_t seed = 0;
  std::string label;  // "opaque/none/alpha"
  bool same = true;
};

struct ProveOptions {
  // The i-th case has seed `seed` + i, which also picks its key, so a case can
  // be had again alone. More cases find rarer faults.
  uint32_t cases = 256;
  uint64_t seed = 1;
  uint32_t width = 96;  // pixels; larger pictures see more and take longer
  uint32_t height = 64;
  std::vector<std::string> kinds;  // empty: every kind

  // Empty: bytes decide. Of several, the one of the device's driver counts.
  std::vector<Tolerance> tolerances;

  // Where differences are written, a folder for each of the first
  // `differences_written`; the others are only counted and named.
  std::filesystem::path output = "kiln-prove";
  uint32_t differences_written = 16;

  // Only one draw of each case, by chance, is drawn with its variant; the
  // others keep the whole shader. There is less to compile a case.
  bool one_draw = false;

  // Also draws each case with every bit that is set forced clear, to see that
  // the cases show the block. Several times slower.
  bool sensitivity = false;

  // Lets a test derive wrongly; by default the program's derivation is asked.
  std::function<absl::StatusOr<FeatureMask>(const DrawInputs&, size_t draw)>
      derive;
  CaseSource* source = nullptr;  // by default MakeCaseSource's

  // Called after each case. Returns: whether to go on.
  std::function<bool(const CaseProgress&)> on_case;
};

struct CaseDifference {
  uint64_t seed = 0;
  std::string label;
  std::vector<std::string> cleared;  // bits that a variant lacks
  std::vector<std::string> blamed;   // those that change the picture
  bool unstable = false;  // the whole shader itself does not draw twice alike
  PictureDifference picture;
  std::filesystem::path folder;  // of the three images; empty: not written
};

struct KindReport {
  std::string kind;
  uint32_t cases = 0;
  uint32_t variants = 0;     // distinct ones, the whole shader not counted
  uint32_t differences = 0;  // cases
  uint32_t tolerated = 0;    // cases that differ within the tolerance
  double covered = 0;        // share of pixels that draws changed, mean
};

struct BitReport {
  uint32_t bit = 0;
  std::string name;
  uint32_t set = 0;      // cases with a variant that has it
  uint32_t cleared = 0;  // cases with a variant that lacks it
  uint32_t matters = 0;  // of `set`, where forcing it clear changed the picture
};

struct ProveReport {
  uint32_t cases = 0;  // fewer than asked for if it was stopped
  std::vector<KindReport> kinds;
  std::vector<BitReport> bits;
  std::vector<CaseDifference> differences;
  std::optional<Tolerance> tolerance;  // the one that was used
  size_t pipelines = 0;                // created for all this
};

// Errors: FailedPrecondition on a device that only compiles, or for a program
// with features and no derivation; InvalidArgument for a compute program, an
// unknown kind, a program that does not compile or cases that do not fit it;
// Unavailable when an image cannot be written; Internal when the driver fails.
// Blocks: on lavapipe a second or two a variant, nearly all to compile it.
absl::StatusOr<ProveReport> Prove(pipeline::Device& device,
                                  const Program& program,
                                  const ProveOptions& options);

}  // namespace kiln::lab
