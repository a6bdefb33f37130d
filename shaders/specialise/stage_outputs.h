// SPDX-License-Identifier: Apache-2.0
#pragma once

// Specialises a vertex stage for the fragment stage behind it: without the
// outputs that it does not read, and without what computed them.
//
// An output goes if it is known by its locations alone and the fragment stage
// has no input with a component of any of them; a block goes only as a whole.
// Built-in outputs, blocks with one (gl_PerVertex), arrays of a length that a
// specialization constant decides and all outputs of a stage that transform
// feedback captures stay, and so does an output that the stage itself reads.
// With another stage in between nothing goes: it may pass on what it is given.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/constant.h"
#include "shaders/freeze.h"
#include "shaders/specialise/prepared_module.h"

namespace kiln::specialise {

// As Specialise(producer, constants, revalidation), without those outputs.
// `consumer` is the module of the stage that follows in the pipeline, which
// should be specialised: what it declares counts as read. Unless they are a
// vertex and a fragment stage, each the only one of its module, all outputs
// stay. Thread-safe.
// Errors: as Specialise; InvalidArgument when `consumer` is no SPIR-V.
absl::StatusOr<std::vector<uint32_t>> PruneStageOutputs(
    const PreparedModule& producer, std::span<const Constant> constants,
    std::span<const uint32_t> consumer,
    shaders::Revalidation revalidation =
        shaders::Revalidation::kWhereValuesMatter);

}  // namespace kiln::specialise
