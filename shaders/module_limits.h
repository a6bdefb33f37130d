// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether a device can hold what a module declares once its specialization
// constants have their values: workgroup, shared memory, arrays. Drivers do
// not ask: they divide by zero, abort after minutes, or overrun their stack
// (KNOWN_FAULTS 15). The time taken depends on the module's size alone, never
// on a value. Where a device's limits come from is shaders/pipeline/'s matter.

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "proto/constant.h"

namespace kiln::shaders {

class ModuleConstants;

// The defaults are what every Vulkan 1.3 device has; for the fields that
// Vulkan has no limit for, what no driver in use gets past. Raising a field
// above what the device has lets the driver crash; lowering it refuses modules
// that would run.
struct ModuleLimits {
  // maxComputeWorkGroupSize, invocations.
  uint32_t workgroup_size[3] = {128, 128, 64};
  // maxComputeWorkGroupInvocations.
  uint32_t workgroup_invocations = 128;
  // maxComputeSharedMemorySize, bytes; laid out as std430 would, which is how
  // Vulkan counts it.
  uint32_t shared_bytes = 16384;
  // All variables of one invocation, in bytes: Private, and Function of every
  // function. Vulkan has no such limit, and drivers compile what cannot run.
  // 512 KiB is the most local memory that NVIDIA gives one thread, and eight
  // lanes of it are half the stack of a thread of a CPU driver.
  uint32_t private_bytes = 512u << 10;
  // Components of one input or output variable: maxVertexOutputComponents,
  // maxFragmentInputComponents, of which desktop drivers have 128.
  uint32_t interface_components = 128;
  // Descriptors of one variable: maxPerStageResources, of which drivers with
  // descriptor indexing have a million and more.
  uint32_t descriptors = 1u << 20;

  // What no device has more of; catches only values that are wrong everywhere.
  static ModuleLimits OfNoDevice();
};

// Checks `spirv` as it is with `constants` given and all others at their
// defaults: workgroup sizes (zero is refused too), the sizes of variables and
// the length of every array.
// Requires: a validated module. Thread-safe.
// Errors: InvalidArgument naming the constants that decide the size, their
// values, the variable and the limit; or the constant that does not exist or
// whose value does not fit, as FreezeConstants.
absl::Status CheckModuleLimits(std::span<const uint32_t> spirv,
                               std::span<const Constant> constants,
                               const ModuleLimits& limits);

// The same with the values that `constants` has. Requires: made of `spirv`.
absl::Status CheckModuleLimits(std::span<const uint32_t> spirv,
                               const ModuleConstants& constants,
                               const ModuleLimits& limits);

}  // namespace kiln::shaders
