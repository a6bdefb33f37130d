// SPDX-License-Identifier: Apache-2.0
#pragma once

// A key's constants as VkSpecializationInfo, one per stage: each stage is given
// the constants it declares. Internal.

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "shaders/pipeline/device_handles.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::pipeline {

struct StageSpecialization {
  std::vector<VkSpecializationMapEntry> entries;
  std::vector<std::byte> values;  // packed, each as wide as its type

  // Lifetime: of what it points to, that of this object, unmoved.
  VkSpecializationInfo Info() const;
};

// Returns: one element per element of `code`.
// Errors: InvalidArgument naming a constant that no stage declares (Vulkan
// ignores it silently, KNOWN_FAULTS 34) or that has another width there.
absl::StatusOr<std::vector<StageSpecialization>> Specialize(
    std::span<const Constant> constants, std::span<const StageCode> code);

}  // namespace kiln::pipeline
