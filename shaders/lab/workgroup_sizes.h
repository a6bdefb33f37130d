// SPDX-License-Identifier: Apache-2.0
#pragma once

// The workgroup sizes worth measuring for a compute program on a device, and
// those that the device refuses. Plain arithmetic; tune.h measures.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "proto/variant_key.h"

namespace kiln::lab {

// What a device allows: maxComputeWorkGroupSize, maxComputeWorkGroupInvocations
// and the invocations that run side by side.
struct SizeLimits {
  std::array<uint32_t, 3> size = {128, 128, 64};
  uint32_t invocations = 128;
  uint32_t subgroup = 1;
};

// Values to try for one of the program's workgroup overrides.
struct SizeChoice {
  std::string name;
  std::vector<uint64_t> values;
};

struct WorkgroupSize {
  VariantKey key;  // normalised
  std::array<uint32_t, 3> size = {1, 1, 1};
  std::vector<OverrideValue> overrides;  // x first, those at default too

  uint64_t invocations() const { return uint64_t{size[0]} * size[1] * size[2]; }
};

// A size, or one value of an override, that is not measured.
struct RefusedSize {
  std::string size;  // "WIDTH=64 HEIGHT=32"
  std::string why;   // with the value and the limit
};

struct SizeList {
  std::vector<WorkgroupSize> sizes;
  std::vector<RefusedSize> refused;
};

// "WIDTH=64 HEIGHT=4".
std::string SizeText(const std::vector<OverrideValue>& overrides);

// More combinations than this are no search but a mistake.
inline constexpr size_t kSizesMost = 2048;

// Every combination of the values of each workgroup override: those of its
// choice, else its declared steps, else the powers of two to 1024 within its
// range; and its default. Combinations over the device's limits are refused;
// without choices also those that do not fill a subgroup, if others do.
// `base` is the key but for the size; the sizes' keys are it, normalised.
// Errors: InvalidArgument when the program is none of compute or has no
// workgroup overrides; when a chosen value is over the limit, naming the
// override, value and limit; when nothing is left, or over kSizesMost are.
absl::StatusOr<SizeList> ListSizes(const Program& program,
                                   const VariantKey& base,
                                   const SizeLimits& limits,
                                   const std::vector<SizeChoice>& choices);

}  // namespace kiln::lab
