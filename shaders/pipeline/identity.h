// SPDX-License-Identifier: Apache-2.0
#pragma once

// Builds a TargetIdentity from an open device. Internal.
//
// Left out on purpose: deviceUUID and the LUID name one board in one machine,
// so two machines with the same GPU and driver would never share an artifact.

#include "proto/target.h"
#include "shaders/pipeline/device_handles.h"

namespace kiln::pipeline {

// What our VkApplicationInfo says; drivers keep profiles by these.
inline constexpr const char* kApplicationName = "kiln";
inline constexpr const char* kEngineName = "kiln";
inline constexpr uint32_t kApplicationVersion = 1;

TargetIdentity IdentityOf(const DeviceHandles& handles);

}  // namespace kiln::pipeline
