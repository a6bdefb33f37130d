// SPDX-License-Identifier: Apache-2.0
#pragma once

// The SPIR-V that the driver is given for one key: modules that have the key's
// constants in them and no code that those turn off, or, where the program
// leaves that to the driver, its own modules (Program::specialization).

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/artifact.h"
#include "proto/constant.h"
#include "proto/digest.h"
#include "proto/program.h"
#include "proto/variant_key.h"
#include "shaders/freeze.h"
#include "shaders/pipeline/device.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::specialise {
class PreparedModule;
}  // namespace kiln::specialise

namespace kiln::daemon {

// One stage's SPIR-V and what the specialiser has read of it, once it has.
struct LoadedModule {
  StageModule id;
  std::vector<uint32_t> spirv;
  std::shared_ptr<const specialise::PreparedModule> prepared{};
};

// Thread-compatible. Lifetime: `code` points into `specialised`, or into the
// program's modules.
struct VariantCode {
  std::vector<LoadedModule> specialised;  // empty: the program's own modules
  std::vector<pipeline::StageCode> code;
  std::vector<StageModule> modules;

  bool is_specialised() const { return !specialised.empty(); }
};

// `modules`: in the order of the stages, each of which reads what the one
// before writes. Checks `constants`, the key's, against the modules and the
// device's limits, and makes the code of the variant. Reads a module the first
// time. Requires: the modules are valid with their defaults. Errors:
// InvalidArgument naming the constant, its value and the limit. Blocks:
// milliseconds.
absl::StatusOr<VariantCode> MakeVariantCode(
    const Program& program, std::span<LoadedModule> modules,
    std::span<const Constant> constants, const pipeline::DeviceLimits& limits,
    shaders::Revalidation revalidation);

// What a driver would make one and the same pipeline of: the code and the
// values that choose state. Of keys of one program.
Digest PipelineDigest(const VariantKey& key, const VariantCode& code);

}  // namespace kiln::daemon
