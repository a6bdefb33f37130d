// SPDX-License-Identifier: Apache-2.0
#pragma once

// What Kiln asks of a module beside that it is valid: the stage's entry point
// is there, and a constant_id means one constant, which drivers take for
// granted; and that it is fit to be validated at all. Internal to this folder;
// CompileStage (compiler.h) holds every module to it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "proto/program.h"

namespace kiln::shaders {

struct EntryPoint {
  uint32_t execution_model = 0;  // SPIR-V's number
  uint32_t function = 0;         // SPIR-V id
  std::string_view name;         // of any bytes
};

// In the order of the module. Lifetime: views `spirv`.
std::vector<EntryPoint> EntryPointsOf(std::span<const uint32_t> spirv);

// The execution model of a stage.
uint32_t ExecutionModelOf(Stage stage);

// A module may have any number of entry points; the stage uses one of them.
// Errors: InvalidArgument when none has that name, listing those there are, or
// when it is of another stage.
absl::Status CheckEntryPoint(std::span<const uint32_t> spirv, Stage stage,
                             std::string_view entry);

// Refuses inputs and outputs that no device has the locations for: the
// validator counts them one by one, which takes it all memory.
// Requires: nothing; of a damaged module, fewer are found.
// Errors: InvalidArgument naming the variable and the limit.
absl::Status CheckLocations(std::span<const uint32_t> spirv);

struct ConstantIdFault {
  uint32_t id = 0;
  std::string message;  // with the id
};

// Constants may share a constant_id when they are the same one: glslang makes
// several of one `local_size_x_id`. Requires: a validated module.
// Returns: the first id with two types, defaults or names.
std::optional<ConstantIdFault> FindConstantIdFault(
    std::span<const uint32_t> spirv);

}  // namespace kiln::shaders
